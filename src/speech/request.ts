// A request for speech, checked. `parseSpeechRequest` takes the fields under their JSON names, reports every violation
// at once, and coerces nothing: a number in quotes is a violation. What each field may be is in fields.ts.
import { Failure, type FieldViolation } from '../errors.ts';
import { countChars } from '../text/chars.ts';
import {
  type FieldRow,
  type ReportViolation,
  type SpeechFields,
  speechFields,
  type TextLimits,
  textFields,
  textLimits,
} from './fields.ts';
import type { VoiceUser } from './voice.ts';

export interface SpeechRequest extends SpeechFields {
  /** The texts to speak, one after the other; a `rest` request has one. */
  chunks: readonly string[];
  /** Unicode code points of all chunks: what is counted and charged. */
  chars: number;
  returnFormat: NonNullable<SpeechFields['returnFormat']>;
  /** Set for a stream whose one chunk was given as `text`. */
  isSingleText?: true;
}

/** Who was admitted: whose turn it is, who is charged, and with which voices it may speak. */
export interface Caller extends VoiceUser {
  callerId: string;
}

export interface ParseOptions {
  limits?: Partial<TextLimits>;
  /** Whether a stream may be given one `text` in place of `text_chunks`. */
  allowsSingleText?: boolean;
  /** Violations that were found elsewhere, reported after those of the fields. */
  violations?: readonly FieldViolation[];
  /** The same, reported before those of the fields. */
  violationsBefore?: readonly FieldViolation[];
}

/** The request that `fields` describe, or a Failure with every violation in them. */
export function parseSpeechRequest(
  fields: Readonly<Record<string, unknown>>,
  { limits = {}, allowsSingleText = false, violations = [], violationsBefore = [] }: ParseOptions = {},
): SpeechRequest {
  const found = new Violations();
  const take = <Value>({ json, parse }: FieldRow<Value>): Value =>
    parse(fields[json] ?? undefined, (...violation) => found.add(json, ...violation));

  const method = take(speechFields.method);
  const voiceId = take(speechFields.voiceId);
  const isSingleText = allowsSingleText && isGiven(fields.text, false) && !isGiven(fields.text_chunks);
  const chunks = parseTexts(fields, { ...textLimits, ...limits }, method === 'streaming' && !isSingleText, found);
  const request: SpeechRequest = {
    voiceId,
    method,
    chunks,
    chars: chunks.reduce((sum, chunk) => sum + countChars(chunk), 0),
    sampleRateHz: take(speechFields.sampleRateHz),
    languageCode: take(speechFields.languageCode),
    returnFormat: take(speechFields.returnFormat) ?? (method === 'streaming' ? 'buffer' : 'url'),
    format: take(speechFields.format),
    speakingRate: take(speechFields.speakingRate),
    timestamps: take(speechFields.timestamps),
    captions: take(speechFields.captions),
    ...(isSingleText && method === 'streaming' && { isSingleText: true }),
  };
  const isLinked = method === 'rest' && request.returnFormat === 'url';
  if (request.captions.length > 0 && !isLinked)
    found.add('captions', 'conflict', 'are for method rest with return_format url; leave them out');
  found.throwIfAny(violationsBefore, violations);
  return request;
}

/** The field that the texts of the request came in. */
export const textFieldOf = ({ method, isSingleText }: SpeechRequest): string =>
  (method === 'rest' || isSingleText ? textFields.text : textFields.chunks).json;

const isGiven = (value: unknown, isEmptyAbsent = true): boolean =>
  (value ?? undefined) !== undefined && !(isEmptyAbsent && value === '') && !(Array.isArray(value) && !value.length);

/** What is wrong with a request. Texts that are too long are a failure of their own where nothing else is wrong. */
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
    const [first] = this.#tooLong;
    const tooLong = this.#tooLong.map(({ field, reason, message }) => ({ field, reason, message }));
    const details = [...before, ...this.#violations, ...tooLong, ...after];
    if (first && details.length === tooLong.length) {
      const message = `${first.field} ${first.message}; ${remedyFor(first.field)}`;
      throw new Failure('text_too_long', { message, limit: first.limit, actual: first.actual, details });
    }
    if (details.length > 0) throw new Failure('invalid_request', { details });
  }
}

function remedyFor(field: string): string {
  if (field === textFields.text.json) return 'split it, or send it in streaming mode as text_chunks';
  if (field === textFields.chunks.json) return 'send the rest in another request';
  return `split it into several of ${textFields.chunks.json}`;
}

function parseTexts(
  fields: Readonly<Record<string, unknown>>,
  limits: TextLimits,
  isList: boolean,
  found: Violations,
): string[] {
  const [used, other] = isList ? [textFields.chunks, textFields.text] : [textFields.text, textFields.chunks];
  const given = fields[used.json] ?? undefined;
  const texts = isList ? parseChunks(given, limits, found) : checkText(used.json, given, limits.charsMax, found);
  if (isGiven(fields[other.json])) {
    const message = `method ${isList ? 'streaming' : 'rest'} takes ${used.json}; leave out ${other.json}`;
    found.add(other.json, 'conflict', message);
  }
  return texts;
}

function parseChunks(given: unknown, limits: TextLimits, found: Violations): string[] {
  const field = textFields.chunks.json;
  const report: ReportViolation = (reason, message) => found.add(field, reason, message);
  if (!isGiven(given, false)) {
    report('required', 'give the texts to speak, at least one');
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
  const chunks = given.flatMap((chunk, i) => checkText(`${field}[${i}]`, chunk, chunkCharsMax, found));
  const total = chunks.reduce((sum, chunk) => sum + countChars(chunk), 0);
  if (total > totalCharsMax) {
    const message = `have ${total} characters together, over the limit of ${totalCharsMax}`;
    found.addTooLong(field, totalCharsMax, total, message);
  }
  return chunks;
}

/** The value as a list of one text; violations are reported. */
function checkText(field: string, value: unknown, charsMax: number, found: Violations): string[] {
  if (typeof value !== 'string') {
    if (value === undefined) found.add(field, 'required', 'give the text to speak');
    else found.add(field, 'type', 'must be a string');
    return [];
  }
  if (!value.isWellFormed()) found.add(field, 'encoding', 'holds half of a surrogate pair; send valid Unicode');
  if (value.includes('\0')) found.add(field, 'encoding', 'holds a NUL character');
  if (value.trim() === '') found.add(field, 'blank', 'must hold something besides white space');
  const chars = countChars(value);
  if (chars > charsMax)
    found.addTooLong(field, charsMax, chars, `has ${chars} characters, over the limit of ${charsMax}`);
  return [value];
}
