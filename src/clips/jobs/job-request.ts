// Parses the request for a job. The shape and range of fields have already been checked; texts, the cover, the
// webhook and the speech fields are checked here. The speech fields are stored unchanged.
import {
  type ChapterInput,
  type CreateJobRequest,
  CreateJobRequestSchema,
} from '../../../gen/sonant/v1/job_service_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../../gen/sonant/v1/speech_pb.ts';
import { type Violations, writeMessage } from '../../contract.ts';
import { countChars, cutText, positionIn } from '../../platform/count-chars.ts';
import { Failure, type FieldReason, type FieldViolation } from '../../platform/errors.ts';
import { inSteps, type Steps } from '../../platform/runtime/steps.ts';
import { readRequest, type SpeechRequest } from '../../speech.ts';
import { isSsml } from '../../text.ts';
import {
  chapterGapSecondsDefault,
  coverBytesMax,
  jobChaptersMax,
  jobCharsMax,
  metadataValueCharsMax,
  partCharsMax,
  ssmlCharsMax,
} from './job-limits.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface JobSettings {
  /** Speech fields as sent, by JSON name. */
  speech: Fields;
  gapSeconds: number;
  keepHours: number | undefined;
  disclosure: 'start' | 'chapters' | undefined;
  webhookUrl: string | undefined;
  metadata: Readonly<Record<string, string>>;
  /** A JPEG or PNG picture in base64. */
  cover: string | undefined;
}

export interface JobRequest {
  settings: JobSettings;
  /** The speech request that all chapters share, without their texts. */
  speech: SpeechRequest;
  chapters: readonly ChapterRequest[];
  chars: number;
}

export interface ChapterRequest {
  title: string;
  /** Speech fields that differ from the speech fields of the job. */
  speech: Fields;
  parts: readonly JobPart[];
  chars: number;
  /** Returns the path of a field of this chapter in the request: in the chapter or in the job. */
  nameOf(field: string): string;
}

/** Names of the speech fields that a job may have. */
const jobSpeechNames = SynthesizeSpeechRequestSchema.fields
  .map(({ name }) => name)
  .filter((name) => !['text', 'ssml'].includes(name) && CreateJobRequestSchema.fields.some((own) => own.name === name));

const toRequest = (fields: Fields): SpeechRequest =>
  readRequest(SynthesizeSpeechRequestSchema, fields, { limits: { charsMax: ssmlCharsMax } }).request;

/** Returns the speech request for one part of a chapter. Without a text, returns a request for no text. */
export function toPartRequest(ofJob: Fields, ofChapter: Fields, text?: string): SpeechRequest {
  const request = toRequest({ ...ofJob, ...ofChapter, text: text ?? 'a' });
  return text === undefined ? { ...request, texts: [], chars: 0 } : request;
}

/** Reads the job in the message. Reports violations; the result can be undefined only if there are violations. */
export const readJobRequest = (message: CreateJobRequest, violations: Violations): Promise<JobRequest | undefined> =>
  inSteps(readSteps(message, violations));

