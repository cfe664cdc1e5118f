// Makes requests for speech from messages of the protos, which all transports read first. Checks what the rules of the
// protos cannot express: texts with their markup, language codes, and fields that exclude each other. Reports all
// violations at once. Also computes the cache key of a request.

import { hash } from 'node:crypto';
import { create, type DescMessage, type Message } from '@bufbuild/protobuf';
import { LiveStartSchema, SynthesizeSpeechRequestSchema } from '../../gen/sonant/v1/speech_pb.ts';
import type { FormatName, Origin } from '../audio.ts';
import {
  checkRules,
  type Fields,
  nameUnknown,
  Reading,
  readMembers,
  type UnknownField,
  Violations,
  valuesOf,
} from '../contract.ts';
import type { Voice } from '../engines.ts';
import { countChars } from '../platform/count-chars.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { toLanguageCode } from '../platform/language-code.ts';
import { type MarkedText, MarkupFault, type MarkupKind, pausesMsMax, readMarkup } from '../text.ts';
import {
  autoLanguage,
  type CaptionKind,
  markedLengthFactor,
  pausesTooLong,
  type TextLimits,
  textLimits,
} from './fields.ts';

/** A request for speech, or the start of live speech, with the defaults of its message. */
export interface SpeechRequest {
  /** `rest` if the audio is returned when all of it is spoken. */
  method: 'rest' | 'streaming';
  voiceId: string;
  sampleRateHz: number;
  /** BCP-47 code in canonical form, or `auto`. */
  languageCode: string;
  format: FormatName;
  returnFormat: 'url' | 'buffer';
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
  /** The texts to speak in order, whose markup has been read; none in live speech. */
  texts: readonly MarkedText[];
  /** Number of spoken Unicode code points in all texts. This number is charged. */
  chars: number;
  /** Sum of all pauses in the markup. */
  pauseMs: number;
  /** Name of the field that contains the texts. */
  textField: string;
  /** Largest audio in a response; 0 if the message has no such field. */
  bufferBytesMax: number;
  /** In live speech, how long to wait for more text before an incomplete sentence is spoken. */
  bufferMs: number;
  /** In live speech, whether the voice first says that it is synthetic. */
  disclosure: boolean;
  /** Whether a recognizer hears if the speech says its text; undefined if not. */
  verify?: 'report' | 'repair' | undefined;
}

interface RequestOptions {
  limits?: Partial<TextLimits> | undefined;
  /** Violations found while the message was read. */
  violations?: Violations;
  /** Paths with a value in JSON, even an empty one. */
  given?: readonly string[];
  /** Fields that are given, but that the message does not have. */
  conflicts?: readonly string[] | undefined;
}

interface ReadOptions extends Pick<RequestOptions, 'limits' | 'conflicts'> {
  /** Fields that are not accepted as members. */
  without?: readonly string[];
  /** Members that the caller reads. */
  also?: readonly string[];
  /** Whether unknown members are refused. Otherwise they are ignored and reported. */
  isStrict?: boolean;
  /** Violations found elsewhere, reported before the violations of the fields. */
  violations?: readonly FieldViolation[];
}

interface ReadRequest {
  request: SpeechRequest;
  /** The unknown members, which are ignored. */
  ignored: UnknownField[];
}

/** Reads a request from the members of a message in JSON. Throws a Failure with all violations. */
export function readRequest(
  desc: DescMessage,
  fields: Fields,
  { limits, conflicts, isStrict = false, violations = [], ...names }: ReadOptions = {},
): ReadRequest {
  const reading = new Reading(isStrict);
  const { ignored, given } = reading;
  reading.violations.add(violations);
  const message = create(desc);
  readMembers(message, desc, fields, reading, names);
  const options = { limits, conflicts, violations: reading.violations, given };
  try {
    return { request: toRequest(desc, message, options), ignored };
  } catch (error) {
    throw nameUnknown(error, ignored);
  }
}

/** The fields of texts, whose length depends on the markup. */
const textNames = ['text', 'text_chunks', 'ssml'];

