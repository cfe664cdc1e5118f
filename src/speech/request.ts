// What is asked of the heart, checked. `parseSpeechRequest` takes the fields under their names in the JSON contract
// (README: the API in one table), reports every fault at once, and coerces nothing: a number in quotes is a fault.
import { type FormatName, formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { countChars } from '../text/chars.ts';
import { toLanguageCode } from '../text/language-code.ts';

/** The forms in which captions are written. */
export const captionKinds = ['srt', 'vtt'] as const;
export type CaptionKind = (typeof captionKinds)[number];

export interface SpeechRequest {
  voiceId: string;
  method: 'rest' | 'streaming';
  /** The texts to speak, one after the other; a `rest` request has one. */
  chunks: readonly string[];
  /** Unicode code points of all chunks: what is counted and charged. */
  chars: number;
  sampleRateHz: number;
  /** Canonical BCP-47. */
  languageCode: string;
  returnFormat: 'url' | 'buffer';
  format: FormatName;
  speakingRate: number;
  timestamps: boolean;
  /** For a link to a whole text: in which forms there shall be captions. */
  captions: readonly CaptionKind[];
}

/** Who was admitted: whose turn it is, and who is charged. */
export interface Caller {
  callerId: string;
  /** The voices that it may speak with; undefined for all. */
  voiceIds?: readonly string[];
}

export interface TextLimits {
  charsMax: number;
  chunksMax: number;
  chunkCharsMax: number;
  totalCharsMax: number;
}

/** What one request over the wire may ask for. */
export const requestLimits: TextLimits = { charsMax: 5000, chunksMax: 200, chunkCharsMax: 5000, totalCharsMax: 50_000 };

const methods = ['rest', 'streaming'] as const;
const returnFormats = ['url', 'buffer'] as const;
const timestampKinds = ['word'] as const;
/** The language of a text where none is told. */
export const languageCodeUsual = 'en-US';

export const voiceIdCharsMax = 128;
export const speakingRates = { min: 0.25, max: 4 };

/** The request that `fields` describe, or a Failure with every fault in them. */
export function parseSpeechRequest(
  fields: Readonly<Record<string, unknown>>,
  limitsAsked: Partial<TextLimits> = {},
): SpeechRequest {
  const limits = { ...requestLimits, ...limitsAsked };
  const faults: FieldViolation[] = [];
  const fault = (field: string, reason: string, message: string) => {
    faults.push({ field, reason, message });
    return undefined;
  };
  const take = (field: string) => fields[field] ?? undefined;

  const choose = <T>(field: string, allowed: readonly T[], fallback: T): T => {
    const value = take(field);
    if (value === undefined) return fallback;
    if (!allowed.includes(value as T)) fault(field, 'enum', `must be one of ${allowed.join(', ')}`);
    return value as T;
  };

  const method = choose('method', methods, 'rest');
  const voiceId = parseVoiceId(take('voice_id'), fault);
  const tooLong: TooLong[] = [];
  const streaming = method === 'streaming';
  const chunks = streaming
    ? parseChunks(take('text_chunks'), limits, fault, tooLong)
    : parseText(take('text'), limits, fault, tooLong);
  const [used, other] = streaming ? ['text_chunks', 'text'] : ['text', 'text_chunks'];
  if (isGiven(take(other))) fault(other, 'conflict', `method ${method} takes ${used}; leave out ${other}`);

  const request: SpeechRequest = {
    voiceId,
    method,
    chunks,
    chars: chunks.reduce((sum, chunk) => sum + countChars(chunk), 0),
    sampleRateHz: choose('sample_rate', outputSampleRatesHz, 44100),
    languageCode: parseLanguage(take('language_code'), fault),
    returnFormat: choose('return_format', returnFormats, 'url'),
    format: choose('output_format', formatNames, 'wav'),
    speakingRate: parseSpeakingRate(take('speaking_rate'), fault),
    timestamps: choose<string | undefined>('timestamps', timestampKinds, undefined) !== undefined,
    captions: parseCaptions(take('captions'), fault),
  };
  const isLinked = method === 'rest' && request.returnFormat === 'url';
  if (request.captions.length > 0 && !isLinked)
    fault('captions', 'conflict', 'are for method rest with return_format url; leave them out');
  const first = tooLong[0];
  if (faults.length === 0 && first) {
    const message = `${first.field} ${first.message}; split it, or send it in streaming mode as text_chunks`;
    throw new Failure('text_too_long', {
      message,
      limit: first.limit,
      actual: first.actual,
      details: tooLong.map(toViolation),
    });
  }
  if (faults.length > 0) throw new Failure('invalid_request', { details: [...faults, ...tooLong.map(toViolation)] });
  return request;
}

type Fault = (field: string, reason: string, message: string) => undefined;

interface TooLong {
  field: string;
  limit: number;
  actual: number;
  message: string;
}

const toViolation = ({ field, message }: TooLong): FieldViolation => ({ field, reason: 'too_long', message });

const isGiven = (value: unknown): boolean =>
  value !== undefined && !(Array.isArray(value) && value.length === 0) && value !== '';

function parseVoiceId(value: unknown, fault: Fault): string {
  if (value === undefined) fault('voice_id', 'required', 'name the voice to speak with');
  else if (typeof value !== 'string') fault('voice_id', 'type', 'must be a string');
  else if (value === '' || countChars(value) > voiceIdCharsMax)
    fault('voice_id', 'length', `must be 1 to ${voiceIdCharsMax} characters`);
  return String(value ?? '');
}

function parseText(value: unknown, limits: TextLimits, fault: Fault, tooLong: TooLong[]): string[] {
  if (value === undefined) {
    fault('text', 'required', 'give the text to speak');
    return [];
  }
  return checkText('text', value, limits.charsMax, fault, tooLong);
}

function parseChunks(value: unknown, limits: TextLimits, fault: Fault, tooLong: TooLong[]): string[] {
  const field = 'text_chunks';
  if (value === undefined || (Array.isArray(value) && value.length === 0)) {
    fault(field, 'required', 'give the texts to speak, at least one');
    return [];
  }
  if (!Array.isArray(value)) {
    fault(field, 'type', 'must be an array of strings');
    return [];
  }
  if (value.length > limits.chunksMax) {
    const message = `has ${value.length} items, over the limit of ${limits.chunksMax}`;
    tooLong.push({ field, limit: limits.chunksMax, actual: value.length, message });
    return [];
  }
  const chunks = value.flatMap((chunk, i) => checkText(`${field}[${i}]`, chunk, limits.chunkCharsMax, fault, tooLong));
  const total = chunks.reduce((sum, chunk) => sum + countChars(chunk), 0);
  if (total > limits.totalCharsMax) {
    const message = `have ${total} characters together, over the limit of ${limits.totalCharsMax}`;
    tooLong.push({ field, limit: limits.totalCharsMax, actual: total, message });
  }
  return chunks;
}

/** `value` as a list of one text; faults are noted. */
function checkText(field: string, value: unknown, charsMax: number, fault: Fault, tooLong: TooLong[]): string[] {
  if (typeof value !== 'string') {
    fault(field, 'type', 'must be a string');
    return [];
  }
  if (!value.isWellFormed()) fault(field, 'encoding', 'holds half of a surrogate pair; send valid Unicode');
  if (value.includes('\0')) fault(field, 'encoding', 'holds a NUL character');
  if (value.trim() === '') fault(field, 'blank', 'must hold something besides white space');
  const chars = countChars(value);
  if (chars > charsMax) {
    tooLong.push({
      field,
      limit: charsMax,
      actual: chars,
      message: `has ${chars} characters, over the limit of ${charsMax}`,
    });
  }
  return [value];
}

function parseCaptions(value: unknown, fault: Fault): readonly CaptionKind[] {
  if (value === undefined) return [];
  const isKnown = (kind: unknown) => captionKinds.includes(kind as CaptionKind);
  if (!Array.isArray(value)) fault('captions', 'type', `must be an array of ${captionKinds.join(', ')}`);
  else if (!value.every(isKnown)) fault('captions', 'enum', `must be one or more of ${captionKinds.join(', ')}`);
  else if (new Set(value).size < value.length) fault('captions', 'duplicate', 'must name each kind once');
  else return value;
  return [];
}

function parseLanguage(value: unknown, fault: Fault): string {
  if (value === undefined) return languageCodeUsual;
  if (typeof value !== 'string') fault('language_code', 'type', 'must be a string');
  else {
    const code = toLanguageCode(value);
    if (code !== undefined) return code;
    fault('language_code', 'format', 'must be a BCP-47 language code such as en-US');
  }
  return '';
}

function parseSpeakingRate(value: unknown, fault: Fault): number {
  if (value === undefined) return 1;
  const { min, max } = speakingRates;
  if (typeof value !== 'number') fault('speaking_rate', 'type', 'must be a number');
  else if (!(value >= min && value <= max)) fault('speaking_rate', 'range', `must be ${min} to ${max}`);
  else return value;
  return 1;
}
