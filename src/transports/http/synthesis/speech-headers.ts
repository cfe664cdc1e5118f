// The reply headers that describe speech.
import type { FastifyReply } from 'fastify';
import { type LiveEvent, roundSeconds } from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import type { Clip } from '../../../clips.ts';
import type { CaptionKind, SpeechInfo } from '../../../speech.ts';
import { headerText, manifestLink } from '../../net/headers.ts';
import type { ReplyHeaderName } from '../documented-headers.ts';

export type SpeechHeaders = Partial<Record<ReplyHeaderName, string>>;

/** Headers for audio in the body. */
export function soundHeaders(
  { audioId, voice, format, chars, sampleRateHz }: SpeechInfo | Clip,
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
export const resultHeaders = (result: SpeechInfo | Clip): SpeechHeaders => ({
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

type WholeHeaders = SpeechHeaders & Readonly<Record<'content-type' | 'content-length', string>>;

/** Headers for complete audio in the body. */
export const wholeHeaders = (facts: Clip): WholeHeaders => ({
  ...soundHeaders(facts, 'rest'),
  ...resultHeaders(facts),
  'content-length': String(facts.byteCount),
});

export const linkHeaders = ({ audioUrl, expiresAt }: SpeechInfo): SpeechHeaders =>
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