/** Makes a request from a message. Throws a Failure with all violations. */
export function toRequest(
  desc: DescMessage,
  message: Message,
  { limits, violations = new Violations(), given = [], conflicts = [] }: RequestOptions = {},
): SpeechRequest {
  // Each field is named, because copying the rest of an object takes longer than all checks together.
  const values: Readonly<Record<string, any>> = valuesOf(desc, message);
  const { text, textChunks, ssml, markup, instructions, captions = [] } = values;
  const source = { desc, text, textChunks, ssml, markup, given };
  const { field: textField, texts } =
    desc === LiveStartSchema
      ? noTexts
      : readTexts(source, limits ? { ...textLimits, ...limits } : textLimits, violations);
  for (const field of conflicts) violations.report(field, 'conflict', 'is not available with this method; remove it');
  checkRules(desc, message, violations, { given, except: textNames });
  const languageCode = values.languageCode === autoLanguage ? autoLanguage : toLanguageCode(values.languageCode);
  if (languageCode === undefined)
    violations.report('language_code', 'format', 'must be a BCP-47 language code such as en-US, or auto');
  const method = desc === SynthesizeSpeechRequestSchema ? 'rest' : 'streaming';
  const returnFormat = values.returnFormat ?? (method === 'rest' ? 'url' : 'buffer');
  if (captions.length > 0 && returnFormat !== 'url') violations.report('captions', 'conflict', onlyWithLink);
  throwIfAny(violations);
  return {
    method,
    voiceId: values.voiceId,
    sampleRateHz: values.sampleRate,
    languageCode: languageCode!,
    format: values.outputFormat,
    returnFormat,
    speakingRate: values.speakingRate,
    timestamps: values.timestamps !== undefined,
    captions,
    markup: textField === 'ssml' ? 'ssml' : markup,
    normalize: values.normalize,
    lexiconIds: values.lexiconIds,
    instructions: instructions || undefined,
    seed: values.seed,
    texts,
    chars: sumOf(texts, 'chars'),
    pauseMs: sumOf(texts, 'pauseMs'),
    textField,
    bufferBytesMax: values.bufferBytesMax ?? 0,
    bufferMs: values.bufferMs ?? 0,
    disclosure: values.disclosure ?? false,
    ...(values.verify && values.verify !== 'off' && { verify: values.verify }),
  };
}

/** A request as JSON, with the texts as they were sent. */
type StoredRequest = Omit<SpeechRequest, 'texts'> & { chunks: readonly string[] };

/** The order of the members is part of stored hashes of requests. */
export const toStoredRequest = (request: SpeechRequest): StoredRequest =>
  Object.fromEntries(
    Object.entries(request).map(([name, value]) =>
      name === 'texts' ? ['chunks', request.texts.map(({ source }) => source)] : [name, value],
    ),
  ) as StoredRequest;

/** `stored` is the result of `toStoredRequest`, which may have been written as JSON and read again. */
export function fromStoredRequest(stored: unknown): SpeechRequest {
  const { chunks, ...request } = stored as StoredRequest;
  return { ...request, texts: chunks.map((chunk) => readMarkup(chunk, request.markup)) };
}

const onlyWithLink = 'are only available with method rest and return_format url; remove them';

const sumOf = (texts: readonly MarkedText[], name: 'chars' | 'pauseMs'): number =>
  texts.reduce((sum, text) => sum + text[name], 0);

/** If every violation is a text that is too long, the failure is `text_too_long`. */
function throwIfAny(violations: Violations): void {
  const { details, size } = violations;
  const [first] = details;
  if (first && details.every(({ reason }) => reason === 'too_long')) {
    const message = `${first.field} ${first.message}; ${remedyFor(first.field)}`;
    throw new Failure('text_too_long', { message, ...size, details });
  }
  violations.throwIfAny();
}

function remedyFor(field: string): string {
  if (field === 'text') return 'send it in streaming mode as text_chunks, or as a job';
  if (field === 'text_chunks') return 'send it as a job, or in several requests';
  return 'split it into several of text_chunks';
}

interface TextSource {
  desc: DescMessage;
  text?: string;
  textChunks?: readonly string[];
  ssml?: string;
  markup?: MarkupKind;
  given: readonly string[];
}

interface SourceTexts {
  field: string;
  texts: readonly MarkedText[];
}

const noTexts: SourceTexts = { field: 'text', texts: [] };

