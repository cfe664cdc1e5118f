// Books read for callers, so that their chapters can be edited and sent as a job. Few are read at once, and one of an account:
// each takes a process and its memory.
import type { Book } from '../books/book.ts';
import { bookAnswerCharsMax } from '../books/book-limits.ts';
import { type BookReading, readBook } from '../books/read-book.ts';
import { Failure } from '../errors.ts';
import { isCover } from '../jobs/cover.ts';
import { metadataMax } from '../jobs/limits.ts';
import { cutText } from '../text/count-chars.ts';
import type { Call } from './call.ts';
import { booksReadMax } from './limits.ts';

export type BookFile = Omit<BookReading, 'signal' | 'charsMax'>;

export interface BookOperations {
  readBook(call: Call, file: BookFile): Promise<Book>;
}

const retryAfterSeconds = 5;

export function createBookOperations(): BookOperations {
  const readers = new Set<string>();
  return {
    async readBook({ caller: { accountId }, signal }, file) {
      if (readers.has(accountId)) throw alreadyReading();
      if (readers.size >= booksReadMax)
        throw new Failure('overloaded', { message: 'Too many books are read at once; try again.', retryAfterSeconds });
      readers.add(accountId);
      try {
        return await readBook({ ...file, charsMax: bookAnswerCharsMax, signal });
      } finally {
        readers.delete(accountId);
      }
    },
  };
}

const alreadyReading = () =>
  new Failure('rate_limit_exceeded', {
    message: 'Another book of this account is being read; try again.',
    limitReason: 'concurrency',
    limit: 1,
    retryAfterSeconds,
  });

/** What of a book goes into the request for a job. */
export interface JobFieldsOfBook {
  metadata: Readonly<Record<string, string>>;
  /** In base64; undefined where there is none that a job takes. */
  cover: string | undefined;
}

export function toJobFields({ title, author, metadata, cover }: Book): JobFieldsOfBook {
  const known = Object.entries({ title, author, ...metadata }).filter(([, value]) => value !== '');
  return {
    metadata: Object.fromEntries(known.map(([name, value]) => [name, cutText(value, metadataMax.valueChars)])),
    cover: cover && isCover(cover.bytes) ? Buffer.from(cover.bytes).toString('base64') : undefined,
  };
}
