// The thread that reads one book: see read-book.ts.
import { readFile, stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { toLanguageCode } from '../text/language-code.ts';
import type { Book, BookKind } from './book.ts';
import { BookFault, type BookFaultReason } from './book-fault.ts';
import { findBookKind } from './book-kind.ts';
import { bookBytesMax } from './book-limits.ts';
import type { ChapterOptions } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { readEpubBook } from './epub-book.ts';
import { type ReadText, readHtmlBook } from './html-book.ts';
import { readMarkdownBook } from './markdown-book.ts';
import { readPlainBook } from './plain-book.ts';

export interface ReadingTask extends ChapterOptions {
  source: string | Uint8Array;
  charsMax: number;
  /** A media type. */
  type?: string;
  charset?: string;
  /** Of the file; its extension tells the kind, and it is the title of a book without one. */
  name?: string;
}

export type ReadingNews = { book: Book } | { fault: { reason: BookFaultReason; message: string } };

const tell = (news: ReadingNews): void => parentPort!.postMessage(news);

async function read(task: ReadingTask): Promise<Book> {
  const name = task.name ?? (typeof task.source === 'string' ? basename(task.source) : undefined);
  const bytes = await bytesOf(task.source);
  const kind = findBookKind(bytes, { ...(task.type && { type: task.type }), ...(name && { name }) });
  const book = await readKind(kind, bytes, task);
  const chars = book.chapters.reduce((sum, { text }) => sum + text.length, 0);
  if (chars === 0) throw new BookFault('empty', 'has no text in it');
  if (chars > task.charsMax)
    throw new BookFault('too_large', `has more than ${task.charsMax / 1e6} million characters`);
  return {
    ...book,
    title: book.title || (name ? basename(name, extname(name)) : '') || book.chapters[0]!.title,
    language: toLanguageCode(book.language.trim()) ?? '',
  };
}

async function bytesOf(source: string | Uint8Array): Promise<Buffer> {
  if (typeof source !== 'string') return Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  const { size } = await stat(source);
  if (size > bookBytesMax) throw new BookFault('too_large', `is larger than ${bookBytesMax >> 20} MiB`);
  return readFile(source);
}

function readKind(kind: BookKind, bytes: Buffer, task: ReadingTask): ReadText | Promise<ReadText> {
  if (kind === 'epub') return readEpubBook(bytes, task);
  const text = decodeText(bytes, task.charset);
  if (kind === 'html') return readHtmlBook(text, task);
  return kind === 'markdown' ? readMarkdownBook(text, task) : readPlainBook(text, task);
}

try {
  tell({ book: await read(workerData as ReadingTask) });
} catch (error) {
  if (!(error instanceof BookFault)) throw error;
  tell({ fault: { reason: error.reason, message: error.message } });
}
