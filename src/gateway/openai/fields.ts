// Parses the body of POST /v1/audio/speech into a request for speech. `model` and `instructions` are ignored: each voice
// has its own engine.
import { formatNames } from '../../audio/formats.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { speechFieldRows } from '../../speech/fields.ts';
import { parseSpeechRequest, type SpeechRequest } from '../../speech/request.ts';
import { type Fields, sortFields } from '../http/known-fields.ts';
import type { ParsedSpeech } from '../speech/fields.ts';

export interface ParsedOpenAi extends ParsedSpeech {
  isEvents: boolean;
}

const ours = speechFieldRows.flatMap(({ json, names }) => (names?.openai ? [{ json, name: names.openai }] : []));
const known = ['model', 'instructions', 'stream_format', ...new Set(ours.map(({ name }) => name))];
const streamFormats = ['audio', 'sse'];
const sampleRateHz = 24_000;
/** BCP-47 for an unknown language: the native language of the voice is used. */
const ownLanguage = 'und';

export function parseOpenAiFields(given: Fields, isStrict: boolean): ParsedOpenAi {
  const { fields, ignored, faults: violations } = sortFields(given, known, isStrict);
  const { voice, input, response_format, stream_format } = fields;
  const format = oneOf('response_format', response_format ?? 'mp3', formatNames, violations);
  const isEvents = oneOf('stream_format', stream_format ?? 'audio', streamFormats, violations) === 'sse';
  const speech = {
    ...Object.fromEntries(ours.map(({ json, name }) => [json, fields[name]])),
    voice_id: typeof voice === 'object' && voice !== null ? (voice as Fields).id : voice,
    text: input,
    text_chunks: undefined,
    output_format: format,
    sample_rate: sampleRateHz,
    language_code: ownLanguage,
    method: 'streaming',
  };
  const request = parseAfter(violations, speech);
  // Known, but ignored; the reply reports that.
  const unsupported = fields.instructions === undefined ? [] : ['instructions'];
  return { request, ignored: [...ignored, ...unsupported], isEvents };
}

/** OpenAI's clients read the first violation: those found before come first. */
function parseAfter(violations: readonly FieldViolation[], speech: Fields): SpeechRequest {
  try {
    const request = parseSpeechRequest(speech, { allowsSingleText: true });
    if (violations.length > 0) throw new Failure('invalid_request', { details: [] });
    return request;
  } catch (error) {
    if (!(error instanceof Failure) || violations.length === 0) throw error;
    throw new Failure('invalid_request', { details: [...violations, ...(error.facts.details ?? [])] });
  }
}

function oneOf(field: string, value: unknown, allowed: readonly string[], violations: FieldViolation[]): string {
  if (typeof value === 'string' && allowed.includes(value)) return value;
  violations.push({ field, reason: 'enum', message: `must be one of ${allowed.join(', ')}` });
  return allowed[0]!;
}
