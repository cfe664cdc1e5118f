// Parses the body of POST /v1/audio/speech into a request for speech. `model` and `instructions` are ignored: each voice
// has its own engine.
import { formatNames } from '../../audio/formats.ts';
import type { FieldViolation } from '../../errors.ts';
import { type Fields, isObject, sortFields } from '../../http/known-fields.ts';
import type { ParsedSpeech } from '../../http/speech/fields.ts';
import { speechFieldRows } from '../../speech/fields.ts';
import { parseSpeechRequest } from '../../speech/request.ts';

export interface ParsedOpenAi extends ParsedSpeech {
  /** As it was sent; undefined for none. */
  voice: string | undefined;
  isEvents: boolean;
}

const ours = speechFieldRows.flatMap(({ json, names }) => (names?.openai ? [{ json, name: names.openai }] : []));
const known = ['model', 'instructions', 'stream_format', ...new Set(ours.map(({ name }) => name))];
const streamFormats = ['audio', 'sse'];
const sampleRateHz = 24_000;
/** BCP-47 for an unknown language: the native language of the voice is used. */
const ownLanguage = 'und';
/** In place of a voice that is not named, which is found when the caller is known. */
const unnamed = 'default';

export function parseOpenAiFields(body: Fields, isStrict: boolean): ParsedOpenAi {
  const { fields, ignored, faults: violations } = sortFields(body, known, isStrict);
  const { voice, input, response_format, stream_format } = fields;
  const format = oneOf('response_format', response_format ?? 'mp3', formatNames, violations);
  const isEvents = oneOf('stream_format', stream_format ?? 'audio', streamFormats, violations) === 'sse';
  const named = isObject(voice) ? voice.id : voice;
  const isUnnamed = !isStrict && (named === undefined || named === null || named === '');
  const speech = {
    ...Object.fromEntries(ours.map(({ json, name }) => [json, fields[name]])),
    voice_id: isUnnamed ? unnamed : named,
    text: input,
    text_chunks: undefined,
    output_format: format,
    sample_rate: sampleRateHz,
    language_code: ownLanguage,
    method: 'streaming',
  };
  // OpenAI's clients read the first violation.
  const request = parseSpeechRequest(speech, { allowsSingleText: true, violationsBefore: violations });
  // Known, but ignored; the reply reports that.
  const unsupported = fields.instructions == null ? [] : [{ name: 'instructions', meant: undefined }];
  const given = isUnnamed ? undefined : request.voiceId;
  return { request, voice: given, ignored: [...ignored, ...unsupported], isEvents };
}

function oneOf(field: string, value: unknown, allowed: readonly string[], violations: FieldViolation[]): string {
  if (typeof value === 'string' && allowed.includes(value)) return value;
  violations.push({ field, reason: 'enum', message: `must be one of ${allowed.join(', ')}`, allowed });
  return allowed[0]!;
}
