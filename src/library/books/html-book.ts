// Reads a web page as a book: its main content, divided into chapters at its headings.
import type { Block, TextDocument } from './block.ts';
import type { Book, BookMetadata } from './book.ts';
import { type ChapterOptions, startsByHeadings, toChapters, toTitle } from './chapters.ts';
import { readDocument } from './document-reader.ts';

export function readHtmlBook(source: string, options: ChapterOptions): Book {
  return toBook(readDocument(source, 'page'), options);
}

/** Creates a book from a single document. */
export function toBook({ title, language, meta, blocks }: TextDocument, options: ChapterOptions): Book {
  const main = blocks.filter(({ isMain }) => isMain);
  const read = main.some(({ kind }) => kind === 'text') ? main : blocks;
  const first = (...names: string[]) => names.map((name) => meta.get(name)).find((value) => value?.trim()) ?? '';
  const codeCount = read.filter(({ kind }) => kind === 'code').length;
  const metadata: BookMetadata = {};
  for (const [field, names] of metadataNames) {
    const value = toTitle(first(...names));
    if (value) metadata[field] = value;
  }
  return {
    title: toTitle(first('dc.title', 'dcterms.title', 'og:title') || title || headingTitle(read)),
    author: toTitle(first('dc.creator', 'dcterms.creator', 'author', 'article:author')),
    language: language || first('dc.language', 'dcterms.language', 'og:locale').replace('_', '-'),
    metadata,
    chapters: toChapters(read, startsByHeadings(read), options),
    warnings: codeCount > 0 && !options.readsCode ? [codeLeftOut(codeCount)] : [],
  };
}

/** The first heading, provided that all other headings have a lower level. */
function headingTitle(blocks: readonly Block[]): string {
  const [first, ...more] = blocks.filter(({ kind }) => kind === 'heading');
  return first && more.every(({ level }) => level > first.level) ? first.text : '';
}

export const codeLeftOut = (count: number): string =>
  count === 1 ? 'A block of code is omitted.' : `${count} blocks of code are omitted.`;

const metadataNames: readonly (readonly [keyof BookMetadata, readonly string[]])[] = [
  ['publisher', ['dc.publisher', 'dcterms.publisher', 'og:site_name']],
  ['date', ['dcterms.created', 'dc.date', 'article:published_time', 'date']],
  ['description', ['description', 'og:description']],
  ['rights', ['dc.rights', 'dcterms.rights', 'copyright']],
  ['identifier', ['dcterms.source', 'dc.identifier']],
];
