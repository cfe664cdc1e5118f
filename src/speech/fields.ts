// Defines the fields of a speech request. Each row has the field's names, parser and command-line flag, and states
// whether the field changes the audio. Type, range, values, default and description come from the protos. Parsers,
// OpenAPI, command-line flags, error messages and the cache key use the rows. A field without a row is a type error.
import type { DescMessage } from '@bufbuild/protobuf';
import {
  type CaptionFormat,
  LiveStartSchema,
  type ReturnFormat,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
} from '../../gen/sonant/v1/speech_pb.ts';
import type { FormatName, PublicFormatName } from '../audio.ts';
import { memberSchema } from '../contract.ts';
import { countChars } from '../platform/count-chars.ts';
import type { FieldReason, FieldViolation } from '../platform/errors.ts';
import { type MarkupKind, toLanguageCode } from '../text.ts';

/** Parts of a field's JSON schema that the rows use. The schema is generated from the protos. */
interface FieldSchema extends Readonly<Record<string, unknown>> {
  description: string;
  type: string;
  enum: readonly any[];
  default: any;
  minimum: number;
  maximum: number;
  maxLength: number;
  maxItems: number;
  items: FieldSchema;
}

/** Name of a field, and its schema from a message in the protos. */
const named = (json: string, desc: DescMessage = SynthesizeSpeechRequestSchema) => ({
  json,
  schema: memberSchema(desc, json, 'request') as FieldSchema,
});

