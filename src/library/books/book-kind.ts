// Detects the kind of a book file: by its first bytes, then by its type or name, then by its text.
import { extname } from 'node:path';
import type { BookKind } from './book.ts';
import { BookFault } from './book.ts';
import { markedCharset } from './decode-text.ts';

/** Supported media types and extensions. */
export const bookTypes: Readonly<Record<string, BookKind>> = {
  'application/epub+zip': 'epub',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'text/plain': 'text',
};

const extensions: Readonly<Record<string, BookKind>> = {
  '.epub': 'epub',
  '.html': 'html',
  '.htm': 'html',
  '.xhtml': 'html',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.txt': 'text',
  '.text': 'text',
};

/** Unsupported kinds of books, named in the error so that people know what to convert. */
const otherKinds: readonly (readonly [RegExp, string])[] = [
  [/^%PDF-/, 'a PDF'],
  [/^[\s\S]{60}(?:BOOKMOBI|TEXtREAd)/, 'a Kindle book (MOBI or AZW)'],
  [/^\{\\rtf/, 'an RTF document'],
  [/^\xd0\xcf\x11\xe0/, 'a Word document'],
  [/^\x1f\x8b|^BZh|^7z\xbc\xaf|^Rar!/, 'a compressed archive'],
];

export function findBookKind(bytes: Buffer, { type, name }: { type?: string; name?: string }): BookKind {
  if (bytes.length === 0) throw new BookFault('empty', 'is empty');
  const start = bytes.toString('latin1', 0, 1024);
  if (start.startsWith('PK\x03\x04') || start.startsWith('PK\x05\x06')) return 'epub';
  const other = otherKinds.find(([pattern]) => pattern.test(start))?.[1];
  if (other)
    throw new BookFault('format', `is ${other}, which is not supported; convert it to EPUB or plain text first`);
  const stated = bookTypes[type ?? ''] ?? extensions[extname(name ?? '').toLowerCase()];
  if (stated === 'epub') throw new BookFault('damaged', 'is not an EPUB: it is not a zip archive');
  const charset = markedCharset(bytes);
  if (!charset?.startsWith('utf-16') && bytes.subarray(0, 64 * 1024).includes(0))
    throw new BookFault(
      'format',
      'is neither text nor a supported book format; send EPUB, Markdown, HTML or plain text',
    );
  if (stated === 'html' || stated === 'markdown') return stated;
  const readable = charset ? new TextDecoder(charset).decode(bytes.subarray(0, 1024)) : start;
  return htmlStart.test(readable) ? 'html' : 'text';
}

const htmlStart = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]{0,500}?-->\s*)?<(?:!doctype html|html)\b/i;
