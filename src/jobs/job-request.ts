// A request for a job, checked: which fields it may have, and every violation at once. Fields of speech have the rules of any
// request for speech (speech/fields.ts), and are stored as they were sent.
import { Failure, type FieldReason, type FieldViolation } from '../errors.ts';
import { inSteps, type Steps } from '../runtime/steps.ts';
import { speechFields } from '../speech/fields.ts';
import { parseSpeechRequest, type SpeechRequest } from '../speech/request.ts';
import { countChars } from '../text/count-chars.ts';
import { isSsml } from '../text/ssml.ts';
import { webhookUrlCharsMax } from '../webhooks/webhook.ts';
import { isCover } from './cover.ts';
import {
  chapterGapSeconds,
  chapterTitleCharsMax,
  coverBytesMax,
  jobChaptersMax,
  jobCharsMax,
  jobKeepHoursMax,
  metadataMax,
  ssmlCharsMax,
} from './limits.ts';
import { divideText, type TextPart } from './text-parts.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface JobSettings {
  /** Fields of speech, as they were sent, under their JSON names. */
  speech: Fields;
  gapSeconds: number;
  keepHours: number | undefined;
  webhookUrl: string | undefined;
  metadata: Readonly<Record<string, string>>;
  /** A picture, JPEG or PNG, in base64. */
  cover: string | undefined;
}

export interface JobRequest {
  settings: JobSettings;
  /** Of the whole, without a text. */
  speech: SpeechRequest;
  chapters: readonly ChapterRequest[];
  chars: number;
}

export interface ChapterRequest {
  title: string;
  /** What of it differs from the job's. */
  speech: Fields;
  parts: readonly (TextPart & { chars: number })[];
  chars: number;
  /** Where a field that counts for it was sent: in the chapter, or in the job. */
  nameOf(field: string): string;
}

const ofOneRequest: readonly string[] = ['method', 'return_format', 'timestamps'];
/** The fields of speech that a job may have, and those that a chapter may have. */
export const jobSpeechNames = Object.values(speechFields)
  .map(({ json }) => json)
  .filter((name) => !ofOneRequest.includes(name));
const chapterSpeechNames = ['voice_id', 'language_code'];
export const jobFieldNames: readonly string[] = [
  ...jobSpeechNames,
  'text',
  'ssml',
  'chapters',
  'chapter_gap_seconds',
  'webhook_url',
  'keep_hours',
  'metadata',
  'cover',
];
export const chapterFieldNames: readonly string[] = ['title', 'text', 'ssml', ...chapterSpeechNames];

const toRequest = (fields: Fields): SpeechRequest =>
  parseSpeechRequest({ ...fields, method: 'rest', return_format: 'url' }, { limits: { charsMax: ssmlCharsMax } });

/** The request for speech of a part of a chapter. */
export const toPartRequest = (ofJob: Fields, ofChapter: Fields, text: string): SpeechRequest =>
  toRequest({ ...ofJob, ...ofChapter, text });

/** The job that `fields` describe, or a Failure with every violation in them. */
export const parseJobRequest = (fields: Fields, faults: readonly FieldViolation[] = []): Promise<JobRequest> =>
  inSteps(readJobRequest(fields, faults));

function* readJobRequest(fields: Fields, faults: readonly FieldViolation[]): Steps<JobRequest> {
  const violations: FieldViolation[] = [...faults];
  const report: Report = (field, reason, message, allowed) =>
    void violations.push({ field, reason, message, ...(allowed && { allowed }) });
  const speech = pick(fields, jobSpeechNames);
  const settings: JobSettings = {
    speech,
    gapSeconds:
      takeNumber(fields, 'chapter_gap_seconds', { min: 0, max: chapterGapSeconds.max }, report) ??
      chapterGapSeconds.fallback,
    keepHours: takeNumber(fields, 'keep_hours', { min: 1, max: jobKeepHoursMax }, report),
    webhookUrl: takeWebhookUrl(fields.webhook_url ?? undefined, report),
    metadata: takeMetadata(fields.metadata ?? undefined, report),
    cover: takeCover(fields.cover ?? undefined, report),
  };
  const ofWhole = parseSpeech({ ...speech, text: 'a' }, (field, ...rest) => field !== 'text' && report(field, ...rest));
  const given = takeChapters(fields, report);
  checkSize(given);
  // How texts are marked says nothing of documents.
  const ofDocument = given.every(isDocumentGiven) ? speech : { ...speech, markup: null };
  const chapters: ChapterRequest[] = [];
  for (const [i, chapter] of given.entries()) {
    const nameOf = at(fields, i);
    if (isDocumentGiven(chapter)) chapters.push(parseDocument(chapter, ofDocument, nameOf, report));
    else chapters.push(yield* parseChapter(chapter, speech, ofWhole, nameOf, report));
    yield;
  }
  const distinct = [...Map.groupBy(violations, ({ field, reason }) => `${field} ${reason}`).values()].map(
    ([each]) => each!,
  );
  if (distinct.length > 0 || !ofWhole) throw new Failure('invalid_request', { details: distinct });
  const chars = chapters.reduce((sum, chapter) => sum + chapter.chars, 0);
  return { settings, speech: ofWhole, chapters, chars };
}

