// Divides the text of a book into chapters at given places. Every paragraph is in exactly one chapter. A chapter with
// only a heading is joined with the next chapter, and notes within the text are moved to the end.
import { cutText } from '../../platform/count-chars.ts';
import { type Block, breakText, charsOf } from './block.ts';
import type { BookChapter, BookPart } from './book.ts';
import { bookChaptersMax, titleCharsMax } from './book.ts';
import { isBareNumber, isChapterTitle, isNumberOnly } from './chapter-titles.ts';
import { partOfTitle } from './part-names.ts';

export interface ChapterStart {
  /** Number of the chapter's first block. */
  at: number;
  /** Title in the table of contents. If empty, the first heading is used. */
  title: string;
  part?: BookPart | undefined;
  /**
   * Whether the title comes from a table of contents. Such a title is spoken first if the text does not begin with it.
   */
  isListed?: boolean;
}

export interface ChapterOptions {
  readsCode: boolean;
}

const notesTitle = 'Notes';
const headingSearchedBlocks = 3;

/** Joins the lines of a title, and shortens a long title. */
export function toTitle(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
  const joined = lines
    .filter((line) => line !== '')
    .reduce((title, line) => (title === '' ? line : `${title}${/[\p{P}]$/u.test(title) ? ' ' : ': '}${line}`), '');
  return joined.length <= titleCharsMax ? joined : `${cutText(joined, titleCharsMax - 1).trimEnd()}…`;
}

interface Draft {
  title: string;
  /** Paragraphs of the chapter. */
  text: string[];
  part: BookPart;
  level: number;
  /** Number of characters outside headings. */
  chars: number;
}

export function toChapters(blocks: readonly Block[], starts: readonly ChapterStart[], options: ChapterOptions) {
  const ordered = starts.toSorted((one, other) => one.at - other.at);
  if (ordered[0]?.at !== 0) ordered.unshift({ at: 0, title: '' });
  const notes: string[] = [];
  const drafts = ordered.map((start, n) => {
    const own = blocks.slice(start.at, ordered[n + 1]?.at ?? blocks.length);
    return toDraft(start, own, options, notes);
  });
  const chapters = joinEmpty(drafts).map(toChapter);
  if (notes.length > 0) chapters.push({ title: notesTitle, text: notes.join('\n\n'), part: 'notes' });
  return chapters;
}

function toDraft(start: ChapterStart, own: readonly Block[], { readsCode }: ChapterOptions, notes: string[]): Draft {
  const read = own.filter(({ kind }) => readsCode || kind !== 'code');
  const isNotes =
    start.part === 'notes' || (read.length > 0 && read.every(({ isNote, kind }) => isNote || kind === 'heading'));
  const said = isNotes ? read : read.filter(({ isNote }) => !isNote);
  if (!isNotes) for (const block of read) if (block.isNote) notes.push(textOf(block));
  const heading = said.slice(0, headingSearchedBlocks).find(({ kind }) => kind === 'heading');
  const title = toTitle(start.title) || headingTitle(said);
  const text = trimBreaks(said.map(textOf));
  if (start.isListed && title !== '' && !isSaid(title, text)) text.unshift(title);
  return {
    title,
    text,
    part: isNotes && read.some(({ isNote }) => isNote) ? 'notes' : choosePart(start, said, title),
    level: heading?.level ?? 0,
    chars: charsOf(said.filter(({ kind }) => kind !== 'heading')),
  };
}

const textOf = ({ kind, text }: Block): string => (kind === 'break' ? breakText : text);

function trimBreaks(text: string[]): string[] {
  while (text.at(-1) === breakText) text.pop();
  while (text[0] === breakText) text.shift();
  return text;
}

/** The first heading. A heading that is only a number is joined with the next heading. */
function headingTitle(said: readonly Block[]): string {
  const at = said.slice(0, headingSearchedBlocks).findIndex(({ kind }) => kind === 'heading');
  if (at < 0) return '';
  const title = toTitle(said[at]!.text);
  const below = said[at + 1];
  return below?.kind === 'heading' && isNumberOnly(title) ? toTitle(`${title}\n${below.text}`) : title;
}

const lettersOf = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/**
 * Whether the text begins with the title or its last part: a contents entry may read "3. The Sea" for the heading "The
 * Sea".
 */
