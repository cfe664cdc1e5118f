// Reads an EPUB 2 or 3 as a book, from its package, its table of contents and its documents. Copy-protected books are
// refused.

import { BookFault } from './book-fault.ts';
import { type ChapterOptions, toChapters } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { BookArchive } from './epub-archive.ts';
import { readContents } from './epub-contents.ts';
import { readCover } from './epub-cover.ts';
import { readPackage } from './epub-package.ts';
import { readEpubText, startsOfEpub } from './epub-text.ts';
import { codeLeftOut, type ReadText } from './html-book.ts';
import { findAll, parseMarkup } from './markup-tree.ts';

export async function readEpubBook(bytes: Buffer, options: ChapterOptions): Promise<ReadText> {
  const archive = await BookArchive.open(bytes);
  await checkUnprotected(archive);
  const book = await readPackage(archive);
  const contents = await readContents(archive, book);
  const text = await readEpubText(archive, book, contents);
  const { cover, warning } = await readCover(archive, book);
  const codeCount = options.readsCode ? 0 : text.blocks.filter(({ kind }) => kind === 'code').length;
  const { title, author, language, metadata } = book;
  return {
    title,
    author,
    language: language || text.language,
    metadata,
    ...(cover && { cover }),
    chapters: toChapters(text.blocks, startsOfEpub(text, contents), options),
    warnings: [...text.warnings, ...(warning ? [warning] : []), ...(codeCount > 0 ? [codeLeftOut(codeCount)] : [])],
  };
}

const obfuscations = new Set(['http://www.idpf.org/2008/embedding', 'http://ns.adobe.com/pdf/enc#RC']);
const protectedFile = /\.(x?html?|xml|opf|ncx|css)$/i;

async function checkUnprotected(archive: BookArchive): Promise<void> {
  const path = archive.find('META-INF/encryption.xml');
  if (path === undefined) return;
  const root = parseMarkup(decodeText(await archive.read(path)), 'xml');
  for (const data of findAll(root, 'encrypteddata')) {
    const algorithm = [...findAll(data, 'encryptionmethod')][0]?.attributes.algorithm ?? '';
    if (obfuscations.has(algorithm)) continue;
    const targets = [...findAll(data, 'cipherreference')].map(({ attributes }) => attributes.uri ?? '');
    if (targets.length === 0 || targets.some((target) => protectedFile.test(target)))
      throw new BookFault(
        'encrypted',
        `is protected against copying (DRM)${nameProtection(archive)}: its text cannot be read`,
      );
  }
}

function nameProtection(archive: BookArchive): string {
  const has = (path: string) => archive.paths.includes(`META-INF/${path}`);
  if (has('license.lcpl')) return ' by Readium LCP';
  if (has('sinf.xml')) return ' by Apple FairPlay';
  return has('rights.xml') ? ' by Adobe ADEPT' : '';
}