function* readSteps(message: CreateJobRequest, violations: Violations): Steps<JobRequest | undefined> {
  const report: Report = (field, reason, message, allowed) =>
    violations.report(field, reason, message, allowed ? { allowed } : {});
  const fields = writeMessage(CreateJobRequestSchema, message);
  const speech = Object.fromEntries(
    jobSpeechNames.flatMap((name) => (isGiven(fields[name]) ? [[name, fields[name]]] : [])),
  );
  const settings: JobSettings = {
    speech,
    gapSeconds: message.chapterGapSeconds ?? chapterGapSecondsDefault,
    keepHours: message.keepHours,
    disclosure: [undefined, 'start', 'chapters'][message.disclosure] as JobSettings['disclosure'],
    webhookUrl: message.webhookUrl === '' ? undefined : takeWebhookUrl(message.webhookUrl, report),
    metadata: message.metadata,
    cover: message.cover.length === 0 ? undefined : takeCover(message.cover, report),
  };
  const ofWhole = parseSpeech({ ...speech, text: 'a' }, (field, ...rest) => field !== 'text' && report(field, ...rest));
  const given = takeChapters(message, violations);
  checkSize(given);
  // If a job has plain texts, its `markup` describes these texts and does not apply to the SSML documents.
  const ofDocument = given.every(({ ssml }) => ssml !== '') ? speech : { ...speech, markup: null };
  const chapters: ChapterRequest[] = [];
  for (const [i, chapter] of given.entries()) {
    const nameOf = (name: string) => (message.chapters.length > 0 ? `chapters[${i}].${name}` : name);
    if (chapter.ssml !== '') chapters.push(parseDocument(chapter, ofDocument, nameOf, report));
    // A chapter whose `ssml` could not be read needs no `text`.
    else if (!violations.has(nameOf('ssml')))
      chapters.push(yield* parseChapter(chapter, speech, ofWhole, nameOf, report));
    yield;
  }
  const chars = chapters.reduce((sum, chapter) => sum + chapter.chars, 0);
  return ofWhole && { settings, speech: ofWhole, chapters, chars };
}

type Report = (field: string, reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

const isGiven = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);

type Chapter = Pick<ChapterInput, 'title' | 'text' | 'ssml' | 'voiceId' | 'languageCode'>;

function takeChapters({ chapters, text, ssml }: CreateJobRequest, violations: Violations): readonly Chapter[] {
  const hasText = text !== '' || ssml !== '';
  if (hasText && chapters.length > 0)
    violations.report('chapters', 'conflict', 'must be the only one of text, ssml and chapters');
  else if (hasText) return [{ title: '', text, ssml, voiceId: '' }];
  else if (chapters.length > 0) return chapters.length > jobChaptersMax ? [] : chapters;
  else if (!violations.has('text') && !violations.has('ssml'))
    violations.report('chapters', 'required', 'are required unless text or ssml is sent');
  return [];
}

/** Checks the total size before any text is parsed. */
function checkSize(chapters: readonly Chapter[]): void {
  const actual = chapters.reduce((sum, { text, ssml }) => sum + countChars(text) + countChars(ssml), 0);
  if (actual <= jobCharsMax) return;
  const message = `has ${actual} code points, over the limit of ${jobCharsMax}`;
  const details: FieldViolation[] = [{ field: 'text', reason: 'too_long', message }];
  throw new Failure('text_too_long', { message: `The text ${message}.`, limit: jobCharsMax, actual, details });
}

type NameOf = ChapterRequest['nameOf'];

/** Speech fields that the chapter itself sets. */
const ownSpeechOf = ({ voiceId, languageCode }: Chapter): Fields => ({
  ...(voiceId !== '' && { voice_id: voiceId }),
  ...(languageCode !== undefined && { language_code: languageCode }),
});

/** Parses a chapter with `ssml`. The chapter is stored like a chapter whose `text` is an SSML document. */
function parseDocument(chapter: Chapter, ofJob: Fields, nameOf: NameOf, report: Report): ChapterRequest {
  const own = ownSpeechOf(chapter);
  const { title, text, ssml } = chapter;
  const reportOwn: Report = (field, ...rest) => {
    const isOwn = ['text', 'ssml'].includes(field) || Object.hasOwn(own, field);
    if (isOwn || field === 'markup') report(isOwn ? nameOf(field) : field, ...rest);
  };
  const request = parseSpeech({ ...ofJob, ...own, text, ssml }, reportOwn, nameOf);
  return {
    title,
    speech: { ...own, markup: 'ssml' },
    parts: request ? [{ offset: 0, text: ssml, request }] : [],
    chars: request?.chars ?? 0,
    nameOf: (field) => (field === 'ssml' || Object.hasOwn(own, field) ? nameOf(field) : field),
  };
}

