// The fields of a speech request, one row each: its names, its type and range, its default, its sentence for the
// documents, and whether it changes the sound. Parsers, OpenAPI, command-line flags, the names in errors and the cache
// key are read off the rows. A field of `SpeechFields` without a row is a type error.
import { type FormatName, formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import type { FieldReason, FieldViolation } from '../errors.ts';
import { countChars } from '../text/count-chars.ts';
import { toLanguageCode } from '../text/language-code.ts';
import { pausesMsMax } from '../text/pause-tags.ts';
import { type MarkupKind, markupKinds } from '../text/read-markup.ts';

/** Of one request, or bound to one voice. */
export const lexiconIdsMax = 10;

const lexiconIdsField = {
  json: 'lexicon_ids',
  names: { openai: 'lexicon_ids' },
  flag: {
    name: 'lexicon',
    value: 'ID',
    help: 'how words are said: a lexicon or a file of one; of several, the first wins',
  },
  schema: {
    type: 'array',
    items: { type: 'string' },
    uniqueItems: true,
    maxItems: lexiconIdsMax,
    description:
      'Lexicons that state how words are said, by id; the first that has a word wins, and those of the voice come ' +
      'last. GET /api/lexicons lists them.',
  },
  parse(given: unknown, report: (reason: FieldReason, message: string) => void): readonly string[] {
    if (given === undefined) return [];
    const isListed = Array.isArray(given) && given.every((each) => typeof each === 'string');
    if (!isListed) report('type', 'must be an array of ids of lexicons');
    else if (given.length > lexiconIdsMax) report('length', `must be at most ${lexiconIdsMax}`);
    else if (new Set(given).size < given.length) report('duplicate', 'must name each lexicon once');
    else return given;
    return [];
  },
  // The cache key has the versions of their content: `delivery/cache-key.ts` adds them.
  changesSound: false,
} as const;

export interface TextLimits {
  charsMax: number;
  chunksMax: number;
  chunkCharsMax: number;
  totalCharsMax: number;
}

/** The limits of the text of one request to the API, in code points that are said. */
export const textLimits: TextLimits = { charsMax: 5000, chunksMax: 200, chunkCharsMax: 5000, totalCharsMax: 50_000 };
/** With its markup, a text may be so many times as long. */
export const markedLengthFactor = 5;

const markedLengths = `with markup, ${markedLengthFactor} times as long at most, and ${pausesMsMax / 1000} seconds of pauses.`;

/** The text of a request: one text, one document, or several in streaming mode. */
export const textFields = {
  text: {
    json: 'text',
    names: { openai: 'input' },
    schema: {
      type: 'string',
      maxLength: textLimits.charsMax * markedLengthFactor,
      description: `Text to speak, for \`method\` \`rest\`: at most ${textLimits.charsMax} Unicode code points, not blank; ${markedLengths}`,
    },
  },
  ssml: {
    json: 'ssml',
    schema: {
      type: 'string',
      maxLength: textLimits.charsMax * markedLengthFactor,
      description: `An SSML 1.1 document to speak, in place of \`text\` or \`text_chunks\`: at most ${textLimits.charsMax} code points that are said; ${markedLengths}`,
    },
  },
  chunks: {
    json: 'text_chunks',
    names: { openai: 'input' },
    schema: {
      type: 'array',
      items: { type: 'string', maxLength: textLimits.chunkCharsMax * markedLengthFactor },
      minItems: 1,
      maxItems: textLimits.chunksMax,
      description: `Texts to speak in order, for \`method\` \`streaming\`: at most ${textLimits.chunksMax}, each at most ${textLimits.chunkCharsMax} code points, together ${textLimits.totalCharsMax}; ${markedLengths}`,
    },
  },
} as const;

export const captionKinds = ['srt', 'vtt'] as const;
/** The formats in which captions are written. */
export type CaptionKind = (typeof captionKinds)[number];

const methods = ['rest', 'streaming'] as const;
const returnFormats = ['url', 'buffer'] as const;

/** The fields of a request besides its text. */
export interface SpeechFields {
  voiceId: string;
  method: (typeof methods)[number];
  sampleRateHz: number;
  /** Canonical BCP-47. */
  languageCode: string;
  /** Undefined where it is not given: the default depends on the method. */
  returnFormat: (typeof returnFormats)[number] | undefined;
  format: FormatName;
  speakingRate: number;
  /** Whether word times are wanted. */
  timestamps: boolean;
  /** The captions to store beside the audio of a link. */
  captions: readonly CaptionKind[];
  /** How the texts are marked; undefined for plain text. */
  markup: MarkupKind | undefined;
  /** Whether numbers, signs and abbreviations are spelled out for engines that do not read them. */
  normalize: boolean;
  /** Each once; the first wins. */
  lexiconIds: readonly string[];
  /** How to speak, in free text. */
  instructions: string | undefined;
  /** Of the engine's random choices. */
  seed: number | undefined;
}

/** Reports what is wrong with the value of a field. */
export type ReportViolation = (reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

/** The APIs in which a field may have another name than in JSON. */
export type OtherName = 'openai';

export interface FieldRow<Value> {
  /** The name in JSON bodies and in queries. */
  json: string;
  names?: Partial<Record<OtherName, string>>;
  flag?: { name: string; short?: string; value?: string; help: string };
  /** JSON Schema, with the default and the description. */
  schema: Readonly<Record<string, unknown>> & { description: string };
  /** The value to use; `given` is undefined where the field is absent. */
  parse(given: unknown, report: ReportViolation): Value;
  /**
   * Whether the stored result differs with the value, which is then a part of the cache key. A function returns that part:
   * undefined adds nothing, so that a new field leaves the keys of requests without it as they were.
   */
  changesSound: boolean | ((value: Value) => unknown);
  /** Set where the field means something for a stream of events only. */
  isForEvents?: true;
}

export const languageCodeDefault = 'en-US';
/** Leaves the language of each sentence to Sonant. */
export const autoLanguage = 'auto';
const voiceIdCharsMax = 128;
const instructionsCharsMax = 2000;
const seedMax = 2 ** 32 - 1;
export const speakingRates = { min: 0.25, max: 4 };

export function oneOf<T extends string | number, D extends T | undefined>(values: readonly T[], fallback: D) {
  return (given: unknown, report: ReportViolation): T | D => {
    if (given === undefined) return fallback;
    if (!values.includes(given as T)) report('enum', `must be one of ${values.join(', ')}`, values);
    return given as T;
  };
}

export const speechFields: { readonly [Name in keyof SpeechFields]: FieldRow<SpeechFields[Name]> } = {
  voiceId: {
    json: 'voice_id',
    names: { openai: 'voice' },
    flag: {
      name: 'voice',
      short: 'v',
      value: 'ID',
      help: 'the voice, by id or alias; default: the first of sonant voice list, with -l the first that speaks CODE',
    },
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: voiceIdCharsMax,
      description: 'Id or alias of the voice to speak with; GET /api/voices lists them.',
    },
    parse(given, report) {
      if (given === undefined) report('required', 'name the voice to speak with');
      else if (typeof given !== 'string') report('type', 'must be a string');
      else if (given === '' || countChars(given) > voiceIdCharsMax)
        report('length', `must be 1 to ${voiceIdCharsMax} characters`);
      else if (given.includes('\0')) report('encoding', 'holds a NUL character');
      return String(given ?? '');
    },
    // The cache key has the voice's version and its engine as well: `delivery/cache-key.ts` adds them together.
    changesSound: false,
  },
  sampleRateHz: {
    json: 'sample_rate',
    flag: { name: 'sample-rate', value: 'HZ', help: '24000, 44100 or 48000; default: 44100' },
    schema: {
      type: 'number',
      enum: outputSampleRatesHz,
      default: 44100,
      description: 'Sample rate of the audio in hertz.',
    },
    parse: oneOf(outputSampleRatesHz, 44100),
    changesSound: true,
  },
  languageCode: {
    json: 'language_code',
    flag: {
      name: 'language',
      short: 'l',
      value: 'CODE',
      help: 'language of the text, such as en-GB; auto: found for each sentence; default: that of the voice',
    },
    schema: {
      type: 'string',
      default: languageCodeDefault,
      description:
        'Language of the text, BCP-47; one that the voice speaks. `auto`: found for each sentence, among those.',
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
  method: {
    json: 'method',
    schema: {
      type: 'string',
      enum: methods,
      default: 'rest',
      description: 'Whether to answer when all is spoken, or as it is.',
    },
    parse: oneOf(methods, 'rest'),
    changesSound: false,
  },
  returnFormat: {
    json: 'return_format',
    schema: {
      type: 'string',
      enum: returnFormats,
      default: 'url',
      description:
        '`url` answers with a public link, `buffer` with the audio. Given explicitly, `url` also keeps a stream.',
    },
    parse: oneOf(returnFormats, undefined),
    changesSound: false,
  },
  format: {
    json: 'output_format',
    names: { openai: 'response_format' },
    flag: {
      name: 'format',
      short: 'f',
      value: 'FORMAT',
      help: `${formatNames.join(', ')}; default: by the extension of FILE, else wav`,
    },
    schema: {
      type: 'string',
      enum: formatNames,
      default: 'wav',
      description:
        'Encoding: RIFF WAVE, bare 16-bit little-endian samples, MP3, Opus in Ogg, or FLAC; one channel. An Opus file ' +
        'decodes at 48000 Hz, whatever the sample rate is that was asked for and that stands in its header.',
    },
    parse: oneOf(formatNames, 'wav'),
    changesSound: true,
  },
  speakingRate: {
    json: 'speaking_rate',
    names: { openai: 'speed' },
    flag: { name: 'speaking-rate', short: 'r', value: 'N', help: '0.25 to 4; 2 is twice as fast; default: 1' },
    schema: {
      type: 'number',
      minimum: speakingRates.min,
      maximum: speakingRates.max,
      default: 1,
      description: 'Speed of speech; the pitch stays.',
    },
    parse(given, report) {
      if (given === undefined) return 1;
      const { min, max } = speakingRates;
      if (typeof given !== 'number') report('type', 'must be a number');
      else if (!(given >= min && given <= max)) report('range', `must be ${min} to ${max}`);
      else return given;
      return 1;
    },
    changesSound: true,
  },
  timestamps: {
    json: 'timestamps',
    flag: { name: 'timestamps', help: 'with --json: start and end of each word, in seconds' },
    schema: { type: 'string', enum: ['word'], description: 'Also tell when each word is heard.' },
    parse: (given, report) => oneOf(['word'], undefined)(given, report) !== undefined,
    changesSound: false,
    isForEvents: true,
  },
  captions: {
    json: 'captions',
    schema: {
      type: 'array',
      items: { type: 'string', enum: captionKinds },
      uniqueItems: true,
      description:
        'Captions to keep beside the audio, for `method` `rest` with `return_format` `url`: SubRip, WebVTT or both. ' +
        'X-Captions-Srt and X-Captions-Vtt tell where they are.',
    },
    parse(given, report) {
      if (given === undefined) return [];
      const isKnown = (kind: unknown) => captionKinds.includes(kind as CaptionKind);
      if (!Array.isArray(given)) report('type', `must be an array of ${captionKinds.join(', ')}`);
      else if (!given.every(isKnown)) report('enum', `must be one or more of ${captionKinds.join(', ')}`, captionKinds);
      else if (new Set(given).size < given.length) report('duplicate', 'must name each kind once');
      else return given;
      return [];
    },
    // They are stored beside the sound, in all kinds or not at all.
    changesSound: (kinds) => kinds.length > 0,
  },
  markup: {
    json: 'markup',
    names: { openai: 'markup' },
    flag: {
      name: 'markup',
      value: 'KIND',
      help: 'pauses: [pause:1.5s] in the text is a pause; ssml: a text that begins with <speak is a document',
    },
    schema: {
      type: 'string',
      enum: markupKinds,
      description:
        '`pauses`: `[pause:1.5s]` in the text is a pause. `ssml`: a text that begins with `<speak` is an SSML document.',
    },
    parse: oneOf(markupKinds, undefined),
    changesSound: true,
  },
  normalize: {
    json: 'normalize',
    names: { openai: 'normalize' },
    flag: { name: 'no-normalize', help: 'leave numbers, signs and abbreviations to the engine' },
    schema: {
      type: 'boolean',
      default: true,
      description: 'Whether numbers and signs are spelled out for an engine that does not read them.',
    },
    parse(given, report) {
      if (given !== undefined && typeof given !== 'boolean') report('type', 'must be true or false');
      return given !== false;
    },
    changesSound: true,
  },
  lexiconIds: lexiconIdsField,
  instructions: {
    json: 'instructions',
    names: { openai: 'instructions' },
    flag: { name: 'instructions', value: 'TEXT', help: 'how to speak, such as "Whisper."; for engines that follow it' },
    schema: {
      type: 'string',
      maxLength: instructionsCharsMax,
      description:
        'How to speak, in free text, such as "Cheerful and fast." An engine that does not follow instructions speaks ' +
        'without, and `warnings` has `ignored:instructions`.',
    },
    parse(given, report) {
      if (given === undefined || given === '') return undefined;
      if (typeof given !== 'string') report('type', 'must be a string');
      else if (countChars(given) > instructionsCharsMax)
        report('length', `must be at most ${instructionsCharsMax} characters`);
      else if (given.includes('\0')) report('encoding', 'holds a NUL character');
      else if (!given.isWellFormed()) report('encoding', 'holds half of a surrogate pair; send valid Unicode');
      else return given;
      return undefined;
    },
    changesSound: (instructions) => instructions,
  },
  seed: {
    json: 'seed',
    names: { openai: 'seed' },
    flag: { name: 'seed', value: 'N', help: 'the same seed sounds the same, for engines that take one' },
    schema: {
      type: 'integer',
      minimum: 0,
      maximum: seedMax,
      description:
        'Seed of the engine’s random choices: the same request with the same seed sounds the same, as far as the engine ' +
        'can. Of an engine that takes no seed, `warnings` has `ignored:seed`.',
    },
    parse(given, report) {
      if (given === undefined) return undefined;
      if (!Number.isInteger(given)) report('type', 'must be an integer');
      else if (Number(given) < 0 || Number(given) > seedMax) report('range', `must be 0 to ${seedMax}`);
      else return Number(given);
      return undefined;
    },
    changesSound: (seed) => seed,
  },
};

type NamedRow = Pick<FieldRow<unknown>, 'json' | 'names' | 'flag' | 'schema' | 'isForEvents'>;

/** All rows, in the order in which the documents list them. */
export const speechFieldRows: readonly NamedRow[] = [
  speechFields.voiceId,
  textFields.text,
  textFields.ssml,
  textFields.chunks,
  ...Object.values(speechFields as Readonly<Record<string, NamedRow>>).filter((row) => row !== speechFields.voiceId),
];

/** What of the request changes its sound, for the cache key; the text and the voice are added in `delivery/cache-key.ts`. */
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