type Report = (field: string, reason: FieldReason, message: string, allowed?: FieldViolation['allowed']) => void;

const pick = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(
    names.flatMap((name) => ((fields[name] ?? undefined) === undefined ? [] : [[name, fields[name]]])),
  );

/** Where a field of a chapter was sent. */
const at =
  ({ chapters }: Fields, i: number) =>
  (name: string) =>
    chapters === undefined || chapters === null ? name : `chapters[${i}].${name}`;

const isDocumentGiven = ({ ssml }: Fields): boolean => (ssml ?? '') !== '';

function takeChapters(fields: Fields, report: Report): Fields[] {
  const chapters = fields.chapters ?? undefined;
  const hasText = (fields.text ?? undefined) !== undefined || isDocumentGiven(fields);
  if (hasText && chapters !== undefined) report('chapters', 'conflict', 'send one of text, ssml and chapters');
  else if (hasText) return [{ text: fields.text, ssml: fields.ssml }];
  else if (chapters === undefined) report('chapters', 'required', 'send chapters, or one text or ssml');
  else if (!Array.isArray(chapters)) report('chapters', 'type', 'must be an array of objects');
  else if (chapters.length < 1 || chapters.length > jobChaptersMax)
    report('chapters', 'length', `must be 1 to ${jobChaptersMax} chapters`);
  else if (chapters.some((each) => typeof each !== 'object' || each === null || Array.isArray(each)))
    report('chapters', 'type', 'must be an array of objects');
  else return chapters;
  return [];
}

/** Before the text is looked at. */
function checkSize(chapters: readonly Fields[]): void {
  const charsOf = (text: unknown) => (typeof text === 'string' ? countChars(text) : 0);
  const actual = chapters.reduce((sum, { text, ssml }) => sum + charsOf(text) + charsOf(ssml), 0);
  if (actual <= jobCharsMax) return;
  const message = `has ${actual} code points, over the limit of ${jobCharsMax}`;
  const details: FieldViolation[] = [{ field: 'text', reason: 'too_long', message }];
  throw new Failure('text_too_long', { message: `The text ${message}.`, limit: jobCharsMax, actual, details });
}

type NameOf = ChapterRequest['nameOf'];

/** A chapter whose text is in `ssml`, stored as any text that is a document. */
function parseDocument(chapter: Fields, ofJob: Fields, nameOf: NameOf, report: Report): ChapterRequest {
  const own = pick(chapter, chapterSpeechNames);
  const { text, ssml } = chapter;
  const reportOwn: Report = (field, ...rest) => {
    const isOwn = ['text', 'ssml'].includes(field) || Object.hasOwn(own, field);
    if (isOwn || field === 'markup') report(isOwn ? nameOf(field) : field, ...rest);
  };
  const chars = parseSpeech({ ...ofJob, ...own, text, ssml }, reportOwn, nameOf)?.chars ?? 0;
  return {
    title: takeTitle(chapter, nameOf, report),
    speech: { ...own, markup: 'ssml' },
    parts: [{ offset: 0, text: String(ssml), chars }],
    chars,
    nameOf: (field) => (field === 'text' ? nameOf('ssml') : Object.hasOwn(own, field) ? nameOf(field) : field),
  };
}

function takeTitle(chapter: Fields, nameOf: NameOf, report: Report): string {
  const title = chapter.title ?? '';
  if (typeof title !== 'string') report(nameOf('title'), 'type', 'must be a string');
  else if (countChars(title) > chapterTitleCharsMax || title.includes('\0'))
    report(nameOf('title'), 'length', `must be at most ${chapterTitleCharsMax} characters, without NUL`);
  return String(title);
}

