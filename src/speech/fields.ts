// The fields of a speech request, one row each: names, type and range, default, description, and whether the field
// changes the audio. Parsers, OpenAPI, command-line flags, error messages and the cache key are derived from the rows.
// A field of `SpeechFields` without a row is a type error.
import { type FormatName, formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import type { FieldReason, FieldViolation } from '../errors.ts';
import { countChars } from '../text/count-chars.ts';
import { toLanguageCode } from '../text/language-code.ts';
import { pausesMsMax } from '../text/pause-tags.ts';
import { type MarkupKind, markupKinds } from '../text/read-markup.ts';

/** Limit per request and per voice. */
export const lexiconIdsMax = 10;

const lexiconIdsField = {
  json: 'lexicon_ids',
  names: { openai: 'lexicon_ids' },
  flag: {
    name: 'lexicon',
    value: 'ID',
    help: 'pronunciations: id or file of a lexicon; the first lexicon with a word applies',
  },
  schema: {
    type: 'array',
    items: { type: 'string' },
    uniqueItems: true,
    maxItems: lexiconIdsMax,
    description:
      'Ids of lexicons with pronunciations; the first lexicon with a word applies, and the lexicons of the voice come ' +
      'last. GET /api/lexicons lists them.',
  },
  parse(given: unknown, report: (reason: FieldReason, message: string) => void): readonly string[] {
    if (given === undefined) return [];
    const isListed = Array.isArray(given) && given.every((each) => typeof each === 'string');
    if (!isListed) report('type', 'must be an array of lexicon ids');
    else if (given.length > lexiconIdsMax) report('length', `must have at most ${lexiconIdsMax} items`);
    else if (new Set(given).size < given.length) report('duplicate', 'must not name a lexicon twice');
    else return given;
    return [];
  },
  // False, because `delivery/cache-key.ts` adds the versions of their content.
  changesSound: false,
} as const;

export interface TextLimits {
  charsMax: number;
  chunksMax: number;
  chunkCharsMax: number;
  totalCharsMax: number;
}

/** Limits of the text of one API request, in spoken code points. */
export const textLimits: TextLimits = { charsMax: 5000, chunksMax: 200, chunkCharsMax: 5000, totalCharsMax: 50_000 };
/** A text with markup may be this many times as long. */
export const markedLengthFactor = 5;

const markedLengths = `with markup, at most ${markedLengthFactor} times as long, with ${pausesMsMax / 1000} seconds of pauses.`;

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
      description: `An SSML 1.1 document to speak, instead of \`text\` or \`text_chunks\`: at most ${textLimits.charsMax} code points that are spoken; ${markedLengths}`,
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
/** Formats of captions. */
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
  /** Undefined if not given: the default depends on the method. */
  returnFormat: (typeof returnFormats)[number] | undefined;
  format: FormatName;
  speakingRate: number;
  /** Whether word times are requested. */
  timestamps: boolean;
  /** The captions to store beside the audio of a link. */
  captions: readonly CaptionKind[];
  /** Kind of markup in the texts; undefined for plain text. */
  markup: MarkupKind | undefined;
  /** Whether numbers, signs and abbreviations are spelled out for engines that cannot read them. */
  normalize: boolean;
  /** Unique ids; if several lexicons define a word, the first one applies. */
  lexiconIds: readonly string[];
}

/** Reports a violation of a field. */
export type ReportViolation = (reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

/** APIs in which fields may have other names than in JSON. */
export type OtherName = 'openai';

export interface FieldRow<Value> {
  /** Name in JSON bodies and queries. */
  json: string;
  names?: Partial<Record<OtherName, string>>;
  flag?: { name: string; short?: string; value?: string; help: string };
  /** JSON Schema, with the default and the description. */
  schema: Readonly<Record<string, unknown>> & { description: string };
  /** Returns the value to use. `given` is undefined if the field is absent. */
  parse(given: unknown, report: ReportViolation): Value;
  /** Whether the value changes the stored result, and so belongs to the cache key. */
  changesSound: boolean | ((value: Value) => unknown);
  /** Set if the field only applies to a stream of events. */
  isForEvents?: true;
}

export const languageCodeDefault = 'en-US';
/** Lets Sonant choose the language of each sentence. */
export const autoLanguage = 'auto';
const voiceIdCharsMax = 128;
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
      description: 'Id or alias of the voice to speak with; GET /api/voices lists the voices.',
    },
    parse(given, report) {
      if (given === undefined) report('required', 'is required; GET /api/voices lists the voices');
      else if (typeof given !== 'string') report('type', 'must be a string');
      else if (given === '' || countChars(given) > voiceIdCharsMax)
        report('length', `must be 1 to ${voiceIdCharsMax} characters`);
      else if (given.includes('\0')) report('encoding', 'contains a NUL character');
      return String(given ?? '');
    },
    // False, because `delivery/cache-key.ts` adds the voice's version together with its engine.
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
      help: 'language of the text, such as en-GB; auto: detected for each sentence; default: the language of the voice',
    },
    schema: {
      type: 'string',
      default: languageCodeDefault,
      description:
        'Language of the text, BCP-47, which the voice must speak. `auto`: detected for each sentence, among the languages of the voice.',
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
      description: '`rest` replies when all text is spoken; `streaming` replies while it is spoken.',
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
        '`url` returns a public link, `buffer` returns the audio. Sent explicitly, `url` also stores a stream.',
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
        'decodes at 48000 Hz; the requested sample rate is only in its header.',
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
      description: 'Speed of speech; the pitch does not change.',
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
    schema: { type: 'string', enum: ['word'], description: 'Whether to return the times of words.' },
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
        'Captions to store with the audio, for `method` `rest` with `return_format` `url`: SubRip, WebVTT or both. ' +
        'X-Captions-Srt and X-Captions-Vtt contain their URLs.',
    },
    parse(given, report) {
      if (given === undefined) return [];
      const isKnown = (kind: unknown) => captionKinds.includes(kind as CaptionKind);
      if (!Array.isArray(given)) report('type', `must be an array of ${captionKinds.join(', ')}`);
      else if (!given.every(isKnown)) report('enum', `must be one or more of ${captionKinds.join(', ')}`, captionKinds);
      else if (new Set(given).size < given.length) report('duplicate', 'must not name a kind twice');
      else return given;
      return [];
    },
    // All kinds of captions are stored beside the audio, or none.
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

/** The values that change the audio, for the cache key. `delivery/cache-key.ts` adds the text and the voice. */
export function soundFactsOf(fields: SpeechFields): unknown[] {
  const facts: unknown[] = [];
  for (const name of Object.keys(speechFields) as (keyof SpeechFields)[]) {
    const { changesSound } = speechFields[name] as FieldRow<unknown>;
    if (typeof changesSound === 'function') facts.push(changesSound(fields[name]));
    else if (changesSound) facts.push(fields[name]);
  }
  return facts;
}