/** Reads the texts of a message from the field that has them. Reports violations. */
function readTexts(source: TextSource, limits: TextLimits, violations: Violations): SourceTexts {
  const { text, textChunks: chunks = [], ssml, markup } = source;
  const field = textFieldOf(source, violations);
  // The text may be in the document, which could not be read.
  if (field !== 'ssml' && violations.has('ssml')) return noTexts;
  const isMarked = field === 'ssml' || markup !== undefined;
  const read = (path: string, one: string | undefined, charsMax: number) => {
    if (one === undefined && !source.given.includes(path)) violations.report(path, 'required', 'is required');
    const parse = () => readMarkup(one ?? '', field === 'ssml' ? 'document' : markup);
    return readText(path, one ?? '', { charsMax, isMarked, parse }, violations);
  };
  const { charsMax, chunksMax, chunkCharsMax, totalCharsMax } = limits;
  const isList = field === 'text_chunks';
  const { length } = chunks;
  if (isList && length === 0) violations.report(field, 'required', 'must have at least one text');
  if (isList && length > chunksMax) reportTooLong(field, chunksMax, length, `has ${length} items`, violations);
  const texts = isList
    ? chunks.slice(0, chunksMax).flatMap((chunk, i) => read(`${field}[${i}]`, chunk, chunkCharsMax))
    : read(field, ssml ?? text, charsMax);
  const total = sumOf(texts, 'chars');
  if (texts.length > 1 && total > totalCharsMax)
    reportTooLong(field, totalCharsMax, total, `have ${total} characters together`, violations);
  const refuse = (other: string) => violations.report(other, 'conflict', `is replaced by ${field}; remove ${other}`);
  if (text !== undefined && field !== 'text') refuse('text');
  if (length > 0 && !isList) refuse('text_chunks');
  if (field === 'ssml' && markup === 'pauses')
    violations.report('markup', 'conflict', 'pauses is only for plain text; remove it');
  if (sumOf(texts, 'pauseMs') > pausesMsMax) violations.report(field, 'range', pausesTooLong);
  return { field, texts };
}

function textFieldOf({ desc, text, textChunks = [], ssml, given }: TextSource, violations: Violations): string {
  if (ssml !== undefined) return 'ssml';
  if (!desc.field.textChunks) return 'text';
  const isGiven = text !== undefined || given.includes('text') || violations.has('text');
  return desc.field.text && textChunks.length === 0 && isGiven ? 'text' : 'text_chunks';
}

interface TextRules {
  charsMax: number;
  isMarked: boolean;
  parse(): MarkedText;
}

/** Reads one text, and returns it as a list. */
function readText(field: string, source: string, rules: TextRules, violations: Violations): MarkedText[] {
  const { charsMax, isMarked, parse } = rules;
  if (source.includes('\0')) violations.report(field, 'encoding', 'contains a NUL character');
  // The markup of a text above this length is not parsed.
  const sourceCharsMax = isMarked ? charsMax * markedLengthFactor : charsMax;
  const sourceChars = countChars(source);
  let text: MarkedText | undefined;
  try {
    if (sourceChars <= sourceCharsMax) text = parse();
  } catch (error) {
    if (!(error instanceof MarkupFault)) throw error;
    violations.report(field, 'markup', error.message);
  }
  if ((text?.chars === 0 && text.pauseMs === 0) || source.trim() === '')
    violations.report(field, 'blank', 'must contain more than white space');
  const [limit, chars] = text ? [charsMax, text.chars] : [sourceCharsMax, sourceChars];
  if (chars > limit) reportTooLong(field, limit, chars, `has ${chars} characters`, violations);
  return text ? [text] : [];
}

const reportTooLong = (field: string, limit: number, actual: number, what: string, violations: Violations): void =>
  violations.report(field, 'too_long', `${what}, over the limit of ${limit}`, { limit, actual });

interface Speakers {
  /** The voices as callers know them, and the engine voices that speak. */
  speakers: readonly { voice: Voice; speaker: Voice }[];
  lexiconVersions: readonly string[];
  /** The origin that the file states. */
  origin: Origin | undefined;
}

/**
 * Computes the cache key: a hash of everything that the audio depends on. It needs only the request and its voices, so
 * that the cache can be searched before the text is cut.
 */
export function hashOfSound(request: SpeechRequest, { speakers, lexiconVersions, origin }: Speakers): string {
  const versions = speakers.map(({ voice, speaker: { engine, voiceId, version } }) => {
    return [voice.voiceId, voice.version, engine, voiceId, version];
  });
  const texts = request.texts.map(({ source }) => source);
  return hash('sha256', JSON.stringify([versions, texts, soundFactsOf(request), lexiconVersions, origin]), 'base64url');
}

/**
 * The fields that change the audio. A field is left out only if it is named here, so that a new field of the protos is
 * a part of the key. An undefined value is left out, so that a new field does not invalidate existing keys.
 */
function soundFactsOf(request: SpeechRequest): unknown[] {
  const { method, voiceId, returnFormat, texts, textField, chars, pauseMs, lexiconIds, ...rest } = request;
  const { timestamps, captions, bufferBytesMax, bufferMs, disclosure, ...facts } = rest;
  // Stored captions can be returned in every format, so the key states only whether there are captions.
  const all = Object.entries({ ...facts, hasCaptions: captions.length > 0 });
  return all.filter(([, value]) => value !== undefined).sort(([one], [other]) => (one < other ? -1 : 1));
}
