// Reads an EPUB 2 or 3 as a book: by its package, its table of contents and its documents. Copy protection is refused.
import { type ChapterOptions, toChapters } from './chapters.ts';
import { BookArchive } from './epub-archive.ts';
import { readContents } from './epub-contents.ts';
import { readCover } from './epub-cover.ts';
import { readPackage } from './epub-package.ts';
import { checkUnprotected } from './epub-protection.ts';
import { startsOfEpub } from './epub-starts.ts';
import { readEpubText } from './epub-text.ts';
import { codeLeftOut, type ReadText } from './html-book.ts';

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
