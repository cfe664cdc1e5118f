// The text of an EPUB in reading order: the blocks of all documents in sequence, and the start of each document.
import { type Block, charsOf } from './block.ts';
import { BookFault, bookChaptersMax, bookCharsMax } from './book.ts';
import { isBareNumber, isChapterTitle } from './chapter-titles.ts';
import { type ChapterStart, startsByHeadings } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { readDocument } from './document-reader.ts';
import type { BookArchive, EpubReference } from './epub-archive.ts';
import type { ContentsEntry, EpubContents } from './epub-contents.ts';
import { type EpubItem, type EpubPackage, missingFile } from './epub-package.ts';
import { partOfRoles, partOfTitle } from './part-names.ts';

interface EpubDocument {
  path: string;
  /** Title stated in the document. */
  title: string;
  isLinear: boolean;
  /** Number of the document's first block, and of the first block after the document. */
  from: number;
  to: number;
  anchors: ReadonlyMap<string, number>;
}

interface EpubText {
  blocks: Block[];
  documents: EpubDocument[];
  /** Language of the first document that states a language. */
  language: string;
  /** Number of the block that a reference leads to; undefined if the reference leads nowhere. */
  placeOf(reference: EpubReference): number | undefined;
  warnings: string[];
}

export async function readEpubText(archive: BookArchive, book: EpubPackage, contents: EpubContents): Promise<EpubText> {
  const { ordered, warnings } = orderOf(archive, book, contents);
  const blocks: Block[] = [];
  const documents: EpubDocument[] = [];
  let language = '';
  let chars = 0;
  for (const { path, isLinear } of ordered) {
    const read = readDocument(decodeText(await archive.read(path)), 'chapter');
    const from = blocks.length;
    for (const block of read.blocks) {
      chars += block.text.length;
      blocks.push(block);
    }
    if (chars > bookCharsMax)
      throw new BookFault('too_large', `has more than ${bookCharsMax / 1e6} million characters`);
    language ||= read.language;
    documents.push({ path, title: read.title, isLinear, from, to: blocks.length, anchors: read.anchors });
  }
  const byPath = new Map(documents.map((document) => [document.path, document]));
  return {
    blocks,
    documents,
    language,
    warnings,
    placeOf({ path, fragment }) {
      const document = byPath.get(archive.find(path) ?? '');
      const place = document && document.from + (document.anchors.get(fragment) ?? 0);
      return place !== undefined && place < document!.to ? place : undefined;
    },
  };
}

