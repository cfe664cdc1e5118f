// Finds where the chapters of an EPUB begin: where its table of contents says so, down to the level that has chapters; at
// documents that are another part of the book; and, without a usable table, at headings or documents.
import { charsOf } from './block.ts';
import { bookChaptersMax } from './book-limits.ts';
import { isBareNumber, isChapterTitle } from './chapter-titles.ts';
import type { ChapterStart } from './chapters.ts';
import type { ContentsEntry, EpubContents } from './epub-contents.ts';
import type { EpubDocument, EpubText } from './epub-text.ts';
import { startsByHeadings } from './heading-starts.ts';
import { partOfRoles, partOfTitle } from './part-names.ts';

/** What stands between the title of a part and its first chapter is a motto at most. */
const mottoCharsMax = 300;
/** What comes before the first chapter of the contents, or before what is stated to be the start, is front matter if it is short. */
const frontCharsMax = 20_000;
const depthMax = 6;

export function startsOfEpub(text: EpubText, contents: EpubContents): ChapterStart[] {
  const listed = startsByContents(text, contents.entries);
  const headed = startsByHeadings(text.blocks);
  const isUsable = listed.length > 1 || (listed.length === 1 && headed.length < 3);
  const starts = new Map<number, ChapterStart>();
  const chosen = isUsable ? listed : startsWithoutContents(text, headed);
  for (const start of chosen) starts.set(start.at, start);
  addParts(starts, text, isUsable);
  return stateParts(starts, text, contents);
}

function startsByContents(text: EpubText, entries: readonly ContentsEntry[]): ChapterStart[] {
  for (let depth = depthMax; depth >= 1; depth--) {
    const starts = new Map<number, ChapterStart>();
    addEntries(starts, text, entries, depth);
    if (starts.size <= bookChaptersMax || depth === 1) return [...starts.values()].slice(0, bookChaptersMax);
  }
  return [];
}

/** An entry deeper in the contents that leads to the same place names it more closely. */
function addEntries(
  starts: Map<number, ChapterStart>,
  text: EpubText,
  entries: readonly ContentsEntry[],
  depth: number,
): void {
  for (const { title, to, children } of entries) {
    const at = to && text.placeOf(to);
    const isStart = at !== undefined && at < text.blocks.length;
    if (isStart) starts.set(at, { at, title, isListed: true });
    const isSplit = depth > 1 && children.length > 0 && (!isStart || areChapters(text, at, children));
    if (isSplit) addEntries(starts, text, children, depth - 1);
  }
}

/** Whether the entries below one are chapters, and not sections of one. */
function areChapters(text: EpubText, from: number, children: readonly ContentsEntry[]): boolean {
  const places = children.map(({ to }) => to && text.placeOf(to));
  const begins = new Set(text.documents.map((document) => document.from));
  const chapters = children.filter(
    ({ title }, n) =>
      isChapterTitle(title) || isBareNumber(title) || (begins.has(places[n] ?? -1) && places[n] !== from),
  );
  if (chapters.length * 2 > children.length) return true;
  const first = places.find((place) => place !== undefined && place >= from);
  if (first === undefined) return false;
  return charsOf(text.blocks.slice(from, first).filter(({ kind }) => kind !== 'heading')) < mottoCharsMax;
}

function startsWithoutContents({ blocks, documents }: EpubText, headed: readonly ChapterStart[]): ChapterStart[] {
  const read = documents.filter(({ from, to }) => to > from);
  const withHeading = read.filter(({ from }) => blocks.slice(from, from + 3).some(({ kind }) => kind === 'heading'));
  if (headed.length > 0 && withHeading.length * 2 >= read.length) return [...headed];
  const titles = new Set(read.map(({ title }) => title));
  const areTitled = titles.size * 2 > read.length;
  return read.map(({ from, title }) => ({ at: from, title: areTitled && !/\.x?html?$/i.test(title) ? title : '' }));
}

/** Documents that begin another part of the book, wherever the contents lead. */
function addParts(starts: Map<number, ChapterStart>, { blocks, documents }: EpubText, isListed: boolean): void {
  const isBegun = (document: EpubDocument) =>
    [...starts.keys()].some((at) => at >= document.from && at < Math.min(document.to, document.from + 3));
  let before: ChapterStart['part'];
  for (const document of documents) {
    if (document.to === document.from) continue;
    const own = blocks.slice(document.from, document.to);
    const stated = own.find(({ text }) => text !== '')?.part;
    const heading = own.slice(0, 2).find(({ kind }) => kind === 'heading');
    const named = heading && partOfTitle(heading.text);
    const part = document.isLinear ? (stated ?? named) : (stated ?? named ?? 'notes');
    const isOther = (stated !== undefined && stated !== before) || named !== undefined || !document.isLinear;
    if (isOther && !isBegun(document)) starts.set(document.from, { at: document.from, title: '', part });
    else if (!isListed && stated === 'notes') starts.get(document.from)!.part ??= 'notes';
    before = stated;
  }
}

/** Parts that the landmarks and the guide state, and what comes before the text. */
function stateParts(starts: Map<number, ChapterStart>, text: EpubText, { landmarks }: EpubContents): ChapterStart[] {
  let begin = 0;
  for (const { type, ...to } of landmarks) {
    const at = text.placeOf(to);
    if (at === undefined) continue;
    if (/(?:^|\s)(?:bodymatter|text|start)(?:\s|$)/i.test(type)) begin = Math.max(begin, at);
    const part = partOfRoles(type);
    const start = starts.get(at);
    if (start && part && part !== 'body') start.part ??= part;
  }
  const ordered = [...starts.values()].sort((one, other) => one.at - other.at);
  const first = ordered[0];
  const isShort = (from: number, to: number) => charsOf(text.blocks.slice(from, to)) < frontCharsMax;
  if (first?.isListed && first.at > 0 && isShort(0, first.at)) ordered.unshift({ at: 0, title: '', part: 'front' });
  for (const [n, start] of ordered.entries()) {
    const to = ordered[n + 1]?.at ?? text.blocks.length;
    const stated = text.blocks[start.at]?.part;
    if (start.at >= begin || start.part || stated || isChapterTitle(start.title)) continue;
    if (to <= begin && isShort(start.at, to)) start.part = 'front';
  }
  return ordered;
}
