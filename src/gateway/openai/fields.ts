// What OpenAI's clients ask of POST /v1/audio/speech, in the members of our own body. `model` and `instructions` mean nothing
// here: every voice speaks by its own engine, as it does.
import { formatNames } from '../../audio/formats.ts';
import { Failure, type FieldViolation } from '../../errors.ts';
import { type Fields, sortFields } from '../http/known-fields.ts';
import { type AskedSpeech, parseEventFields } from '../speech/fields.ts';

export interface OpenAiRequest {
  asked: AskedSpeech;
  isEvents: boolean;
}

const known = ['model', 'input', 'voice', 'instructions', 'response_format', 'speed', 'stream_format'];
const streamFormats = ['audio', 'sse'];
const usualRateHz = 24_000;
/** Whatever language the voice itself speaks first: nobody tells here which the text is in. */
const ownLanguage = 'und';

export function parseOpenAiFields(given: Fields, isStrict: boolean): OpenAiRequest {
  const { fields, ignored, faults } = sortFields(given, known, isStrict);
  const { input, voice, response_format, speed, stream_format } = fields;
  const format = choose('response_format', response_format ?? 'mp3', formatNames, faults);
  const isEvents = choose('stream_format', stream_format ?? 'audio', streamFormats, faults) === 'sse';
  const speech = {
    voice_id: typeof voice === 'object' && voice !== null ? (voice as Fields).id : voice,
    text: input,
    output_format: format,
    sample_rate: usualRateHz,
    speaking_rate: speed,
    language_code: ownLanguage,
  };
  try {
    const asked = parseEventFields(speech, isStrict);
    if (faults.length > 0) throw new Failure('invalid_request', { details: [] });
    // It changes how others speak, so that it does not here is said.
    const unheard = fields.instructions === undefined ? [] : ['instructions'];
    return { asked: { ...asked, ignored: [...ignored, ...unheard] }, isEvents };
  } catch (error) {
    if (!(error instanceof Failure) || faults.length === 0) throw error;
    throw new Failure('invalid_request', { details: [...faults, ...(error.facts.details ?? [])] });
  }
}

function choose(field: string, value: unknown, allowed: readonly string[], faults: FieldViolation[]): string {
  if (typeof value === 'string' && allowed.includes(value)) return value;
  faults.push({ field, reason: 'enum', message: `must be one of ${allowed.join(', ')}` });
  return allowed[0]!;
}
