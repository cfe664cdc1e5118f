// The text of an EPUB in reading order: the blocks of its documents one after the other, and where each document begins.
import type { Block } from './block.ts';
import { BookFault } from './book-fault.ts';
import { bookCharsMax } from './book-limits.ts';
import { decodeText } from './decode-text.ts';
import { readDocument } from './document-reader.ts';
import type { BookArchive } from './epub-archive.ts';
import type { ContentsEntry, EpubContents } from './epub-contents.ts';
import { type EpubItem, type EpubPackage, missingFile } from './epub-package.ts';
import type { EpubReference } from './epub-reference.ts';

export interface EpubDocument {
  path: string;
  /** What the document calls itself. */
  title: string;
  isLinear: boolean;
  /** The number of its first block, and of the first after it. */
  from: number;
  to: number;
  anchors: ReadonlyMap<string, number>;
}

export interface EpubText {
  blocks: Block[];
  documents: EpubDocument[];
  /** What the first document with one states. */
  language: string;
  /** The number of the block that a reference leads to; undefined where it leads nowhere. */
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

/** The documents in the order of the spine; without one, in that of the contents; without those, as the package lists them. */
function orderOf(archive: BookArchive, { spine, items, nav }: EpubPackage, { entries }: EpubContents) {
  const warnings: string[] = [];
  const isLinear = new Map(spine.map(({ item, isLinear: is }) => [archive.find(item.path), is]));
  let listed = spine.filter(({ item }) => isText(item)).map(({ item }) => item.path);
  if (listed.length === 0) {
    const readable = items.filter((item) => isText(item) && item !== nav).map(({ path }) => path);
    listed = [...pathsOf(entries), ...readable];
    if (listed.length > 0) warnings.push('The book states no reading order; that of its contents is read.');
  }
  if (listed.length === 0) listed = archive.paths.filter((path) => /\.x?html?$/i.test(path)).sort(byNumber.compare);
  const paths = new Set<string>();
  for (const path of listed) {
    const found = archive.find(path);
    if (found === undefined) warnings.push(missingFile(path));
    else paths.add(found);
  }
  if (paths.size === 0) throw new BookFault('damaged', 'is damaged: none of its chapters is in the file');
  return { ordered: Array.from(paths, (path) => ({ path, isLinear: isLinear.get(path) ?? true })), warnings };
}

const byNumber = new Intl.Collator('en', { numeric: true });

const pathsOf = (entries: readonly ContentsEntry[]): string[] =>
  entries.flatMap(({ to, children }) => [...(to ? [to.path] : []), ...pathsOf(children)]);
