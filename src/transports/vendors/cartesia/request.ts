// Parses a Cartesia client's request into the start and the text of live speech. Unsupported members (model, volume)
// are ignored and reported, as Cartesia tolerates them. Values of supported members are never replaced.
//     {"context_id","model_id","transcript","continue","voice":{"mode":"id","id"},"flush","max_buffer_delay_ms",
//      "output_format":{"container","encoding","sample_rate"},"language","add_timestamps","generation_config":{"speed","emotion"}}
//     {"context_id","cancel":true}
import { audioFormats, type FormatName, mp3BitRates } from '../../../audio.ts';
import { type Fields, isObject, type UnknownField } from '../../../contract.ts';
import type { FieldViolation } from '../../../platform/errors.ts';
import { type SpeechRequest, speechFields } from '../../../speech.ts';
import { sortFields, unknownIn } from '../../http/request-fields.ts';
import { readStart } from '../speech-contexts.ts';

export interface Generation {
  start: SpeechRequest;
  transcript: string;
  /** Id of the context that an HTTP request names. The events of the request repeat the id. */
  contextId: string | undefined;
  ignored: readonly UnknownField[];
}

/** Formats by Cartesia's names for containers and encodings. */
const formats: Readonly<Record<string, Readonly<Record<string, FormatName>>>> = {
  raw: { pcm_s16le: 'pcm', pcm_f32le: 'f32le', pcm_mulaw: 'ulaw', pcm_alaw: 'alaw' },
  wav: { pcm_s16le: 'wav', pcm_f32le: 'wav_f32le', pcm_mulaw: 'wav_ulaw', pcm_alaw: 'wav_alaw' },
};
const mp3BitRateDefault = 128_000;
const mp3Formats = Object.fromEntries(mp3BitRates.map((kbps) => [kbps * 1000, `mp3_${kbps}` as const]));
const known =
  'transcript voice output_format language locale add_timestamps max_buffer_delay_ms speed generation_config'.split(
    ' ',
  );
/** Known members of nested objects, by the object's name. */
const knownWithin: Readonly<Record<string, readonly string[]>> = {
  voice: ['mode', 'id', '__experimental_controls'],
  output_format: ['container', 'encoding', 'sample_rate', 'bit_rate'],
  generation_config: ['speed', 'emotion'],
};
/** Names of speeds, which LiveKit's plugin sends in each of the members. */
const namedSpeeds: Readonly<Record<string, number>> = { slowest: 0.6, slow: 0.8, normal: 1, fast: 1.2, fastest: 1.4 };
/** A number in `voice.__experimental_controls.speed` is -1 for the slowest speed, and 1 for the fastest. */
const speedPerStep = 0.4;
const bufferMsDefault = 3000;
const bufferMsMax = 5000;

export function parseGeneration(given: Fields): Generation {
  const { fields, ignored } = sortFields(given, known);
  const { voice, language, locale, add_timestamps: timestamps } = fields;
  const transcript = fields.transcript ?? '';
  const contextId = (given.context_id ?? undefined) as string | undefined;
  const faults: FieldViolation[] = [];
  const check = (field: string, isValid: boolean, message: string) => {
    if (!isValid) faults.push({ field, reason: 'type', message });
  };
  check('transcript', typeof transcript === 'string', 'must be a string');
  check('context_id', typeof (contextId ?? '') === 'string', 'must be a string');
  check('add_timestamps', typeof (timestamps ?? false) === 'boolean', 'must be true or false');
  for (const name of ['output_format', 'generation_config'])
    check(name, isObject(fields[name] ?? {}), 'must be an object');
  const format = readOutputFormat(fields.output_format, faults);
  const start = {
    voice_id: isObject(voice) ? voice.id : voice,
    output_format: audioFormats[format].name,
    sample_rate: isObject(fields.output_format) ? fields.output_format.sample_rate : undefined,
    language_code: locale ?? language ?? speechFields.ownLanguage,
    speaking_rate: speedOf(fields, faults),
    instructions: instructionsOf(fields),
    timestamps: timestamps === true ? 'word' : undefined,
    buffer_ms: bufferMsOf(fields),
  };
  const parsed = readStart(start, faults);
  ignored.push(...ignoredWithin(fields));
  return { start: { ...parsed, format, markup: 'vendor' }, transcript: transcript as string, contextId, ignored };
}

const ignoredWithin = (fields: Fields): UnknownField[] =>
  Object.entries(knownWithin).flatMap(([name, members]) => {
    const value = fields[name];
    return isObject(value) ? unknownIn(value, members, `${name}.`) : [];
  });

function readOutputFormat(given: unknown, faults: FieldViolation[]): FormatName {
  const asked: Fields = isObject(given) ? given : {};
  const container = asked.container ?? 'raw';
  const take = (field: string, value: unknown, named: Readonly<Record<string, FormatName>>): FormatName => {
    // Other values are not converted to a string, because an object may have a toString of the caller.
    const name = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    if (Object.hasOwn(named, name)) return named[name]!;
    const allowed = Object.keys(named);
    faults.push({
      field: `output_format.${field}`,
      reason: 'enum',
      message: `must be one of ${allowed.join(', ')}`,
      allowed,
    });
    return 'pcm';
  };
  // MP3 is accepted with any encoding.
  if (container === 'mp3') return take('bit_rate', asked.bit_rate ?? mp3BitRateDefault, mp3Formats);
  const encodings = take('container', container, { raw: 'pcm', wav: 'wav', mp3: 'mp3' });
  return take('encoding', asked.encoding ?? 'pcm_s16le', formats[encodings === 'wav' ? 'wav' : 'raw']!);
}

/** Returns the speed. `generation_config.speed` takes precedence; the other members are its older names. */
function speedOf({ generation_config: config, speed, voice }: Fields, faults: FieldViolation[]): unknown {
  const controls = isObject(voice) && isObject(voice.__experimental_controls) ? voice.__experimental_controls : {};
  const exact = isObject(config) ? config.speed : undefined;
  if (exact != null) return readSpeed(exact, 'generation_config.speed', faults);
  if (speed != null) return readSpeed(speed, 'speed', faults);
  if (controls.speed == null) return undefined;
  if (typeof controls.speed === 'number') return 1 + speedPerStep * Math.min(Math.max(-1, controls.speed), 1);
  return readSpeed(controls.speed, 'voice.__experimental_controls.speed', faults);
}

/**
 * Converts an emotion to a sentence, because Cartesia's clients send a name, such as "excited", and engines accept a
 * sentence.
 */
function instructionsOf({ generation_config: config }: Fields): unknown {
  const emotion = isObject(config) ? config.emotion : undefined;
  return typeof emotion === 'string' && emotion !== '' ? `Speak with this emotion: ${emotion}.` : emotion;
}

function readSpeed(given: unknown, field: string, faults: FieldViolation[]): number | undefined {
  if (typeof given === 'string' && Object.hasOwn(namedSpeeds, given)) return namedSpeeds[given];
  // The range is checked here, because three members can set the speed.
  const { min, max } = speechFields.speakingRates;
  if (typeof given === 'number' && given >= min && given <= max) return given;
  const names = Object.keys(namedSpeeds).join(', ');
  if (typeof given === 'number') faults.push({ field, reason: 'range', message: `must be ${min} to ${max}` });
  else faults.push({ field, reason: 'type', message: `must be a number, or one of ${names}` });
  return undefined;
}

function bufferMsOf({ max_buffer_delay_ms: given }: Fields): unknown {
  if (typeof given !== 'number') return given ?? bufferMsDefault;
  return Math.min(Math.max(0, Math.round(given)), bufferMsMax);
}