function* parseChapter(
  chapter: Chapter,
  ofJob: Fields,
  whole: SpeechRequest | undefined,
  nameOf: NameOf,
  report: Report,
): Steps<ChapterRequest> {
  const { title, text } = chapter;
  const own = ownSpeechOf(chapter);
  const ownName = (field: string) => (field === 'text' || Object.hasOwn(own, field) ? nameOf(field) : field);
  if (text === '') report(nameOf('text'), 'required', 'is required');
  if (text === '' || !whole) return { title: '', speech: own, parts: [], chars: 0, nameOf: ownName };
  const isDocument = whole.markup === 'ssml' && isSsml(text);
  // SSML within a text is plain text, even if one of the parts begins like an SSML document.
  const speech = whole.markup === 'ssml' && !isDocument ? { ...own, markup: null } : own;
  const reportOwn: Report = (field, ...rest) => {
    if (field === 'text' || Object.hasOwn(speech, field)) report(nameOf(field), ...rest);
  };
  const parts: JobPart[] = [];
  // A blank text is not divided, because `parseSpeech` reports it.
  for (const part of isDocument || text.trim() === '' ? [{ offset: 0, text }] : divideText(text)) {
    const reportPart: Report = (field, reason, message, allowed) =>
      reportOwn(field, reason, inWhole(message, text, part.offset), allowed);
    const request = parseSpeech({ ...ofJob, ...speech, text: part.text }, reportPart, nameOf);
    if (request) parts.push({ ...part, request });
    yield;
  }
  return { title, speech, parts, chars: parts.reduce((sum, { request }) => sum + request.chars, 0), nameOf: ownName };
}

/** Replaces the position in a part, such as in "line 1, column 5: ...", with the position in the chapter. */
function inWhole(message: string, text: string, offset: number): string {
  const start = positionIn(text, offset);
  return message.replace(/^line (\d+), column (\d+)/, (_, line, column) =>
    line === '1'
      ? `line ${start.line}, column ${start.column + Number(column) - 1}`
      : `line ${start.line + Number(line) - 1}, column ${column}`,
  );
}

function parseSpeech(fields: Fields, report: Report, nameOf = (field: string) => field): SpeechRequest | undefined {
  try {
    return toRequest(fields);
  } catch (error) {
    if (!(error instanceof Failure) || !error.facts.details) throw error;
    if (error.reason === 'text_too_long') throw tooLong(error, nameOf(error.facts.details[0]?.field ?? 'text'));
    for (const { field, reason, message, allowed } of error.facts.details) report(field, reason, message, allowed);
    return undefined;
  }
}

/** Returns the failure for an SSML document that is too long. Unlike plain text, a document cannot be divided. */
function tooLong({ facts: { limit = ssmlCharsMax, actual = limit }, cause }: Failure, field: string): Failure {
  const message = `has ${actual} code points in one SSML document, over the limit of ${limit}`;
  const details: FieldViolation[] = [{ field, reason: 'too_long', message }];
  const advice = `The ${field} ${message}. Divide it into several chapters.`;
  return new Failure('text_too_long', { message: advice, limit, actual, details }, cause);
}

function takeWebhookUrl(given: string, report: Report): string | undefined {
  const url = URL.parse(given);
  const isUsable = url && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === '';
  if (isUsable) return url.href;
  report('webhook_url', 'format', 'must be an http or https URL without user name and password');
  return undefined;
}

function takeCover(given: Uint8Array, report: Report): string | undefined {
  if (isCover(given)) return Buffer.from(given).toString('base64');
  report('cover', 'format', `must be a complete JPEG or PNG image of at most ${coverBytesMax} bytes`);
  return undefined;
}

const pngStart = Buffer.from('89504e470d0a1a0a', 'hex');
const pngEnd = Buffer.from('0000000049454e44ae426082', 'hex');
const jpegStart = Buffer.from('ffd8', 'hex');
const jpegEnd = Buffer.from('ffd9', 'hex');
/** Length of the tail that is searched for a picture's end mark. Some programs append NUL bytes and line breaks. */
const slackBytes = 64;

