// Parses a Cartesia client's request into the start and the text of live speech. Unsupported members (model, volume)
// are ignored and reported, as Cartesia tolerates them. Values of supported members are never replaced.
//     {"context_id","model_id","transcript","continue","voice":{"mode":"id","id"},"flush","max_buffer_delay_ms",
//      "output_format":{"container","encoding","sample_rate"},"language","add_timestamps","generation_config":{"speed","emotion"}}
//     {"context_id","cancel":true}
import type { FormatName } from '../../audio/formats.ts';
import { type Fields, isObject, type UnknownField } from '../../contract/unknown-fields.ts';
import type { FieldViolation } from '../../errors.ts';
import { sortFields } from '../../http/ignored-fields.ts';
import { parseStartOf } from '../../http/live-start.ts';
import { ownLanguage } from '../../speech/fields.ts';
import type { LiveStart } from '../../speech/live-request.ts';

type Encoding = 'pcm_s16le' | 'pcm_f32le' | 'pcm_mulaw' | 'pcm_alaw';

export interface Generation {
  start: LiveStart;
  /** Encoding of raw audio; undefined for audio in a container. */
  encoding: Encoding | undefined;
  transcript: string;
  /** Id of the context that an HTTP request names. The events of the request repeat the id. */
  contextId: string | undefined;
  /** The ignored members. */
  ignored: readonly UnknownField[];
}

const rawFormats: Readonly<Record<Encoding, FormatName>> = {
  pcm_s16le: 'pcm',
  pcm_f32le: 'pcm',
  pcm_mulaw: 'ulaw',
  pcm_alaw: 'alaw',
};
const known =
  'transcript voice output_format language locale add_timestamps max_buffer_delay_ms speed generation_config'.split(
    ' ',
  );
/** Known members of nested objects, by the object's name. */
const knownWithin: Readonly<Record<string, readonly string[]>> = {
  voice: ['mode', 'id', '__experimental_controls'],
  output_format: ['container', 'encoding', 'sample_rate'],
  generation_config: ['speed', 'emotion'],
};
const namedSpeeds: Readonly<Record<string, number>> = { slow: 0.8, normal: 1, fast: 1.2 };
/** Names for `voice.__experimental_controls.speed`: -1 is the slowest, 1 the fastest. */
const namedSteps: Readonly<Record<string, number>> = { slowest: -1, slow: -0.5, normal: 0, fast: 0.5, fastest: 1 };
const speedPerStep = 0.4;
const bufferMsDefault = 3000;
const bufferMsMax = 5000;

/** Cartesia's names for the fields. */
const theirs: Readonly<Record<string, string>> = {
  voice_id: 'voice.id',
  output_format: 'output_format.encoding',
  sample_rate: 'output_format.sample_rate',
  language_code: 'language',
  speaking_rate: 'generation_config.speed',
  instructions: 'generation_config.emotion',
  buffer_ms: 'max_buffer_delay_ms',
};

export function parseGeneration(given: Fields): Generation {
  const { fields, ignored } = sortFields(given, known, false);
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
  const { format, encoding, sampleRate } = readOutputFormat(fields.output_format, faults);
  const start = {
    voice_id: isObject(voice) ? voice.id : voice,
    output_format: format,
    sample_rate: sampleRate,
    language_code: locale ?? language ?? ownLanguage,
    speaking_rate: speedOf(fields, faults),
    instructions: instructionsOf(fields),
    timestamps: timestamps === true ? 'word' : undefined,
    buffer_ms: bufferMsOf(fields),
  };
  const parsed = parseStartOf(start, theirs, faults);
  ignored.push(...ignoredWithin(fields));
  return { start: parsed, encoding, transcript: transcript as string, contextId, ignored };
}

const ignoredWithin = (fields: Fields): UnknownField[] =>
  Object.entries(knownWithin).flatMap(([name, members]) => {
    const value = fields[name];
    return isObject(value) ? sortFields(value, members, false, `${name}.`).ignored : [];
  });

function readOutputFormat(given: unknown, faults: FieldViolation[]) {
  const asked: Fields = isObject(given) ? given : {};
  const { sample_rate: sampleRate } = asked;
  const container = asked.container ?? 'raw';
  const encoding = asked.encoding ?? 'pcm_s16le';
  const refuse = (field: string, allowed: readonly string[]) => {
    const message = `must be ${allowed.length > 1 ? 'one of ' : ''}${allowed.join(', ')}`;
    faults.push({ field: `output_format.${field}`, reason: 'enum', message });
    return { format: 'pcm', encoding: undefined, sampleRate };
  };
  // MP3 is accepted with any encoding.
  if (container === 'mp3') return { format: 'mp3', encoding: undefined, sampleRate };
  if (container === 'wav') {
    if (encoding !== 'pcm_s16le') return refuse('encoding', ['pcm_s16le in wav']);
    return { format: 'wav', encoding: undefined, sampleRate };
  }
  if (container !== 'raw') return refuse('container', ['raw', 'wav', 'mp3']);
  if (typeof encoding !== 'string' || !Object.hasOwn(rawFormats, encoding))
    return refuse('encoding', Object.keys(rawFormats));
  return { format: rawFormats[encoding as Encoding], encoding: encoding as Encoding, sampleRate };
}

/** Returns the speed. `generation_config.speed` takes precedence; the other members are its older names. */
function speedOf({ generation_config: config, speed, voice }: Fields, faults: FieldViolation[]): unknown {
  const controls = isObject(voice) && isObject(voice.__experimental_controls) ? voice.__experimental_controls : {};
  const exact = isObject(config) ? config.speed : undefined;
  if (exact != null) return numberOf(exact, {}, 'generation_config.speed', faults);
  if (speed != null) return numberOf(speed, namedSpeeds, 'speed', faults);
  if (controls.speed == null) return undefined;
  const step = numberOf(controls.speed, namedSteps, 'voice.__experimental_controls.speed', faults);
  return step === undefined ? undefined : 1 + speedPerStep * Math.min(Math.max(-1, step), 1);
}

/**
 * Converts an emotion to a sentence, because Cartesia's clients send a name, such as "excited", and engines accept a
 * sentence.
 */
function instructionsOf({ generation_config: config }: Fields): unknown {
  const emotion = isObject(config) ? config.emotion : undefined;
  return typeof emotion === 'string' && emotion !== '' ? `Speak with this emotion: ${emotion}.` : emotion;
}

function numberOf(
  given: unknown,
  named: Readonly<Record<string, number>>,
  field: string,
  faults: FieldViolation[],
): number | undefined {
  if (typeof given === 'number') return given;
  if (typeof given === 'string' && Object.hasOwn(named, given)) return named[given];
  const names = Object.keys(named);
  const orNamed = names.length > 0 ? `, or one of ${names.join(', ')}` : '';
  faults.push({ field, reason: 'type', message: `must be a number${orNamed}` });
  return undefined;
}

function bufferMsOf({ max_buffer_delay_ms: given }: Fields): unknown {
  if (typeof given !== 'number') return given ?? bufferMsDefault;
  return Math.min(Math.max(0, Math.round(given)), bufferMsMax);
}
