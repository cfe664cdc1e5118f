// How speech is requested and described over HTTP. A request is a JSON body or a query; its member `method` names the
// RPC whose message the body is. The headers of the reply describe the audio.
import { create, type DescMessage } from '@bufbuild/protobuf';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { StreamSpeechRequestSchema, SynthesizeSpeechRequestSchema } from '../../../../gen/sonant/v1/speech_pb.ts';
import { type LiveEvent, roundSeconds } from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import type { Clip } from '../../../clips.ts';
import { type Fields, Reading, readQuery, toViolation } from '../../../contract.ts';
import { type FieldViolation, invalidField } from '../../../platform/errors.ts';
import { type CaptionKind, readRequest, type SpeechEvent, type SpeechRequest, toRequest } from '../../../speech.ts';
import { headerText, manifestLink } from '../../net/headers.ts';
import type { ReplyHeaderName } from '../documented-headers.ts';
import { idempotencyKeyCharsMax } from '../http-limits.ts';
import { noteIgnored } from '../request-fields.ts';

interface BodyRules {
  methods: readonly string[];
  /** Fields that only requests of the other method have. */
  others: readonly string[];
  /** Whether unknown members are rejected. */
  isStrict: boolean;
  without?: readonly string[];
}

const methods = ['rest', 'streaming'];

/** The request, and the unknown members of its body. */
export type ReadSpeech = ReturnType<typeof readRequest>;

/** Reads the body of POST /api/audio/speech, or of the path for audio only. Word times are sent only in events. */
export function readSpeechBody(
  given: Fields,
  { isStrict, isEvents, isAudio = false }: { isStrict: boolean; isEvents: boolean; isAudio?: boolean },
): ReadSpeech {
  const isStream = given.method === 'streaming';
  const desc = isStream ? StreamSpeechRequestSchema : SynthesizeSpeechRequestSchema;
  const others = isStream ? ['text', 'captions'] : ['text_chunks'];
  const without = [...(isEvents ? [] : ['timestamps']), ...(isAudio ? ['return_format'] : [])];
  const read = readBody(desc, given, { methods, others, isStrict, without });
  return isAudio ? { ...read, request: { ...read.request, returnFormat: 'buffer' } } : read;
}

export const readEventBody = (given: Fields, isStrict: boolean) =>
  readBody(StreamSpeechRequestSchema, given, { methods: ['streaming'], others: ['captions'], isStrict });

function readBody(desc: DescMessage, given: Fields, { methods, others, ...rules }: BodyRules) {
  const violations = methodFaults(given.method ?? undefined, methods);
  const conflicts = others.filter((name) => isGiven(given[name]));
  const read = readRequest(desc, given, { ...rules, violations, conflicts, also: ['method', ...others] });
  noteIgnored(given, read.ignored);
  return read;
}

export function readEventQuery(request: FastifyRequest, isStrict: boolean): SpeechRequest {
  const query = request.query as Fields;
  const reading = new Reading(isStrict);
  const { violations } = reading;
  violations.add(methodFaults(query.method || undefined, ['streaming']));
  if (isStrict) violations.add((request.ignoredQuery ?? []).map(toViolation));
  const message = create(StreamSpeechRequestSchema);
  readQuery(message, StreamSpeechRequestSchema, query, reading);
  return toRequest(StreamSpeechRequestSchema, message, { violations });
}

function methodFaults(method: unknown, allowed: readonly string[]): FieldViolation[] {
  if (method === undefined || allowed.includes(method as string)) return [];
  return [{ field: 'method', reason: 'enum', message: `must be ${allowed.join(' or ')}`, allowed }];
}

/** An empty value counts as absent. */
const isGiven = (value: unknown): boolean => (value ?? '') !== '' && !(Array.isArray(value) && value.length === 0);

export type SpeechHeaders = Partial<Record<ReplyHeaderName, string>>;

/** Headers for audio in the body. */
export function soundHeaders(
  { audioId, voice, format, chars, sampleRateHz }: SpeechEvent<'info'> | Clip,
  method: 'rest' | 'streaming',
): SpeechHeaders & Record<'content-type', string> {
  const { name, contentType, extension } = audioFormats[format];
  return {
    'content-type': contentType,
    'Content-Disposition': `attachment; filename=${audioId}.${extension}`,
    ...voiceHeaders(voice.name),
    'X-Method': method,
    'X-Chars': String(chars),
    'X-Format': name,
    'X-Sample-Rate': String(sampleRateHz),
    'X-Voice-Id': headerText(voice.voiceId),
  };
}

/** Headers for any audio, with its duration if it is known. */
export const resultHeaders = (result: SpeechEvent<'info'> | Clip): SpeechHeaders => ({
  'X-Audio-Id': result.audioId,
  'X-Cache': 'cached' in result && result.cached ? 'HIT' : 'MISS',
  ...(result.warnings.length > 0 && { 'X-Warnings': result.warnings.join(', ') }),
  ...(result.manifestUrl && { Link: manifestLink(result.manifestUrl) }),
  ...('seconds' in result && {
    'X-Chars-Charged': String(result.charsCharged),
    'X-Audio-Duration': String(roundSeconds(result.seconds)),
    'X-Speech-Check': result.speechCheck,
  }),
});

/** Passes on the events. The warnings from the first turn become a reply header, which is sent with the first audio. */
export async function* withWarnings(reply: FastifyReply, events: AsyncIterable<LiveEvent>): AsyncGenerator<LiveEvent> {
  for await (const event of events) {
    const warnings = event.type === 'info' && !reply.sent ? event.warnings : [];
    if (warnings.length > 0) reply.header('X-Warnings', warnings.join(', '));
    yield event;
  }
}

export const linkHeaders = ({ audioUrl, expiresAt }: SpeechEvent<'info'>): SpeechHeaders =>
  audioUrl && expiresAt ? { 'X-Audio-Url': audioUrl, 'X-Audio-Expires': expiresAt.toISOString() } : {};

const captionHeaderNames: Readonly<Record<CaptionKind, ReplyHeaderName>> = {
  srt: 'X-Captions-Srt',
  vtt: 'X-Captions-Vtt',
};

export const captionHeaders = ({ captionUrls }: Clip): SpeechHeaders =>
  Object.fromEntries(Object.entries(captionUrls).map(([kind, url]) => [captionHeaderNames[kind as CaptionKind], url]));

/**
 * Headers with the name of the voice. If it is not printable ASCII, it is percent-encoded UTF-8, which a second header
 * states.
 */
function voiceHeaders(name: string): SpeechHeaders {
  const text = headerText(name);
  return text === name ? { 'X-Voice': name } : { 'X-Voice': text, 'X-Voice-Encoding': 'percent' };
}

/** Returns the Idempotency-Key of the request, if any. Throws a Failure if the key is malformed. */
export function parseIdempotencyKey(given: string | string[] | undefined): string | undefined {
  if (given === undefined) return undefined;
  const key = String(given);
  if (/^[ -~]+$/.test(key) && key.length <= idempotencyKeyCharsMax) return key;
  const message = `must be 1 to ${idempotencyKeyCharsMax} printable ASCII characters`;
  throw invalidField('Idempotency-Key', 'format', message);
}
