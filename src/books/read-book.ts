// Reads a book from its file: plain text, Markdown, HTML, or EPUB 2 and 3. It is read in a thread of its own, whose memory
// and time are limited, so that a service goes on meanwhile and a hostile book ends nothing but its own thread.
import { Worker } from 'node:worker_threads';
import { Failure } from '../errors.ts';
import type { Book } from './book.ts';
import type { BookFaultReason } from './book-fault.ts';
import { bookCharsMax, readingMegabytesMax, readingMsMax } from './book-limits.ts';
import type { ReadingNews, ReadingTask } from './reading-thread.ts';

export interface BookReading extends Omit<ReadingTask, 'readsCode' | 'charsMax'> {
  /** Of all chapters together. */
  charsMax?: number;
  /** Whether blocks of code are read, line by line; else they are left out. */
  readsCode?: boolean;
  signal: AbortSignal;
}

/** The field under which faults of a book are reported. */
const field = 'book';

export async function readBook({
  signal,
  readsCode = false,
  charsMax = bookCharsMax,
  ...reading
}: BookReading): Promise<Book> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./reading-thread.ts', import.meta.url), {
    workerData: { ...reading, readsCode, charsMax } satisfies ReadingTask,
    resourceLimits: { maxOldGenerationSizeMb: readingMegabytesMax, maxYoungGenerationSizeMb: 64 },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Book>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const late = setTimeout(
    () => reject(refuse('too_slow', `takes more than ${readingMsMax / 1000} s to read`)),
    readingMsMax,
  );
  worker.once('error', (error) =>
    reject(isOutOfMemory(error) ? refuse('too_large', 'takes too much memory to read') : error),
  );
  worker.once('exit', () => reject(new Error('the thread that reads a book has ended')));
  worker.on('message', (news: ReadingNews) => {
    if ('book' in news) resolve(news.book);
    else reject(refuse(news.fault.reason, news.fault.message));
  });
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', stop);
    await worker.terminate();
  }
}

const isOutOfMemory = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';

const refuse = (reason: BookFaultReason, message: string): Failure =>
  new Failure('invalid_request', { message: `The book ${message}.`, details: [{ field, reason, message }] });
