// Reads a book from its file: plain text, Markdown, HTML, or EPUB 2 and 3. It is read in a process of its own: V8 ends the
// whole process where one allocation exceeds the limit of its heap, also if a thread made it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../errors.ts';
import type { Book } from './book.ts';
import type { BookFaultReason } from './book-fault.ts';
import { bookBytesMax, bookCharsMax, readingCpuSecondsMax, readingMegabytesMax } from './book-limits.ts';
import type { ReadingNews, ReadingTask } from './reading-process.ts';

export interface BookReading extends Omit<ReadingTask, 'readsCode' | 'charsMax' | 'byteCount'> {
  /** The path of a file, or its bytes. */
  source: string | Uint8Array;
  /** Of all chapters together. */
  charsMax?: number;
  /** Whether blocks of code are read, line by line; else they are left out. */
  readsCode?: boolean;
  signal: AbortSignal;
}

const program = fileURLToPath(new URL('./reading-process.ts', import.meta.url));
/** Only a shell can limit the CPU time of a process, which does not count while others have the CPU. */
const limitedNode = `ulimit -t ${readingCpuSecondsMax} && exec "$0" "$@"`;
const flags = [`--max-old-space-size=${readingMegabytesMax}`, '--max-semi-space-size=8'];
const stderrCharsMax = 500;

/** The field under which faults of a book are reported. */
const field = 'book';

export async function readBook({
  source,
  signal,
  readsCode = false,
  charsMax = bookCharsMax,
  ...reading
}: BookReading): Promise<Book> {
  const bytes = typeof source === 'string' ? await readSource(source) : source;
  signal.throwIfAborted();
  const name = typeof source === 'string' ? basename(source) : undefined;
  const task: ReadingTask = { ...(name && { name }), ...reading, readsCode, charsMax, byteCount: bytes.length };
  const child = spawn('/bin/sh', ['-c', limitedNode, process.execPath, ...flags, program, JSON.stringify(task)], {
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    serialization: 'advanced',
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
  });
  const { promise, resolve, reject } = Promise.withResolvers<Book>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-stderrCharsMax);
  });
  const closed = once(child, 'close').then(([, end]) => end as NodeJS.Signals | null);
  closed.then(
    (end) => reject(toFailure(end) ?? new Error(`the process that reads a book has ended: ${stderr}`)),
    reject,
  );
  child.on('message', (news: ReadingNews) => {
    if ('book' in news) resolve(news.book);
    else reject(refuse(news.fault.reason, news.fault.message));
  });
  // A child that is gone answers by its exit.
  child.stdin?.on('error', () => {}).end(bytes);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
    child.kill('SIGKILL');
  }
}

async function readSource(path: string): Promise<Buffer> {
  const { size } = await stat(path);
  if (size > bookBytesMax) throw refuse('too_large', `is larger than ${bookBytesMax >> 20} MiB`);
  return readFile(path);
}

/** By the signal that ended the process. */
function toFailure(end: NodeJS.Signals | null): Failure | undefined {
  if (end === 'SIGXCPU' || end === 'SIGKILL')
    return refuse('too_slow', `takes more than ${readingCpuSecondsMax} s to read`);
  return end === 'SIGABRT' || end === 'SIGTRAP' ? refuse('too_large', 'takes too much memory to read') : undefined;
}

const refuse = (reason: BookFaultReason, message: string): Failure =>
  new Failure('invalid_request', { message: `The book ${message}.`, details: [{ field, reason, message }] });
