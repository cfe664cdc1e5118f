// Parses requests for speech. `parseSpeechRequest` accepts fields with JSON names, reports all violations at once, and
// coerces nothing: a number in quotes is a violation. See fields.ts for the values.

import { countChars } from '../platform/count-chars.ts';
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { type MarkedText, MarkupFault, type MarkupKind, pausesMsMax, readMarkup, readSsml } from '../text.ts';
import {
  type FieldRow,
  markedLengthFactor,
  type ReportViolation,
  type SpeechFields,
  speechFields,
  type TextLimits,
  textFields,
  textLimits,
} from './fields.ts';

export interface SpeechRequest extends SpeechFields {
  /** The texts to speak in order, with markup. A `rest` request has one text. */
  chunks: readonly string[];
  /** Number of spoken Unicode code points in all chunks. This number is charged. */
  chars: number;
  /** Sum of all pauses in the markup. */
  pauseMs: number;
  returnFormat: NonNullable<SpeechFields['returnFormat']>;
  /** Name of the field that contains the texts. */
  textField: string;
}

interface ParseOptions {
  limits?: Partial<TextLimits>;
  /** Whether a stream may have a single `text` instead of `text_chunks`. */
  allowsSingleText?: boolean;
  /** Violations found elsewhere, reported after the violations of the fields. */
  violations?: readonly FieldViolation[];
  /** Violations found elsewhere, reported before the violations of the fields. */
  violationsBefore?: readonly FieldViolation[];
}

const noLimits: Partial<TextLimits> = Object.freeze({});
const none: readonly FieldViolation[] = [];

/** Parses a request. Throws a Failure with all violations. */
export function parseSpeechRequest(
  fields: Readonly<Record<string, unknown>>,
  { limits = noLimits, allowsSingleText = false, violations = none, violationsBefore = none }: ParseOptions = {},
): SpeechRequest {
  const found = new Violations();
  let taken = '';
  const report: ReportViolation = (...violation) => found.add(taken, ...violation);
  const take = <Value>({ json, parse }: FieldRow<Value>): Value => {
    taken = json;
    return parse(fields[json] ?? undefined, report);
  };

  const method = take(speechFields.method);
  const voiceId = take(speechFields.voiceId);
  const markup = take(speechFields.markup);
  const { field: textField, texts } = parseTexts(fields, { limits, method, markup, allowsSingleText }, found);
  const request: SpeechRequest = {
    voiceId,
    method,
    chunks: texts.map(({ source }) => source),
    chars: sumOf(texts, 'chars'),
    pauseMs: sumOf(texts, 'pauseMs'),
    sampleRateHz: take(speechFields.sampleRateHz),
    languageCode: take(speechFields.languageCode),
    returnFormat: take(speechFields.returnFormat) ?? (method === 'streaming' ? 'buffer' : 'url'),
    format: take(speechFields.format),
    speakingRate: take(speechFields.speakingRate),
    timestamps: take(speechFields.timestamps),
    captions: take(speechFields.captions),
    markup: textField === textFields.ssml.json ? 'ssml' : markup,
    normalize: take(speechFields.normalize),
    lexiconIds: take(speechFields.lexiconIds),
    instructions: take(speechFields.instructions),
    seed: take(speechFields.seed),
    textField,
  };
  const isLinked = method === 'rest' && request.returnFormat === 'url';
  if (request.captions.length > 0 && !isLinked)
    found.add('captions', 'conflict', 'are only available with method rest and return_format url; remove them');
  found.throwIfAny(violationsBefore, violations);
  return request;
}

function sumOf(texts: readonly MarkedText[], name: 'chars' | 'pauseMs'): number {
  let sum = 0;
  for (const text of texts) sum += text[name];
  return sum;
}

const isGiven = (value: unknown, isEmptyAbsent = true): boolean =>
  (value ?? undefined) !== undefined && !(isEmptyAbsent && value === '') && !(Array.isArray(value) && !value.length);

/** Collects violations. If every violation is a text that is too long, the failure is `text_too_long`. */
class Violations {
  readonly #violations: FieldViolation[] = [];
  readonly #tooLong: (FieldViolation & { limit: number; actual: number })[] = [];

  add(field: string, ...[reason, message, allowed]: Parameters<ReportViolation>): void {
    this.#violations.push({ field, reason, message, ...(allowed && { allowed }) });
  }

  addTooLong(field: string, limit: number, actual: number, message: string): void {
    this.#tooLong.push({ field, reason: 'too_long', message, limit, actual });
  }

