// Parses an ElevenLabs client's request into the start of live speech. Voice and format are in the URL. The speed is in
// the body or in the first message of a context. Unsupported fields (model, other voice settings) are ignored, as
// ElevenLabs tolerates them.
//     {voice_id}?output_format=pcm_24000&language_code=en&auto_mode=true&inactivity_timeout=180&sync_alignment=true
//     {"text","voice_settings":{"speed"},"seed"}
import { audioFormats, type FormatName, mp3BitRates } from '../../../audio.ts';
import { type Fields, isObject, type UnknownField } from '../../../contract.ts';
import type { FieldViolation } from '../../../platform/errors.ts';
import { liveSampleRatesHz, ownLanguage, type SpeechRequest } from '../../../speech.ts';
import { contextIdleMsDefault, contextIdleMsMax } from '../../http/http-limits.ts';
import { sortFields } from '../../http/ignored-fields.ts';
import { readStart } from '../speech-contexts.ts';

interface Generation {
  start: SpeechRequest;
  text: string;
  /** The ignored members. */
  ignored: readonly UnknownField[];
}

/** Settings shared by all contexts of a connection. */
export type SocketSettings = ReturnType<typeof parseSocketSettings>;

const formatDefault = 'mp3_44100_128';
const bufferMs = 1000;
/** Parameters in which a client may send its key or a token. */
const keyNames = ['xi-api-key', 'api_key', 'xi_api_key', 'single_use_token'];
const queryNames = ['output_format', 'language_code', 'auto_mode', 'inactivity_timeout', 'sync_alignment', 'seed'];
const bodyNames = ['text', 'language_code', 'voice_settings', 'output_format', 'seed'];
const settingNames = ['speed'];

/** Parses the body of an HTTP request together with its query. */
export function parseGeneration(voiceId: string, query: Fields, body: Fields): Generation {
  const asked = sortFields(query, [...queryNames, ...keyNames], false);
  const given = sortFields(body, [...bodyNames, ...keyNames], false);
  const { text, voice_settings: settings } = given.fields;
  const faults = textFaults(text);
  const start = toStart(voiceId, { ...given.fields, ...asked.fields }, settings, faults);
  return { start, text: String(text), ignored: [...asked.ignored, ...given.ignored, ...ignoredSettings(settings)] };
}

/** Parses the query of a WebSocket. */
export function parseSocketSettings(voiceId: string, query: Fields) {
  const { fields, ignored } = sortFields(query, [...queryNames, ...keyNames], false);
  const { auto_mode: auto, sync_alignment: sync, inactivity_timeout: timeout } = fields;
  return {
    /** The start of a context with these voice settings. */
    startWith: (settings: unknown): SpeechRequest => toStart(voiceId, fields, settings, []),
    /** Whether each text is a complete phrase. If such a text ends a sentence, that sentence is spoken at once. */
    isAuto: isTrue(auto),
    /** Whether character times count from the start of the context, instead of from the end of the previous message. */
    isAbsolute: isTrue(sync),
    contextIdleMs: Number(timeout) > 0 ? Math.min(Number(timeout) * 1000, contextIdleMsMax) : contextIdleMsDefault,
    ignored,
  };
}

const isTrue = (value: unknown) => String(value).toLowerCase() === 'true';

function toStart(
  voiceId: string,
  { output_format: output, language_code: language, seed }: Fields,
  settings: unknown,
  faults: FieldViolation[],
): SpeechRequest {
  const { format, sample_rate } = readOutputFormat(output ?? formatDefault, faults);
  const start = {
    voice_id: voiceId,
    output_format: format && audioFormats[format].name,
    sample_rate,
    language_code: language ?? ownLanguage,
    speaking_rate: isObject(settings) ? (settings.speed ?? undefined) : undefined,
    // In a query, the seed is a string.
    seed: typeof seed === 'string' && /^\d+$/.test(seed) ? Number(seed) : seed,
    timestamps: 'word',
    buffer_ms: bufferMs,
  };
  const parsed = readStart(start, faults);
  return { ...parsed, format: format ?? parsed.format, markup: 'vendor' };
}

/** Parses a format such as mp3_44100_128: encoding, sample rate, and bit rate, which Sonant chooses for Opus. */
function readOutputFormat(given: unknown, faults: FieldViolation[]): { format?: FormatName; sample_rate?: number } {
  const [, encoding, rate, bits = '128'] =
    /^(pcm|mp3|wav|opus|ulaw|alaw)_(\d+)(?:_(\d+))?$/.exec(typeof given === 'string' ? given : '') ?? [];
  const sample_rate = Number(rate);
  const format = encoding === 'mp3' ? `mp3_${bits}` : encoding;
  if (format !== undefined && isFormat(format) && liveSampleRatesHz.includes(sample_rate))
    return { format, sample_rate };
  const message = `must be pcm, mp3, wav, opus, ulaw or alaw at ${liveSampleRatesHz.join(', ')} Hz, such as mp3_44100_128; mp3 has ${mp3BitRates.join(', ')} kbit/s`;
  faults.push({ field: 'output_format', reason: 'enum', message });
  return {};
}

const isFormat = (name: string): name is FormatName => Object.hasOwn(audioFormats, name);

function textFaults(text: unknown): FieldViolation[] {
  if (typeof text !== 'string') return [{ field: 'text', reason: 'type', message: 'must be a string' }];
  if (text.trim() !== '') return [];
  return [{ field: 'text', reason: 'blank', message: 'must contain more than white space' }];
}

function ignoredSettings(settings: unknown): readonly UnknownField[] {
  if (isObject(settings)) return sortFields(settings, settingNames, false, 'voice_settings.').ignored;
  return (settings ?? undefined) === undefined ? [] : [{ name: 'voice_settings', meant: undefined }];
}