function isSaid(title: string, text: readonly string[]): boolean {
  const wanted = lettersOf(title);
  const begun = lettersOf(
    text
      .slice(0, headingSearchedBlocks)
      .join(' ')
      .slice(0, 2 * titleCharsMax),
  );
  if (wanted === '' || begun.includes(wanted)) return true;
  const first = lettersOf(text[0] ?? '');
  return first.length > 2 && first.length < titleCharsMax && wanted.endsWith(first);
}

/** A title can override markup that says "body", because many converters mark everything as body. */
function choosePart(start: ChapterStart, said: readonly Block[], title: string): BookPart {
  if (start.part && start.part !== 'body') return start.part;
  const stated = mostCommonPart(said);
  if (stated && stated !== 'body') return stated;
  return partOfTitle(title) ?? 'body';
}

function mostCommonPart(said: readonly Block[]): BookPart | undefined {
  const chars = new Map<BookPart | undefined, number>();
  for (const { part, text } of said) chars.set(part, (chars.get(part) ?? 0) + text.length + 1);
  return [...chars].sort(([, one], [, other]) => other - one)[0]?.[0];
}

/**
 * Joins a chapter that has only a heading with the next chapter, or the last chapter with the previous one. Drops empty
 * chapters.
 */
function joinEmpty(drafts: readonly Draft[]): Draft[] {
  const joined: Draft[] = [];
  let held: Draft | undefined;
  for (const draft of drafts) {
    const isEmpty = draft.chars === 0;
    if (isEmpty && (draft.text.length === 0 || (draft.part !== 'body' && partOfTitle(draft.title)))) continue;
    const whole: Draft = held
      ? { ...draft, title: joinTitles(held.title, draft.title), text: [...held.text, ...draft.text] }
      : draft;
    held = isEmpty ? whole : undefined;
    if (!isEmpty) joined.push(whole);
  }
  const last = joined.at(-1);
  if (held && last) last.text = [...last.text, ...held.text];
  return joined;
}

/** Joins a title that is only a number with the next title. Any other title is replaced by the next title. */
const joinTitles = (held: string, own: string): string => {
  if (own === '') return held;
  return isNumberOnly(held) && !isNumberOnly(own) ? toTitle(`${held}\n${own}`) : own;
};

const toChapter = ({ title, text, part, level }: Draft, n: number): BookChapter => ({
  title: title || String(n + 1),
  text: text.join('\n\n'),
  part,
  ...(level > 0 && { headingLevel: level }),
});

/** Maximum number of characters below the title of a title page, enough for a name or two. */
const titlePageCharsMax = 200;
const sentenceEnd = /[.!?…。！？][\p{Pe}\p{Pf}"']*\s*$/u;

interface Heading {
  at: number;
  level: number;
  text: string;
}

export function startsByHeadings(blocks: readonly Block[]): ChapterStart[] {
  const headings = blocks.flatMap(({ kind, level, text, isNote }, at): Heading[] =>
    kind === 'heading' && !isNote ? [{ at, level, text }] : [],
  );
  let depth = chooseDepth(headings);
  while (depth > 1 && countTo(headings, depth) > bookChaptersMax) depth--;
  const chosen = headings.filter(({ level }) => level <= depth).slice(0, bookChaptersMax);
  return chosen.map(({ at }, n) => ({ at, title: '', part: n === 0 ? partOfFirst(blocks, chosen) : undefined }));
}

const countTo = (headings: readonly Heading[], depth: number): number =>
  headings.filter(({ level }) => level <= depth).length;

function chooseDepth(headings: readonly Heading[]): number {
  for (let level = 6; level >= 1; level--) {
    const own = headings.filter((heading) => heading.level === level);
    const chapters = own.filter(({ text }) => isChapterTitle(text) || isBareNumber(text)).length;
    if (chapters >= 2 && chapters * 2 >= own.length) return level;
  }
  for (let level = 1; level <= 6; level++) if (countTo(headings, level) >= 2) return level;
  return headings.length > 0 ? 6 : 0;
}

/**
 * The first heading begins a title page if all later headings have a lower level and the text below is short, such as a
 * name, and contains no sentence.
 */
function partOfFirst(blocks: readonly Block[], [first, second, ...more]: readonly Heading[]): ChapterStart['part'] {
  if (!first || !second || [second, ...more].some(({ level }) => level <= first.level)) return undefined;
  const below = blocks.slice(first.at + 1, second.at);
  const isTitlePage = charsOf(below) < titlePageCharsMax && !below.some(({ text }) => sentenceEnd.test(text));
  return isTitlePage ? 'front' : undefined;
}