function* parseChapter(
  chapter: Fields,
  ofJob: Fields,
  whole: SpeechRequest | undefined,
  nameOf: NameOf,
  report: Report,
): Steps<ChapterRequest> {
  const text = chapter.text ?? undefined;
  const title = takeTitle(chapter, nameOf, report);
  const own = pick(chapter, chapterSpeechNames);
  const ownName = (field: string) => (field === 'text' || Object.hasOwn(own, field) ? nameOf(field) : field);
  const none = { title: '', speech: own, parts: [], chars: 0, nameOf: ownName };
  if (text === undefined) report(nameOf('text'), 'required', 'give the text to speak');
  else if (typeof text !== 'string') report(nameOf('text'), 'type', 'must be a string');
  if (typeof text !== 'string' || !whole) return none;
  const isDocument = whole.markup === 'ssml' && isSsml(text);
  // A document in the middle of a text is none, also where a part begins with it.
  const speech = whole.markup === 'ssml' && !isDocument ? { ...own, markup: null } : own;
  const reportOwn: Report = (field, ...rest) => {
    if (field === 'text' || Object.hasOwn(speech, field)) report(nameOf(field), ...rest);
  };
  const parts: ChapterRequest['parts'][number][] = [];
  // A blank text is refused by the rules of any text.
  for (const part of isDocument || text.trim() === '' ? [{ offset: 0, text }] : divideText(text)) {
    const request = parseSpeech({ ...ofJob, ...speech, text: part.text }, reportOwn, nameOf);
    if (request) parts.push({ ...part, chars: request.chars });
    yield;
  }
  return { title, speech, parts, chars: parts.reduce((sum, { chars }) => sum + chars, 0), nameOf: ownName };
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

/** A document is not divided, so that it may be too long though the job is not. */
function tooLong({ facts: { limit = ssmlCharsMax, actual = limit }, cause }: Failure, field: string): Failure {
  const message = `has ${actual} code points in one SSML document, over the limit of ${limit}`;
  const details: FieldViolation[] = [{ field, reason: 'too_long', message }];
  const advice = `The ${field} ${message}; divide it into several chapters.`;
  return new Failure('text_too_long', { message: advice, limit, actual, details }, cause);
}

function takeNumber(fields: Fields, name: string, { min, max }: { min: number; max: number }, report: Report) {
  const given = fields[name] ?? undefined;
  if (given === undefined) return undefined;
  if (typeof given !== 'number') report(name, 'type', 'must be a number');
  else if (!(given >= min && given <= max)) report(name, 'range', `must be ${min} to ${max}`);
  else return given;
  return undefined;
}

function takeWebhookUrl(given: unknown, report: Report): string | undefined {
  if (given === undefined) return undefined;
  const url = typeof given === 'string' && given.length <= webhookUrlCharsMax ? URL.parse(given) : null;
  const isUsable = url && ['http:', 'https:'].includes(url.protocol) && url.username === '' && url.password === '';
  if (isUsable) return url.href;
  report('webhook_url', 'format', 'must be an http or https URL without a name and a password');
  return undefined;
}

function takeMetadata(given: unknown, report: Report): Readonly<Record<string, string>> {
  if (given === undefined) return {};
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const entries = isObject ? Object.entries(given) : [];
  const { entries: countMax, nameChars, valueChars } = metadataMax;
  const fits = ([name, value]: [string, unknown]) =>
    typeof value === 'string' &&
    name.length <= nameChars &&
    value.length <= valueChars &&
    !`${name}${value}`.includes('\0');
  if (isObject && entries.length <= countMax && entries.every(fits)) return Object.fromEntries(entries);
  const message = `must be an object of at most ${countMax} strings, each of at most ${valueChars} characters, with names of at most ${nameChars}`;
  report('metadata', isObject ? 'length' : 'type', message);
  return {};
}

function takeCover(given: unknown, report: Report): string | undefined {
  if (given === undefined) return undefined;
  const isSmall = typeof given === 'string' && given.length <= Math.ceil(coverBytesMax / 3) * 4;
  if (isSmall && /^[A-Za-z0-9+/]+={0,2}$/.test(given) && isCover(Buffer.from(given, 'base64'))) return given;
  report('cover', 'format', `must be a whole JPEG or PNG picture in base64, at most ${coverBytesMax} bytes`);
  return undefined;
}
