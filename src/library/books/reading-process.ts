// The process that reads one book from its standard input; see read-book.ts.
import { once } from 'node:events';
import { Socket } from 'node:net';
import { basename, extname } from 'node:path';
import { toLanguageCode } from '../../platform/language-code.ts';
import type { Book, BookKind } from './book.ts';
import { BookFault, type BookFaultReason } from './book.ts';
import { findBookKind } from './book-kind.ts';
import type { ChapterOptions } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { readEpubBook } from './epub-book.ts';
import { readHtmlBook } from './html-book.ts';
import { readMarkdownBook } from './markdown-book.ts';
import { readPlainBook } from './plain-book.ts';

export interface ReadingTask extends ChapterOptions {
  byteCount: number;
  charsMax: number;
  /** The media type. */
  type?: string;
  charset?: string;
  /** Name of the file. Its extension shows the kind of book, and the name is the title if the book has no title. */
  name?: string;
}

export type ReadingNews = { book: Book } | { fault: { reason: BookFaultReason; message: string } };

const pieceBytes = 64 << 10;

const send = (news: ReadingNews): boolean => process.send!(news);

async function read(bytes: Buffer<ArrayBuffer>, task: ReadingTask): Promise<Book> {
  const { name } = task;
  const book = await readKind(findBookKind(bytes, task), bytes, task);
  const chars = book.chapters.reduce((sum, { text }) => sum + text.length, 0);
  if (chars === 0) throw new BookFault('empty', 'contains no text');
  if (chars > task.charsMax)
    throw new BookFault('too_large', `has more than ${task.charsMax / 1e6} million characters`);
  return {
    ...book,
    title: book.title || (name ? basename(name, extname(name)) : '') || book.chapters[0]!.title,
    language: toLanguageCode(book.language.trim()) ?? '',
  };
}

function readKind(kind: BookKind, bytes: Buffer<ArrayBuffer>, task: ReadingTask): Book | Promise<Book> {
  if (kind === 'epub') return readEpubBook(bytes, task);
  const text = decodeText(bytes, task.charset);
  // Frees the bytes now, because garbage collection would free them only after the text needs memory.
  bytes.buffer.transfer(0);
  if (kind === 'html') return readHtmlBook(text, task);
  return kind === 'markdown' ? readMarkdownBook(text, task) : readPlainBook(text, task);
}

/** Reads into one buffer, because the chunks and their joined copy would need more than twice the memory. */
async function readInput(byteCount: number): Promise<Buffer<ArrayBuffer>> {
  const bytes = Buffer.from(new ArrayBuffer(byteCount));
  let at = 0;
  const callback = (count: number, piece: Uint8Array): boolean => {
    at += Buffer.from(piece.buffer).copy(bytes, at, 0, count);
    return true;
  };
  await once(
    new Socket({ fd: 0, onread: { buffer: Buffer.from(new ArrayBuffer(pieceBytes)), callback } }).resume(),
    'end',
  );
  return bytes;
}

try {
  const task: ReadingTask = JSON.parse(process.argv[2]!);
  send({ book: await read(await readInput(task.byteCount), task) });
} catch (error) {
  if (error instanceof RangeError) send({ fault: { reason: 'too_deep', message: 'is nested too deeply' } });
  else if (error instanceof BookFault) send({ fault: { reason: error.reason, message: error.message } });
  else throw error;
}
