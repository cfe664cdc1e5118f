// What OpenAI's clients ask of POST /v1/audio/speech, in the members of our own body. `model` and `instructions` mean nothing
// here: every voice speaks by its own engine, as it does.
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
/** BCP-47 for a language that is not given: the voice's own is spoken. */
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
  // OpenAI's voices heed instructions; ours do not, and the reply says so.
  const unheeded = fields.instructions === undefined ? [] : ['instructions'];
  return { request, ignored: [...ignored, ...unheeded], isEvents };
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
