// Reads plain text as a book. Chapters begin at lines with a word for "chapter" in several languages, at ascending
// numbers, or at short separate lines. A list of contents is not a chapter. Project Gutenberg's header and footer
// become front and back matter, and the header states title and author.
import { type Block, breakText } from './block.ts';
import { type Book, bookChaptersMax } from './book.ts';
import { chapterNumberOf, isBareNumber, isChapterTitle, isNumberOnly } from './chapter-titles.ts';
import { type ChapterOptions, type ChapterStart, toChapters, toTitle } from './chapters.ts';
import { partOfTitle } from './part-names.ts';

const titleLinesMax = 3;
const titleLineCharsMax = 80;
/** Maximum number of titles. Each title may occur twice, in the contents and at its chapter. */
const titlesMax = 2 * bookChaptersMax;
const startMark = /^\*\*\* ?START OF TH(?:E|IS) PROJECT GUTENBERG/;
const endMark = /^(?:\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG|End of (?:the )?Project Gutenberg)/;
const rulePattern = /^(?:[*#~•·—–_=-]\s*){1,40}$/;

export function readPlainBook(source: string, options: ChapterOptions): Book {
  const paragraphs = readPlainParagraphs(source.replace(/^\ufeff/, '')).flatMap(splitHeading);
  const from = paragraphs.findIndex(({ lines }) => startMark.test(lines[0]!)) + 1;
  const end = paragraphs.findIndex(({ lines }, at) => at >= from && endMark.test(lines[0]!));
  const to = end < 0 ? paragraphs.length : end;
  const found = findStarts(paragraphs, from, to);
  const headings = new Set(found);
  const blocks = paragraphs.map((paragraph, at) => toBlock(paragraph, headings.has(at)));
  const stated = readHeader(paragraphs.slice(0, from));
  const starts: ChapterStart[] = found.map((at) => ({ at, title: toChapterTitle(paragraphs, at, to) }));
  if (from > 0) starts.push({ at: 0, title: '', part: 'front' });
  const isTitled = found.length > 0 && (found[0] ?? 0) > from;
  if (isTitled || (found.length === 0 && from > 0))
    starts.push({ at: from, title: '', part: isTitled ? 'front' : undefined });
  if (end >= 0) starts.push({ at: end, title: '', part: 'back' });
  const opening = readOpening(paragraphs.slice(from, found[0] ?? to));
  return {
    title: stated.title || opening.title,
    author: stated.author || opening.author,
    language: stated.language,
    metadata: {},
    chapters: toChapters(blocks, starts, options),
    warnings: [],
  };
}

function toBlock(paragraph: PlainParagraph, isHeading: boolean): Block {
  const isRule = paragraph.lines.length === 1 && rulePattern.test(paragraph.lines[0]!);
  const kind = isHeading ? 'heading' : isRule ? 'break' : 'text';
  const text = kind === 'break' ? breakText : joinLines(paragraph);
  return { kind, level: isHeading ? 1 : 0, text, isNote: false, isMain: false };
}

/** Splits a chapter title from the text directly below it. A list of titles is kept together. */
function splitHeading(paragraph: PlainParagraph): PlainParagraph[] {
  const [first, second, ...rest] = paragraph.lines;
  if (second === undefined || !isChapterTitle(first!) || isChapterTitle(second)) return [paragraph];
  if (rest.length < titleLinesMax - 1 && !/[.!?]["'”’»]?$/.test(rest.at(-1) ?? second)) return [paragraph];
  return [
    { lines: [first!], blankBefore: paragraph.blankBefore },
    { lines: [second, ...rest], blankBefore: 0 },
  ];
}

const isShort = ({ lines }: PlainParagraph): boolean =>
  lines.length <= titleLinesMax && lines.every(({ length }) => length <= titleLineCharsMax);

function findStarts(paragraphs: readonly PlainParagraph[], from: number, to: number): number[] {
  const places = paragraphs.flatMap((paragraph, at) => (at >= from && at < to && isShort(paragraph) ? [at] : []));
  const first = (at: number) => paragraphs[at]!.lines[0]!;
  const titled = withoutContents(places.filter((at) => isTitled(paragraphs[at]!)).slice(0, titlesMax), paragraphs);
  if (titled.filter((at) => isChapterTitle(first(at))).length >= 2) return titled.slice(0, bookChaptersMax);
  const numbered = countingUp(
    places.filter((at) => isBareNumber(first(at)) && paragraphs[at]!.lines.length <= 2),
    first,
  );
  if (numbered.length >= 2) return numbered.slice(0, bookChaptersMax);
  const apart = places.filter((at) => isApart(paragraphs, at));
  return apart.length >= 2 ? apart.slice(0, bookChaptersMax) : titled.filter((at) => isChapterTitle(first(at)));
}

/**
 * Whether the paragraph is a title. The lines after a chapter number are the chapter's name, so none of them may be a
 * chapter title itself.
 */
const isTitled = (paragraph: PlainParagraph): boolean => {
  const [first, ...more] = paragraph.lines;
  if (isChapterTitle(first!)) return !more.some(isChapterTitle);
  return isSingle(paragraph) && partOfTitle(first!) !== undefined;
};

const isSingle = ({ lines }: PlainParagraph): boolean => lines.length === 1;

/** A list of contents is three or more consecutive titles that all appear again later. */
function withoutContents(found: readonly number[], paragraphs: readonly PlainParagraph[]): number[] {
  const keyOf = (at: number) =>
    paragraphs[at]!.lines.join(' ')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, '');
  const later = new Map<string, number>();
  for (const at of found) later.set(keyOf(at), at);
  const comesAgain = (at: number) => {
    const key = keyOf(at);
    return [...later].some(([other, last]) => last > at && (other.startsWith(key) || key.startsWith(other)));
  };
  const first = found.findIndex((at) => isChapterTitle(paragraphs[at]!.lines[0]!));
  let end = first;
  while (end >= 0 && end < found.length && comesAgain(found[end]!) && isNextTo(found, end, first)) end++;
  return end - first >= 3 ? found.toSpliced(first, end - first) : [...found];
}

const isNextTo = (found: readonly number[], at: number, first: number): boolean =>
  at === first || found[at]! - found[at - 1]! === 1;

/** Keeps numbers that count up from 1. The count may restart at 1. */
function countingUp(found: readonly number[], textOf: (at: number) => string): number[] {
  const counted: number[] = [];
  let next = 1;
  for (const at of found) {
    const number = chapterNumberOf(textOf(at));
    if (number === undefined || (number !== next && number !== 1)) continue;
    counted.push(at);
    next = number + 1;
  }
  return counted;
}

/** Whether the line stands alone before prose, is short, begins like a title, and has no final punctuation. */
function isApart(paragraphs: readonly PlainParagraph[], at: number): boolean {
  const { lines, blankBefore } = paragraphs[at]!;
  const [line] = lines;
  const after = paragraphs[at + 1];
  if (lines.length > 1 || !after || after.blankBefore === 0 || (at > 0 && blankBefore === 0)) return false;
  if (!/^["'“«(¿¡]?[\p{Lu}\p{N}]/u.test(line!) || /[.,;:!?…"'”»—–-]$/.test(line!) || line!.length > 60) return false;
  return blankBefore >= 2 || line === line!.toUpperCase() || joinLines(after).length > 3 * line!.length;
}

/** Title of a chapter. The chapter's name may follow below its number. */
function toChapterTitle(paragraphs: readonly PlainParagraph[], at: number, to: number): string {
  const title = toTitle(paragraphs[at]!.lines.join('\n'));
  const below = at + 1 < to ? paragraphs[at + 1] : undefined;
  if (!below || !isNumberOnly(title) || !isSingle(below) || !isName(below.lines[0]!)) return title;
  return toTitle(`${title}\n${below.lines[0]!.replace(/\.$/, '')}`);
}

/** Whether the line is short and not a sentence. A full stop at the end is allowed only in an all-caps line. */
const isName = (line: string): boolean =>
  line.length <= 60 &&
  !isChapterTitle(line) &&
  !isBareNumber(line) &&
  !/:\s|[,;:!?”"»]$/.test(line) &&
  (!line.endsWith('.') || line === line.toUpperCase());

/** The languages of Project Gutenberg's books. */
const languageCodes = 'en de fr es it pt nl pl sv da no fi ru el la hu cs zh ja ca eo'.split(' ');

/** Returns the code of a language by its English name in lower case; empty if the name is unknown. */
function languageCodeOf(name: string): string {
  // Loading the names takes long, and most books state no language in this way.
  const nameIn = new Intl.DisplayNames('en', { type: 'language' });
  return languageCodes.find((code) => nameIn.of(code)!.toLowerCase() === name) ?? '';
}

/** Reads the metadata in Project Gutenberg's header. */
function readHeader(paragraphs: readonly PlainParagraph[]): Pick<Book, 'title' | 'author' | 'language'> {
  const lines = paragraphs.flatMap((paragraph) => paragraph.lines);
  const value = (name: string) => {
    const pattern = new RegExp(`^${name}:\\s*(.+)$`, 'i');
    return toTitle(lines.map((line) => pattern.exec(line)?.[1]).find((found) => found) ?? '');
  };
  const language = value('Language').toLowerCase();
  return {
    title: value('Title'),
    author: value('Author'),
    language: language && languageCodeOf(language),
  };
}

/** Reads a title page, which has a short title and a line that names the author. */
function readOpening(paragraphs: readonly PlainParagraph[]): { title: string; author: string } {
  const lines = paragraphs.slice(0, 6).flatMap((paragraph) => paragraph.lines);
  const at = lines
    .slice(0, 8)
    .findIndex((line) => /^(?:by|von|par|por|di|door|av|af) \p{Lu}/iu.test(line) && line.length <= 60);
  if (at > 0)
    return {
      title: toTitle(lines.slice(0, at).slice(0, titleLinesMax).join('\n')),
      author: lines[at]!.replace(/^\p{L}+ /u, ''),
    };
  const [first] = paragraphs;
  const isTitle = first && isSingle(first) && isShort(first) && !/[.,;:]$/.test(first.lines[0]!);
  return { title: isTitle ? toTitle(first.lines[0]!) : '', author: '' };
}

interface PlainParagraph {
  /** Lines without indents. */
  lines: string[];
  /** Number of empty lines before the paragraph. */
  blankBefore: number;
}

/** Limits on the line length of wrapped text, which usually has 60 to 80 columns. */
const wrappedCharsMin = 45;
const wrappedCharsMax = 100;

function readPlainParagraphs(source: string): PlainParagraph[] {
  const lines = source.split(/\r\n?|[\n\f\u0085\u2028\u2029]/);
  const isSpaced = hasBlankLines(lines);
  const paragraphs: PlainParagraph[] = [];
  let blankBefore = 0;
  let isOpen = false;
  for (const line of lines) {
    const text = line.replace(/\s+/g, ' ').trim();
    if (text === '') {
      blankBefore++;
      isOpen = false;
    } else if (isOpen && isSpaced) paragraphs.at(-1)!.lines.push(text);
    else {
      paragraphs.push({ lines: [text], blankBefore });
      blankBefore = 0;
      isOpen = true;
    }
  }
  return paragraphs;
}

/**
 * Whether empty lines separate paragraphs. If not, each line is a paragraph, and empty lines separate only chapters.
 */
function hasBlankLines(lines: readonly string[]): boolean {
  const blank = lines.filter((line) => line.trim() === '').length;
  const long = lines.filter((line) => line.length > wrappedCharsMax).length;
  return blank > 0 && (blank * 20 > lines.length || long * 10 < lines.length);
}

function joinLines({ lines }: PlainParagraph): string {
  const isWrapped = lines.slice(0, -1).every(({ length }) => length >= wrappedCharsMin);
  return lines.join(isWrapped ? ' ' : '\n');
}
