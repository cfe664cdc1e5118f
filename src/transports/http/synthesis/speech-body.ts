// Reads requests for speech from a JSON body or a query. The member `method` names the RPC whose message the body is.
import { create, type DescMessage } from '@bufbuild/protobuf';
import type { FastifyRequest } from 'fastify';
import { StreamSpeechRequestSchema, SynthesizeSpeechRequestSchema } from '../../../../gen/sonant/v1/speech_pb.ts';
import { type Fields, newReading, readQuery, toViolation } from '../../../contract.ts';
import type { FieldViolation } from '../../../platform/errors.ts';
import { type ReadRequest, readRequest, type SpeechRequest, toRequest } from '../../../speech.ts';
import { noteIgnored } from '../ignored-fields.ts';

interface BodyRules {
  methods: readonly string[];
  /** Fields that only requests of the other method have. */
  others: readonly string[];
  /** Whether unknown members are rejected. */
  isStrict: boolean;
  without?: readonly string[];
}

const methods = ['rest', 'streaming'];

/** Reads the body of POST /api/audio/speech, or of the path for audio only. Word times are sent only in events. */
export function readSpeechBody(
  given: Fields,
  { isStrict, isEvents, isAudio = false }: { isStrict: boolean; isEvents: boolean; isAudio?: boolean },
): ReadRequest {
  const isStream = given.method === 'streaming';
  const desc = isStream ? StreamSpeechRequestSchema : SynthesizeSpeechRequestSchema;
  const others = isStream ? ['text', 'captions'] : ['text_chunks'];
  const without = [...(isEvents ? [] : ['timestamps']), ...(isAudio ? ['return_format'] : [])];
  const read = readBody(desc, given, { methods, others, isStrict, without });
  return isAudio ? { ...read, request: { ...read.request, returnFormat: 'buffer' } } : read;
}

export const readEventBody = (given: Fields, isStrict: boolean): ReadRequest =>
  readBody(StreamSpeechRequestSchema, given, { methods: ['streaming'], others: ['captions'], isStrict });

function readBody(desc: DescMessage, given: Fields, { methods, others, ...rules }: BodyRules): ReadRequest {
  const violations = methodFaults(given.method ?? undefined, methods);
  const conflicts = others.filter((name) => isGiven(given[name]));
  const read = readRequest(desc, given, { ...rules, violations, conflicts, also: ['method', ...others] });
  noteIgnored(given, read.ignored);
  return read;
}

export function readEventQuery(request: FastifyRequest, isStrict: boolean): SpeechRequest {
  const query = request.query as Fields;
  const reading = newReading(isStrict);
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
