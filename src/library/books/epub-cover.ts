// Finds the cover picture of an EPUB in its package, on its cover page, or by file name.
import type { BookCover } from './book.ts';
import { BookFault } from './book-fault.ts';
import { coverBytesMax } from './book-limits.ts';
import { decodeText } from './decode-text.ts';
import { type BookArchive, resolveReference } from './epub-archive.ts';
import type { EpubPackage } from './epub-package.ts';
import { findAll, parseMarkup } from './markup-tree.ts';

const signatures: readonly (readonly [string, RegExp])[] = [
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
];

export async function readCover(
  archive: BookArchive,
  book: EpubPackage,
): Promise<{ cover?: BookCover; warning?: string }> {
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
