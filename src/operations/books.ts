// Books read for callers, so that their chapters can be edited and sent as a job. Few are read at once: each takes a thread
// and its memory.
import type { Book } from '../books/book.ts';
import { bookAnswerCharsMax } from '../books/book-limits.ts';
import { type BookReading, readBook } from '../books/read-book.ts';
import { Failure } from '../errors.ts';
import { coverBytesMax, metadataMax } from '../jobs/limits.ts';
import type { Call } from './call.ts';
import { booksReadMax } from './limits.ts';

export type BookFile = Omit<BookReading, 'signal' | 'charsMax'>;

export interface BookOperations {
  readBook(call: Call, file: BookFile): Promise<Book>;
}

const retryAfterSeconds = 5;

export function createBookOperations(): BookOperations {
  let reading = 0;
  return {
    async readBook({ signal }, file) {
      if (reading >= booksReadMax)
        throw new Failure('overloaded', { message: 'Too many books are read at once; try again.', retryAfterSeconds });
      reading++;
      try {
        return await readBook({ ...file, charsMax: bookAnswerCharsMax, signal });
      } finally {
        reading--;
      }
    },
  };
}

/** What of a book goes into the request for a job. */
export interface JobFieldsOfBook {
  metadata: Readonly<Record<string, string>>;
  /** In base64; undefined where there is none that a job takes. */
  cover: string | undefined;
}

export function toJobFields({ title, author, metadata, cover }: Book): JobFieldsOfBook {
  const known = Object.entries({ title, author, ...metadata }).filter(([, value]) => value !== '');
  const takes = cover && cover.bytes.length <= coverBytesMax && /^image\/(jpeg|png)$/.test(cover.contentType);
  return {
    metadata: Object.fromEntries(known.map(([name, value]) => [name, value.slice(0, metadataMax.valueChars)])),
    cover: takes ? Buffer.from(cover.bytes).toString('base64') : undefined,
  };
}
