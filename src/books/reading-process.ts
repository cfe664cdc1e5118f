// The process that reads one book from its standard input: see read-book.ts.
import { basename, extname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { toLanguageCode } from '../text/language-code.ts';
import type { Book, BookKind } from './book.ts';
import { BookFault, type BookFaultReason } from './book-fault.ts';
import { findBookKind } from './book-kind.ts';
import type { ChapterOptions } from './chapters.ts';
import { decodeText } from './decode-text.ts';
import { readEpubBook } from './epub-book.ts';
import { type ReadText, readHtmlBook } from './html-book.ts';
import { readMarkdownBook } from './markdown-book.ts';
import { readPlainBook } from './plain-book.ts';

export interface ReadingTask extends ChapterOptions {
  charsMax: number;
  /** A media type. */
  type?: string;
  charset?: string;
  /** Of the file; its extension tells the kind, and it is the title of a book without one. */
  name?: string;
}

export type ReadingNews = { book: Book } | { fault: { reason: BookFaultReason; message: string } };

const send = (news: ReadingNews): boolean => process.send!(news);

async function read(bytes: Buffer, task: ReadingTask): Promise<Book> {
  const { name } = task;
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

function readKind(kind: BookKind, bytes: Buffer, task: ReadingTask): ReadText | Promise<ReadText> {
  if (kind === 'epub') return readEpubBook(bytes, task);
  const text = decodeText(bytes, task.charset);
  if (kind === 'html') return readHtmlBook(text, task);
  return kind === 'markdown' ? readMarkdownBook(text, task) : readPlainBook(text, task);
}

try {
  send({ book: await read(await buffer(process.stdin), JSON.parse(process.argv[2]!)) });
} catch (error) {
  if (error instanceof RangeError) send({ fault: { reason: 'too_deep', message: 'is nested too deeply' } });
  else if (error instanceof BookFault) send({ fault: { reason: error.reason, message: error.message } });
  else throw error;
}
