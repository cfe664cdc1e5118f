// Reads an EPUB 2 or 3 as a book, from its package, its table of contents and its documents. Copy-protected books are
// refused.
import type { Book, BookCover } from './book.ts';
import { BookFault, coverBytesMax } from './book.ts';
import { type ChapterOptions, toChapters } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { BookArchive, resolveReference } from './epub-archive.ts';
import { readContents } from './epub-contents.ts';
import { type EpubPackage, readPackage } from './epub-package.ts';
import { readEpubText, startsOfEpub } from './epub-text.ts';
import { codeLeftOut } from './html-book.ts';
import { findAll, findFirst, parseMarkup } from './markup-tree.ts';

// Finds the cover picture of an EPUB in its package, on its cover page, or by file name.

const signatures: readonly (readonly [string, RegExp])[] = [
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
];

async function readCover(archive: BookArchive, book: EpubPackage): Promise<{ cover?: BookCover; warning?: string }> {
  const path = (await statedPaths(archive, book))
    .map((each) => archive.find(each))
    .find((found) => found !== undefined);
  if (path === undefined) return {};
  if (archive.bytesOf(path) > coverBytesMax)
    return { warning: `The cover is omitted: it is larger than ${coverBytesMax >> 20} MiB.` };
  const bytes = await readWhole(archive, path);
  if (!bytes) return { warning: 'The cover is omitted: it is damaged.' };
  const start = bytes.toString('latin1', 0, 16);
  const contentType = signatures.find(([, signature]) => signature.test(start))?.[0];
  if (!contentType) return { warning: 'The cover is omitted: it is not a JPEG, PNG, GIF or WebP picture.' };
  return { cover: { contentType, bytes } };
}

/** Reads a file; undefined if it is unreadable, because a book can be read without its cover. */
async function readWhole(archive: BookArchive, path: string): Promise<Buffer | undefined> {
  try {
    return await archive.read(path);
  } catch (error) {
    if (error instanceof BookFault) return undefined;
    throw error;
  }
}

async function statedPaths(archive: BookArchive, { items, coverId, guide }: EpubPackage): Promise<string[]> {
  const isImage = ({ mediaType, path }: { mediaType: string; path: string }) =>
    mediaType.startsWith('image/') || /\.(jpe?g|png|gif|webp)$/i.test(path);
  const stated = items.find(({ properties }) => /(?:^|\s)cover-image(?:\s|$)/.test(properties));
  const older = coverId === '' ? undefined : items.find(({ id, path }) => id === coverId || path.endsWith(coverId));
  const page =
    guide.find(({ type }) => type.toLowerCase() === 'cover')?.path ??
    (older && !isImage(older) ? older.path : undefined);
  const named = items.find(
    (item) => isImage(item) && /cover|okladka|umschlag|couverture/i.test(`${item.id} ${item.path}`),
  );
  return [
    ...(stated ? [stated.path] : []),
    ...(older && isImage(older) ? [older.path] : []),
    ...(page === undefined ? [] : await picturesOn(archive, page)),
    ...(named ? [named.path] : []),
  ];
}

async function picturesOn(archive: BookArchive, page: string): Promise<string[]> {
  const path = archive.find(page);
  if (path === undefined) return [];
  if (/\.(jpe?g|png|gif|webp)$/i.test(path)) return [path];
  const root = parseMarkup(decodeText(await archive.read(path)), 'xhtml');
  const pictures = [...findAll(root, 'img'), ...findAll(root, 'image')];
  return pictures.flatMap(({ attributes }) => {
    const to = resolveReference(path, attributes.src ?? attributes['xlink:href'] ?? attributes.href ?? '');
    return to ? [to.path] : [];
  });
}

export async function readEpubBook(bytes: Buffer, options: ChapterOptions): Promise<Book> {
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
    const algorithm = findFirst(data, 'encryptionmethod')?.attributes.algorithm ?? '';
    if (obfuscations.has(algorithm)) continue;
    const targets = findAll(data, 'cipherreference').map(({ attributes }) => attributes.uri ?? '');
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