/** Whether the picture has a start, a size in pixels and an end, and is small enough for a job. */
function isCover(bytes: Uint8Array): boolean {
  if (bytes.length > coverBytesMax) return false;
  const picture = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const tail = picture.subarray(-slackBytes);
  if (picture.subarray(0, pngStart.length).equals(pngStart)) return hasPngSize(picture) && tail.includes(pngEnd);
  return picture.subarray(0, jpegStart.length).equals(jpegStart) && hasJpegSize(picture) && tail.includes(jpegEnd);
}

/** Checks the header of a PNG, which is the first chunk: length, name, width, height. */
const hasPngSize = (picture: Buffer): boolean =>
  picture.length > 24 &&
  picture.toString('latin1', 12, 16) === 'IHDR' &&
  picture.readUInt32BE(16) > 0 &&
  picture.readUInt32BE(20) > 0;

/** Searches a JPEG for the header of its frame: length, bits, height, width. */
function hasJpegSize(picture: Buffer): boolean {
  for (let at = 2; at + 9 < picture.length; ) {
    if (picture[at] !== 0xff) return false;
    const marker = picture[at + 1]!;
    if (marker === 0xff) at++;
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return picture.readUInt16BE(at + 5) > 0 && picture.readUInt16BE(at + 7) > 0;
    else at += 2 + picture.readUInt16BE(at + 2);
  }
  return false;
}

interface BookFacts {
  title: string;
  author: string;
  /** Its members are texts. */
  metadata: object;
  cover?: { bytes: Uint8Array } | undefined;
}

/** The fields of a book as a job accepts them: long values are cut, and an unsuitable cover is left out. */
export function toJobFields({ title, author, metadata, cover }: BookFacts) {
  const known = Object.entries({ title, author, ...metadata }).filter(([, value]) => value !== '');
  return {
    metadata: Object.fromEntries(known.map(([name, value]) => [name, cutText(value, metadataValueCharsMax)])),
    cover: cover && isCover(cover.bytes) ? cover.bytes : undefined,
  };
}

/** A part of a chapter as it was sent, and the request to speak it. */
export interface JobPart extends TextPart {
  request: SpeechRequest;
}

interface TextPart {
  /** Position in the text, in code points. */
  offset: number;
  text: string;
}

/** Patterns for the end of a part, best first. Each pattern matches up to the start of the next part. */
const ends = [/\r?\n[^\S\n]*\r?\n\s*/g, /[.!?…。！？][\p{Pe}\p{Pf}"']*\s+/gu, /\n\s*/g, /\s+/g];
const written = /\S/g;

/** Index of the next character that is not white space, or the end of the text. */
function nextWritten(text: string, from: number): number {
  written.lastIndex = from;
  return written.exec(text)?.index ?? text.length;
}

export function* divideText(text: string, charsMax: number = partCharsMax): Generator<TextPart> {
  let offset = 0;
  for (let from = 0; from < text.length; ) {
    // Neither the part nor the rest may be blank, because a blank text cannot be spoken.
    const begin = nextWritten(text, from);
    const end = endOfPart(text, begin, charsMax);
    const to = nextWritten(text, end) === text.length ? text.length : end;
    const part = text.slice(from, to);
    yield { offset, text: part };
    offset += countChars(part);
    from = to;
  }
}

function endOfPart(text: string, from: number, charsMax: number): number {
  if (text.length - from <= charsMax) return text.length;
  const window = text.slice(from, from + charsMax);
  for (const end of ends) {
    const at = [...window.matchAll(end)].at(-1);
    const length = at ? at.index + at[0].length : 0;
    if (length > charsMax / 2 && length < charsMax) return from + length;
  }
  return from + cutText(window, charsMax).length;
}

/**
 * Returns the time at which a job that ends now is deleted. The time is rounded to milliseconds, because `keep_hours`
 * may be a fraction. If the job states no `keep_hours`, `keepMs` applies.
 */
export const expiryOf = ({ keepHours }: Pick<JobSettings, 'keepHours'>, nowMs: number, keepMs: number): number =>
  Math.round(nowMs + (keepHours === undefined ? keepMs : keepHours * 3_600_000));