/** Reports a violation of a field. */
export type ReportViolation = (reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

/** Creates the row for a boolean field. */
export const toggle = (json: string, fallback: boolean, desc?: DescMessage) => ({
  ...named(json, desc),
  parse(given: unknown, report: ReportViolation): boolean {
    if (given !== undefined && typeof given !== 'boolean') report('type', 'must be true or false');
    return typeof given === 'boolean' ? given : fallback;
  },
});

/** Creates the row for a field whose allowed values and default come from the protos. */
export function choice<T>(json: string, desc?: DescMessage) {
  const row = named(json, desc);
  return { ...row, parse: oneOf<T>(row.schema.enum, row.schema.default) };
}

const oneOf =
  <T>(values: readonly (T & (string | number))[], fallback: T) =>
  (given: unknown, report: ReportViolation): T => {
    if (given === undefined || values.includes(given as never)) return (given ?? fallback) as T;
    report('enum', `must be one of ${values.join(', ')}`, values);
    return fallback;
  };

/** Creates the row for a number whose type, range and default come from the protos. */
export function amount(json: string, desc?: DescMessage) {
  const row = named(json, desc);
  const { type, minimum: min, maximum: max, default: fallback } = row.schema;
  const isOfType = type === 'integer' ? Number.isInteger : (given: unknown) => typeof given === 'number';
  const parse = (given: unknown, report: ReportViolation): number => {
    if (given === undefined) return fallback;
    if (!isOfType(given)) report('type', type === 'integer' ? 'must be an integer' : 'must be a number');
    else if (!(Number(given) >= min && Number(given) <= max)) report('range', `must be ${min} to ${max}`);
    else return given as number;
    return fallback;
  };
  return { ...row, parse };
}

const lexiconIds = named('lexicon_ids');
/** Maximum number of lexicons per request, and per voice. */
export const lexiconIdsMax = lexiconIds.schema.maxItems;

export interface TextLimits {
  charsMax: number;
  chunksMax: number;
  chunkCharsMax: number;
  totalCharsMax: number;
}

/** Fields that contain the text of a request: one text, one document, or several texts in streaming mode. */
export const textFields = {
  text: { ...named('text'), names: { openai: 'input' } },
  ssml: named('ssml'),
  chunks: { ...named('text_chunks', StreamSpeechRequestSchema), names: { openai: 'input' } },
};
const { text, chunks } = textFields;

/** Maximum length of a text with markup, as a multiple of the number of spoken characters allowed. */
export const markedLengthFactor = 5;
/** Limits on the text of one API request, in spoken code points. */
export const textLimits: TextLimits = {
  charsMax: text.schema.maxLength / markedLengthFactor,
  chunksMax: chunks.schema.maxItems,
  chunkCharsMax: chunks.schema.items.maxLength / markedLengthFactor,
  totalCharsMax: 50_000,
};

/** Value names of an enum in the protos. */
type NamesOf<Values> = Exclude<Lowercase<Extract<keyof Values, string>>, 'unspecified'>;

/** Caption formats. */
export type CaptionKind = NamesOf<typeof CaptionFormat>;
const captions = named('captions');
export const captionKinds: readonly CaptionKind[] = captions.schema.items.enum;

const methods = ['rest', 'streaming'] as const;

/** The fields of a request, without the fields for its text. */
export interface SpeechFields {
  voiceId: string;
  method: (typeof methods)[number];
  sampleRateHz: number;
  /** BCP-47 code in canonical form. */
  languageCode: string;
  /** Form of the result; undefined if the request states none. The default depends on the method. */
  returnFormat: NamesOf<typeof ReturnFormat> | undefined;
  format: FormatName;
  speakingRate: number;
  /** Whether word times are requested. */
  timestamps: boolean;
  /** Captions to store when the reply is a link to audio. */
  captions: readonly CaptionKind[];
  /** Kind of markup in the texts; undefined for plain text. */
  markup: MarkupKind | undefined;
  /** Whether numbers, signs and abbreviations are spelled out for engines that cannot read them. */
  normalize: boolean;
  /** Unique ids. If several lexicons define a word, the first lexicon applies. */
  lexiconIds: readonly string[];
  /** Free-form text that describes how to speak. */
  instructions: string | undefined;
  /** Seed for the engine's random choices. */
  seed: number | undefined;
}

/** APIs in which fields may have other names than in JSON. */
export type OtherName = 'openai';

export interface FieldRow<Value> {
  /** Name in JSON bodies and queries. */
  json: string;
  names?: Partial<Record<OtherName, string>>;
  flag?: { name: string; short?: string; value?: string; help: string };
  /** JSON Schema with the default and the description. */
  schema: Readonly<Record<string, unknown>>;
  /** Returns the value to use. `given` is undefined if the field is absent. */
  parse(given: unknown, report: ReportViolation): Value;
  /**
   * Whether the value changes the stored result and belongs in the cache key. A function returns the value for the key,
   * or undefined to leave the key unchanged, so that a new field does not invalidate existing keys.
   */
  changesSound: boolean | ((value: Value) => unknown);
  /** Set if the field applies only to a stream of events. */
  isForEvents?: true;
}

const voiceId = named('voice_id');
const languageCode = named('language_code');
export const languageCodeDefault: string = languageCode.schema.default;
/** BCP-47 code for an undetermined language. The voice's own language is used instead. */
export const ownLanguage = 'und';
/** Value of `language_code` with which Sonant chooses the language of each sentence. */
export const autoLanguage = 'auto';

/** Sample rates and formats for responses and for live speech. */
const sampleRate = choice<number>('sample_rate');
export const outputSampleRatesHz: readonly number[] = sampleRate.schema.enum;
export const liveSampleRate = choice<number>('sample_rate', LiveStartSchema);
export const liveSampleRatesHz: readonly number[] = liveSampleRate.schema.enum;
const outputFormat = choice<FormatName>('output_format');
export const formatNames: readonly Exclude<PublicFormatName, 'ulaw' | 'alaw'>[] = outputFormat.schema.enum;

const speakingRate = amount('speaking_rate');
export const speakingRates = { min: speakingRate.schema.minimum, max: speakingRate.schema.maximum };

const markup = choice<MarkupKind | undefined>('markup');
const instructions = named('instructions');
const seed = amount('seed');

export const speechFields: { readonly [Name in keyof SpeechFields]: FieldRow<SpeechFields[Name]> } = {
  voiceId: {
    ...voiceId,
    names: { openai: 'voice' },
    flag: {
      name: 'voice',
      short: 'v',
      value: 'ID',
      help: 'the voice, by id or alias; default: the first of sonant voice list, with -l the first that speaks CODE',
    },
    parse(given, report) {
      const { maxLength } = voiceId.schema;
      if (given === undefined) report('required', 'is required; GET /api/voices lists the voices');
      else if (typeof given !== 'string') report('type', 'must be a string');
      else if (given === '' || countChars(given) > maxLength) report('length', `must be 1 to ${maxLength} characters`);
      else if (given.includes('\0')) report('encoding', 'contains a NUL character');
      return typeof given === 'string' ? given : '';
    },
    // `delivery/cache-key.ts` adds the voice to the key, with its version and its engine.
    changesSound: false,
  },
  sampleRateHz: {
    ...sampleRate,
    flag: {
      name: 'sample-rate',
      value: 'HZ',
      help: `${outputSampleRatesHz.slice(0, -1).join(', ')} or ${outputSampleRatesHz.at(-1)}; default: ${sampleRate.schema.default}`,
    },
    changesSound: true,
  },
  languageCode: {
    ...languageCode,
    flag: {
      name: 'language',
      short: 'l',
      value: 'CODE',
      help: 'language of the text, such as en-GB; auto: detected for each sentence; default: the language of the voice',
    },
    parse(given, report) {
      if (given === undefined) return languageCodeDefault;
      if (given === autoLanguage) return autoLanguage;
      const code = typeof given === 'string' ? toLanguageCode(given) : undefined;
      if (typeof given !== 'string') report('type', 'must be a string');
      else if (code === undefined) report('format', 'must be a BCP-47 language code such as en-US, or auto');
      return code ?? '';
    },
    changesSound: true,
  },
  // This field exists only in JSON; in gRPC, each method is a separate RPC.
  method: {
    json: 'method',
    schema: {
      type: 'string',
      enum: methods,
      default: 'rest',
      description:
        '`rest` returns the audio of `text` when all of it is synthesized; `streaming` returns the audio of `text_chunks` while it is being synthesized.',
    },
    parse: oneOf<SpeechFields['method']>(methods, 'rest'),
    changesSound: false,
  },
  returnFormat: { ...choice('return_format'), changesSound: false },
  format: {
    ...outputFormat,
    names: { openai: 'response_format' },
    flag: {
      name: 'format',
      short: 'f',
      value: 'FORMAT',
      help: `${formatNames.join(', ')}; default: by the extension of FILE, else wav`,
    },
    changesSound: true,
  },
  speakingRate: {
    ...speakingRate,
    names: { openai: 'speed' },
    flag: {
      name: 'speaking-rate',
      short: 'r',
      value: 'N',
      help: `${speakingRates.min} to ${speakingRates.max}; 2 is twice as fast; default: 1`,
    },
    changesSound: true,
  },
  timestamps: {
    ...named('timestamps', StreamSpeechRequestSchema),
    flag: { name: 'timestamps', help: 'with --json: start and end of each word, in seconds' },
    parse: (given, report) => oneOf<string | undefined>(['word'], undefined)(given, report) !== undefined,
    changesSound: false,
    isForEvents: true,
  },
  captions: {
    ...captions,
    parse(given, report) {
      if (given === undefined) return [];
      const isKnown = (kind: unknown) => captionKinds.includes(kind as CaptionKind);
      if (!Array.isArray(given)) report('type', `must be an array of ${captionKinds.join(', ')}`);
      else if (!given.every(isKnown)) report('enum', `must be one or more of ${captionKinds.join(', ')}`, captionKinds);
      else if (new Set(given).size < given.length) report('duplicate', 'must not name a format twice');
      else return given;
      return [];
    },
    // Stored captions can be returned in every format, so the key states only whether there are captions.
    changesSound: (kinds) => kinds.length > 0,
  },
  markup: {
    ...markup,
    names: { openai: 'markup' },
    flag: {
      name: 'markup',
      value: 'KIND',
      help: 'pauses: [pause:1.5s] in the text is a pause; ssml: a text that begins with <speak is a document',
    },
    changesSound: true,
  },
  normalize: {
    ...toggle('normalize', true),
    names: { openai: 'normalize' },
    flag: { name: 'no-normalize', help: 'leave numbers, signs and abbreviations to the engine' },
    changesSound: true,
  },
  lexiconIds: {
    ...lexiconIds,
    names: { openai: 'lexicon_ids' },
    flag: {
      name: 'lexicon',
      value: 'ID',
      help: 'pronunciations: id or file of a lexicon; the first lexicon with a word applies',
    },
    parse(given, report) {
      if (given === undefined) return [];
      const isListed = Array.isArray(given) && given.every((each) => typeof each === 'string');
      if (!isListed) report('type', 'must be an array of lexicon ids');
      else if (given.length > lexiconIdsMax) report('length', `must have at most ${lexiconIdsMax} items`);
      else if (new Set(given).size < given.length) report('duplicate', 'must not name a lexicon twice');
      else return given;
      return [];
    },
    // `delivery/cache-key.ts` adds the versions of the lexicons to the key.
    changesSound: false,
  },
  instructions: {
    ...instructions,
    names: { openai: 'instructions' },
    flag: { name: 'instructions', value: 'TEXT', help: 'how to speak, such as "Whisper."; for engines that follow it' },
    parse(given, report) {
      const { maxLength } = instructions.schema;
      if (given === undefined || given === '') return undefined;
      if (typeof given !== 'string') report('type', 'must be a string');
      else if (countChars(given) > maxLength) report('length', `must be at most ${maxLength} characters`);
      else if (given.includes('\0')) report('encoding', 'contains a NUL character');
      else if (!given.isWellFormed()) report('encoding', 'contains an unpaired surrogate; send valid Unicode');
      else return given;
      return undefined;
    },
    changesSound: (text) => text,
  },
  seed: {
    ...seed,
    names: { openai: 'seed' },
    flag: { name: 'seed', value: 'N', help: 'seed of random choices, for engines that accept seeds' },
    changesSound: (value) => value,
  },
};

type NamedRow = Pick<FieldRow<unknown>, 'json' | 'names' | 'flag' | 'schema' | 'isForEvents'>;

/** All rows, in the order in which the documentation lists them. */
export const speechFieldRows: readonly NamedRow[] = [
  speechFields.voiceId,
  textFields.text,
  textFields.ssml,
  textFields.chunks,
  ...Object.values(speechFields as Readonly<Record<string, NamedRow>>).filter((row) => row !== speechFields.voiceId),
];

/** Values for the cache key that change the audio. `delivery/cache-key.ts` adds the text and the voice. */
export function soundFactsOf(fields: SpeechFields): unknown[] {
  const facts: unknown[] = [];
  for (const name of Object.keys(speechFields) as (keyof SpeechFields)[]) {
    const { changesSound } = speechFields[name] as FieldRow<unknown>;
    const fact = typeof changesSound === 'function' ? changesSound(fields[name]) : undefined;
    if (fact !== undefined) facts.push(fact);
    else if (changesSound === true) facts.push(fields[name]);
  }
  return facts;
}