  throwIfAny(before: readonly FieldViolation[], after: readonly FieldViolation[]): void {
    if (this.#violations.length + this.#tooLong.length + before.length + after.length === 0) return;
    const [first] = this.#tooLong;
    const tooLong = this.#tooLong.map(({ field, reason, message }) => ({ field, reason, message }));
    const details = [...before, ...this.#violations, ...tooLong, ...after];
    if (first && details.length === tooLong.length) {
      const message = `${first.field} ${first.message}; ${remedyFor(first.field)}`;
      throw new Failure('text_too_long', { message, limit: first.limit, actual: first.actual, details });
    }
    throw new Failure('invalid_request', { details });
  }
}

function remedyFor(field: string): string {
  if (field === textFields.text.json) return 'send it in streaming mode as text_chunks, or as a job';
  if (field === textFields.chunks.json) return 'send it as a job, or in several requests';
  return `split it into several of ${textFields.chunks.json}`;
}

interface TextOptions {
  limits: Partial<TextLimits>;
  method: SpeechFields['method'];
  markup: MarkupKind | undefined;
  allowsSingleText: boolean;
}

function parseTexts(
  fields: Readonly<Record<string, unknown>>,
  { limits: given, method, markup, allowsSingleText }: TextOptions,
  found: Violations,
): { field: string; texts: MarkedText[] } {
  const limits = given === noLimits ? textLimits : { ...textLimits, ...given };
  const { text, ssml, chunks } = textFields;
  const isSingle =
    method !== 'streaming' || (allowsSingleText && isGiven(fields.text, false) && !isGiven(fields.text_chunks));
  const usual = isSingle ? text : chunks;
  const used = isGiven(fields.ssml) ? ssml : usual;
  const value = fields[used.json] ?? undefined;
  const lengthFactor = used === ssml || markup ? markedLengthFactor : 1;
  const check = (field: string, one: unknown, charsMax: number) =>
    checkText(
      field,
      one,
      { charsMax, lengthFactor, read: used === ssml ? readSsml : (source) => readMarkup(source, markup) },
      found,
    );
  const texts = used === chunks ? parseChunks(value, limits, check, found) : check(used.json, value, limits.charsMax);
  for (const other of [text, chunks]) {
    if (other === used || !isGiven(fields[other.json])) continue;
    const takes = used === ssml ? 'ssml replaces it' : `method ${method} uses ${used.json}`;
    found.add(other.json, 'conflict', `${takes}; remove ${other.json}`);
  }
  if (used === ssml && markup === 'pauses') found.add('markup', 'conflict', 'pauses is only for plain text; remove it');
  if (sumOf(texts, 'pauseMs') > pausesMsMax)
    found.add(used.json, 'range', `has more than ${pausesMsMax / 1000} s of pauses, which is the limit; shorten them`);
  return { field: used.json, texts };
}

function parseChunks(
  given: unknown,
  limits: TextLimits,
  check: (field: string, one: unknown, charsMax: number) => MarkedText[],
  found: Violations,
): MarkedText[] {
  const field = textFields.chunks.json;
  const report: ReportViolation = (reason, message) => found.add(field, reason, message);
  if (!isGiven(given, false)) {
    report('required', 'must have at least one text');
    return [];
  }
  if (!Array.isArray(given)) {
    report('type', 'must be an array of strings');
    return [];
  }
  const { chunksMax, chunkCharsMax, totalCharsMax } = limits;
  if (given.length > chunksMax) {
    found.addTooLong(field, chunksMax, given.length, `has ${given.length} items, over the limit of ${chunksMax}`);
    return [];
  }
  const chunks = given.flatMap((chunk, i) => check(`${field}[${i}]`, chunk, chunkCharsMax));
  const total = sumOf(chunks, 'chars');
  if (total > totalCharsMax) {
    const message = `have ${total} characters together, over the limit of ${totalCharsMax}`;
    found.addTooLong(field, totalCharsMax, total, message);
  }
  return chunks;
}

interface TextRules {
  charsMax: number;
  /** Maximum length of the text with markup, as a multiple of `charsMax`. */
  lengthFactor: number;
  read(source: string): MarkedText;
}

/** Checks a text and returns it as a list. Violations are reported. */
function checkText(
  field: string,
  value: unknown,
  { charsMax, lengthFactor, read }: TextRules,
  found: Violations,
): MarkedText[] {
  if (typeof value !== 'string') {
    if (value === undefined) found.add(field, 'required', 'is required');
    else found.add(field, 'type', 'must be a string');
    return [];
  }
  if (!value.isWellFormed()) found.add(field, 'encoding', 'contains an unpaired surrogate; send valid Unicode');
  if (value.includes('\0')) found.add(field, 'encoding', 'contains a NUL character');
  // The markup of a text above this length is not parsed.
  const sourceCharsMax = charsMax * lengthFactor;
  const sourceChars = countChars(value);
  const isRead = sourceChars <= sourceCharsMax;
  const text = isRead ? readText(field, value, read, found) : undefined;
  if ((text?.chars === 0 && text.pauseMs === 0) || value.trim() === '')
    found.add(field, 'blank', 'must contain more than white space');
  const [limit, chars] = text ? [charsMax, text.chars] : [sourceCharsMax, sourceChars];
  if (chars > limit) found.addTooLong(field, limit, chars, `has ${chars} characters, over the limit of ${limit}`);
  return text ? [text] : [];
}

function readText(field: string, value: string, read: TextRules['read'], found: Violations): MarkedText | undefined {
  try {
    return read(value);
  } catch (error) {
    if (!(error instanceof MarkupFault)) throw error;
    found.add(field, 'markup', error.message);
    return undefined;
  }
}
