// What a client of Cartesia asks for, as the start of live speech and its text:
//     {"context_id","model_id","transcript","continue","voice":{"mode":"id","id"},"flush","max_buffer_delay_ms",
//      "output_format":{"container","encoding","sample_rate"},"language","add_timestamps","generation_config":{"speed"}}
//     {"context_id","cancel":true}
// What has no meaning here (a model, an emotion, a volume) is ignored, as Cartesia tolerates it.
import type { FormatName } from '../../audio/formats.ts';
import type { FieldViolation } from '../../errors.ts';
import type { LiveStart } from '../../speech/live-request.ts';
import { type Fields, isObject, sortFields, type UnknownField } from '../http/known-fields.ts';
import { ownLanguage, parseStartOf } from '../http/live-start.ts';

export type Encoding = 'pcm_s16le' | 'pcm_f32le' | 'pcm_mulaw' | 'pcm_alaw';

export interface Generation {
  start: LiveStart;
  /** Of raw audio; undefined in a container. */
  encoding: Encoding | undefined;
  transcript: string;
  /** The names of members that were ignored. */
  ignored: readonly UnknownField[];
}

const rawFormats: Readonly<Record<Encoding, FormatName>> = {
  pcm_s16le: 'pcm',
  pcm_f32le: 'pcm',
  pcm_mulaw: 'ulaw',
  pcm_alaw: 'alaw',
};
const known = (
  'transcript voice output_format language locale add_timestamps max_buffer_delay_ms speed generation_config ' +
  'context_id continue flush cancel model_id'
).split(' ');
const namedSpeeds: Readonly<Record<string, number>> = { slow: 0.8, normal: 1, fast: 1.2 };
const bufferMsDefault = 3000;
const bufferMsMax = 5000;

/** The names of fields at Cartesia. */
const theirs: Readonly<Record<string, string>> = {
  voice_id: 'voice.id',
  output_format: 'output_format.encoding',
  sample_rate: 'output_format.sample_rate',
  language_code: 'language',
  speaking_rate: 'generation_config.speed',
  buffer_ms: 'max_buffer_delay_ms',
};

export function parseGeneration(given: Fields): Generation {
  const { fields, ignored } = sortFields(given, known, false);
  const { voice, language, locale, add_timestamps: timestamps, transcript = '' } = fields;
  const faults: FieldViolation[] = [];
  if (typeof transcript !== 'string') faults.push({ field: 'transcript', reason: 'type', message: 'must be a string' });
  const { format, encoding, sampleRate } = readOutputFormat(fields.output_format, faults);
  const start = {
    voice_id: isObject(voice) ? voice.id : voice,
    output_format: format,
    sample_rate: sampleRate,
    language_code: locale ?? language ?? ownLanguage,
    speaking_rate: speedOf(fields),
    timestamps: timestamps === true ? 'word' : undefined,
    buffer_ms: bufferMsOf(fields),
  };
  return { start: parseStartOf(start, theirs, faults), encoding, transcript: String(transcript), ignored };
}

function readOutputFormat(given: unknown, faults: FieldViolation[]) {
  const { container = 'raw', encoding = 'pcm_s16le', sample_rate: sampleRate } = isObject(given) ? given : {};
  if (container === 'mp3') return { format: 'mp3', encoding: undefined, sampleRate };
  if (container === 'wav') return { format: 'wav', encoding: undefined, sampleRate };
  const allowed = Object.keys(rawFormats).join(', ');
  if (container !== 'raw')
    faults.push({ field: 'output_format.container', reason: 'enum', message: 'must be one of raw, wav, mp3' });
  else if (!Object.hasOwn(rawFormats, String(encoding)))
    faults.push({ field: 'output_format.encoding', reason: 'enum', message: `must be one of ${allowed}` });
  const known = Object.hasOwn(rawFormats, String(encoding)) ? (encoding as Encoding) : 'pcm_s16le';
  return { format: rawFormats[known], encoding: known, sampleRate };
}

function speedOf({ generation_config: config, speed, voice }: Fields): unknown {
  const controls = isObject(voice) && isObject(voice.__experimental_controls) ? voice.__experimental_controls : {};
  const given = (isObject(config) ? config.speed : undefined) ?? speed ?? controls.speed ?? undefined;
  return typeof given === 'string' ? (namedSpeeds[given] ?? 1) : given;
}

function bufferMsOf({ max_buffer_delay_ms: given }: Fields): unknown {
  if (typeof given !== 'number') return given ?? bufferMsDefault;
  return Math.min(Math.max(0, Math.round(given)), bufferMsMax);
}
