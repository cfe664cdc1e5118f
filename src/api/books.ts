// Reads books for callers, so that they can edit the chapters and send them as a job. Each account can read one book at
// a time. Few books are read in parallel, because each needs a process and memory.
import { BookPartSchema, type BookService, CodeReading, type ReadBookRequest } from '../../gen/sonant/v1/book_pb.ts';
import { toJobFields } from '../clips.ts';
import { type Book, isCharset, readBook } from '../library.ts';
import { countChars } from '../platform/count-chars.ts';
import { Failure } from '../platform/errors.ts';
import type { Call } from './call.ts';
import { booksReadMax } from './call-limits.ts';
import { toEnum } from './messages.ts';
import type { Handlers } from './service-handlers.ts';

const retryAfterSeconds = 5;
/** Maximum length of all chapters in the response. */
const bookAnswerCharsMax = 6_000_000;
/** Maximum length of an unknown charset in an error message. */
const charsetCharsMax = 40;

export function createBookHandlers() {
  const readers = new Set<string>();
  return {
    async readBook({ file, contentType, name, code }: ReadBookRequest, { caller: { accountId }, signal }: Call) {
      const { type, charset } = parseType(contentType);
      if (readers.has(accountId)) throw alreadyReading();
      if (readers.size >= booksReadMax)
        throw new Failure('overloaded', {
          message: 'Too many books are being read. Try again later.',
          retryAfterSeconds,
        });
      readers.add(accountId);
      try {
        const book = await readBook({
          source: file,
          type,
          ...(charset && { charset }),
          ...(name && { name }),
          readsCode: code === CodeReading.READ,
          charsMax: bookAnswerCharsMax,
          signal,
        });
        return { book: toMessage(book) };
      } finally {
        readers.delete(accountId);
      }
    },
  } satisfies Handlers<typeof BookService>;
}

const alreadyReading = () =>
  new Failure('rate_limit_exceeded', {
    message: 'Another book of this account is being read. Try again later.',
    limitReason: 'concurrency',
    limit: 1,
    retryAfterSeconds,
  });

/** Parses the Content-Type. Throws a Failure if its charset is unknown. */
function parseType(contentType: string): { type: string; charset: string | undefined } {
  const [type = '', ...parameters] = contentType.split(';');
  const charset = /(?:^|;)\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(parameters.join(';'))?.slice(1).join('');
  if (charset !== undefined && !isCharset(charset))
    throw new Failure('unsupported_media_type', {
      message: `The charset "${charset.slice(0, charsetCharsMax)}" of the request body is not supported.`,
    });
  return { type: type.trim().toLowerCase(), charset };
}

function toMessage(book: Book) {
  const { title, author, language, chapters, warnings } = book;
  const { metadata, cover } = toJobFields(book);
  const isLeftOut = book.cover !== undefined && cover === undefined;
  return {
    title,
    author,
    language,
    // The cover as bytes, the form that a job accepts.
    cover: cover ?? new Uint8Array(),
    metadata,
    chapters: chapters.map(({ title, text, part, headingLevel }) => ({
      title,
      text,
      part: toEnum(BookPartSchema, part),
      headingLevel,
      chars: countChars(text),
    })),
    warnings: [
      ...warnings,
      ...(isLeftOut ? ['The cover is omitted: a job accepts a complete JPEG or PNG image of at most 1 MiB.'] : []),
    ],
  };
}
