// Reads a book file in a child process: plain text, Markdown, HTML, or EPUB 2 and 3.
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Failure } from '../../platform/errors.ts';
import { LimitReached, runInProcess } from '../../platform/runtime/run-once.ts';
import type { Book, BookFaultReason } from './book.ts';
import { bookBytesMax, bookCharsMax, readingCpuSecondsMax, readingMegabytesMax } from './book.ts';
import type { ReadingNews, ReadingTask } from './reading-process.ts';

export interface BookReading extends Omit<ReadingTask, 'readsCode' | 'charsMax' | 'byteCount'> {
  /** The path of a file, or the bytes of a book. */
  source: string | Uint8Array;
  /** Maximum number of characters in all chapters together. */
  charsMax?: number;
  /** Whether code blocks are read line by line. Default: code blocks are left out. */
  readsCode?: boolean;
  signal: AbortSignal;
}

/** The request field for which faults in a book are reported. */
const field = 'book';

export async function readBook({
  source,
  signal,
  readsCode = false,
  charsMax = bookCharsMax,
  ...reading
}: BookReading): Promise<Book> {
  const bytes = typeof source === 'string' ? await readSource(source) : source;
  const name = typeof source === 'string' ? basename(source) : undefined;
  const task: ReadingTask = { ...(name && { name }), ...reading, readsCode, charsMax, byteCount: bytes.length };
  const news = await runInProcess<ReadingNews>({
    file: new URL('./reading-process.ts', import.meta.url),
    task,
    input: bytes,
    heapMegabytesMax: readingMegabytesMax,
    cpuSecondsMax: readingCpuSecondsMax,
    signal,
  }).catch(throwLimit);
  if ('fault' in news) throw refuse(news.fault.reason, news.fault.message);
  return news.book;
}

async function readSource(path: string): Promise<Buffer> {
  const { size } = await stat(path);
  if (size > bookBytesMax) throw refuse('too_large', `is larger than ${bookBytesMax >> 20} MiB`);
  return readFile(path);
}

function throwLimit(error: unknown): never {
  if (!(error instanceof LimitReached)) throw error;
  if (error.limit === 'memory') throw refuse('too_large', 'needs too much memory to read');
  throw refuse('too_slow', `needs more than ${readingCpuSecondsMax} s to read`);
}

const refuse = (reason: BookFaultReason, message: string): Failure =>
  new Failure('invalid_request', { message: `The book ${message}.`, details: [{ field, reason, message }] });