const isText = ({ mediaType, path }: EpubItem): boolean =>
  /html|dtbook|^text\/xml$|^application\/xml$/.test(mediaType) ||
  (/\.x?html?$/i.test(path) && !/^image\//.test(mediaType));

/**
 * Orders the documents by the spine. Without a spine, documents in the contents come first, then the rest of the
 * package. If neither lists a document, all HTML files are sorted by name.
 */
function orderOf(archive: BookArchive, { spine, items, nav }: EpubPackage, { entries }: EpubContents) {
  const warnings: string[] = [];
  const isLinear = new Map(spine.map(({ item, isLinear: is }) => [archive.find(item.path), is]));
  let listed = spine.filter(({ item }) => isText(item)).map(({ item }) => item.path);
  if (listed.length === 0) {
    const readable = items.filter((item) => isText(item) && item !== nav).map(({ path }) => path);
    listed = [...pathsOf(entries), ...readable];
    if (listed.length > 0) warnings.push('The book has no reading order; the order of its table of contents is used.');
  }
  if (listed.length === 0) listed = archive.paths.filter((path) => /\.x?html?$/i.test(path)).sort(byNumber.compare);
  const paths = new Set<string>();
  for (const path of listed) {
    const found = archive.find(path);
    if (found === undefined) warnings.push(missingFile(path));
    else paths.add(found);
  }
  if (paths.size === 0) throw new BookFault('damaged', 'is damaged: it contains none of its chapters');
  return { ordered: Array.from(paths, (path) => ({ path, isLinear: isLinear.get(path) ?? true })), warnings };
}

const byNumber = new Intl.Collator('en', { numeric: true });

const pathsOf = (entries: readonly ContentsEntry[]): string[] =>
  entries.flatMap(({ to, children }) => [...(to ? [to.path] : []), ...pathsOf(children)]);

/** Maximum length of a motto, the text between the title of a part and its first chapter. */
const mottoCharsMax = 300;
/** Maximum length of front matter before the first chapter or the stated start of the text. */
const frontCharsMax = 20_000;
/**
 * Entries below other entries can be chapters if their median length reaches `chapterCharsMin`, or if the median length
 * of their parents exceeds `chapterCharsMax`.
 */
const chapterCharsMin = 6_000;
const chapterCharsMax = 100_000;
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

interface PlacedEntry extends ContentsEntry {
  /** Number of the entry's first block; undefined if the entry leads nowhere. */
  at: number | undefined;
}

/** Reads the contents level by level. If several entries lead to one place, the deepest entry gives the title. */
function startsByContents(text: EpubText, entries: readonly ContentsEntry[]): ChapterStart[] {
  const starts = new Map<number, ChapterStart>();
  const place = (entry: ContentsEntry): PlacedEntry => ({ ...entry, at: entry.to && text.placeOf(entry.to) });
  const chooseParts = partChooser(text);
  let level = entries.map(place);
  for (let depth = 1; depth <= depthMax && level.length > 0; depth++) {
    if (depth > 1 && starts.size + level.length > bookChaptersMax) break;
    for (const { title, at } of level.slice(0, bookChaptersMax))
      if (at !== undefined) starts.set(at, { at, title, isListed: true });
    const parents = level.filter(({ children }) => children.length > 0);
    const families = parents.map((parent) => ({ parent, below: parent.children.map(place) }));
    level = chooseParts(families, [...starts.keys()]).flatMap(({ below }) => below);
  }
  return [...starts.values()];
}

interface Family {
  parent: PlacedEntry;
  below: readonly PlacedEntry[];
}

/**
 * Keeps those entries of a level that are parts of the book with chapters below them. Entries below a chapter are
 * sections.
 */
function partChooser({ blocks, documents }: EpubText) {
  const charsBefore = [0];
  for (const { kind, text } of blocks) charsBefore.push(charsBefore.at(-1)! + (kind === 'heading' ? 0 : text.length));
  const charsIn = (from: number, to: number) => charsBefore[to]! - charsBefore[from]!;
  const documentStarts = new Set<number | undefined>(documents.map(({ from }) => from));
  /** Number of characters of each entry, up to the start of the next entry. */
  const charsOfEach = (entries: readonly PlacedEntry[], places: readonly number[]) => {
    const ordered = [...new Set(places)].sort((one, other) => one - other);
    const ends = new Map(ordered.map((at, n) => [at, ordered[n + 1] ?? blocks.length]));
    return entries.map(({ at }) => (at === undefined ? 0 : charsIn(at, ends.get(at)!)));
  };
  return (families: readonly Family[], starts: readonly number[]): Family[] => {
    const below = families.flatMap((family) => family.below);
    const places = below.flatMap(({ at }) => at ?? []);
    const wholes = charsOfEach(
      families.map(({ parent }) => parent),
      starts,
    );
    const areLong =
      median(charsOfEach(below, [...starts, ...places])) >= chapterCharsMin || median(wholes) > chapterCharsMax;
    return families.filter(({ parent: { at }, below }, n) => {
      const named = below.filter(
        (entry) =>
          isChapterTitle(entry.title) || isBareNumber(entry.title) || (documentStarts.has(entry.at) && entry.at !== at),
      );
      if (at === undefined || named.length * 2 > below.length) return true;
      const first = below.find((entry) => entry.at !== undefined && entry.at >= at)?.at;
      const isMottoOnly = first !== undefined && charsIn(at, first) < mottoCharsMax;
      return isMottoOnly && (areLong || wholes[n]! * 2 > charsIn(0, blocks.length));
    });
  };
}

const median = (counts: number[]): number => counts.toSorted((one, other) => one - other)[counts.length >> 1] ?? 0;

function startsWithoutContents({ blocks, documents }: EpubText, headed: readonly ChapterStart[]): ChapterStart[] {
  const read = documents.filter(({ from, to }) => to > from);
  const withHeading = read.filter(({ from }) => blocks.slice(from, from + 3).some(({ kind }) => kind === 'heading'));
  if (headed.length > 0 && withHeading.length * 2 >= read.length) return [...headed];
  const titles = new Set(read.map(({ title }) => title));
  const areTitled = titles.size * 2 > read.length;
  return read.map(({ from, title }) => ({ at: from, title: areTitled && !/\.x?html?$/i.test(title) ? title : '' }));
}

/** Adds documents that begin another part of the book, even if the contents do not list them. */
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

/** Adds the parts stated in the landmarks and the guide, and the front matter. */
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
