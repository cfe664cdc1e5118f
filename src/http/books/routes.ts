// POST /api/books: reads a book from the file that is the body, in the chapters that a job takes.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type BookOperations, toJobFields } from '../../api/books.ts';
import { readBookOperation } from '../../api/operation.ts';
import type { Book } from '../../books/book.ts';
import { bookTypes } from '../../books/book-kind.ts';
import { bookUploadBytesMax } from '../../books/book-limits.ts';
import { isCharset } from '../../books/decode-text.ts';
import { Failure } from '../../errors.ts';
import { uploadArrivalMs } from '../../net/limits.ts';
import { readBody } from '../../net/request-body.ts';
import { takeUploadSlot } from '../../net/upload-slots.ts';
import { countChars } from '../../text/count-chars.ts';
import { type AdmitTo, run } from '../admission.ts';
import { sortQuery } from '../known-fields.ts';
import { takeText } from '../page-query.ts';
import { documented } from '../route-docs.ts';
import { bookDocs } from './openapi.ts';

export interface BookRoutesOptions {
  books: BookOperations;
  admitTo: AdmitTo;
  isStrict: boolean;
}

const limits = { bytesMax: bookUploadBytesMax, arrivalMs: uploadArrivalMs, takeSlot: takeUploadSlot };
const types = [...Object.keys(bookTypes), 'application/octet-stream'];
const message = `The request body must be a book, not compressed, of one of these types: ${types.join(', ')}.`;
const nameCharsMax = 300;
/** Of a charset that is reported. */
const charsetCharsMax = 40;

export function addBookRoutes(app: FastifyInstance, { books, admitTo, isStrict }: BookRoutesOptions): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) =>
      done(new Failure('unsupported_media_type', { message })),
    );
    scope.addContentTypeParser(types, readFile);
    scope.post(
      '/api/books',
      documented(bookDocs.read, admitTo(readBookOperation), { bodyBytesMax: bookUploadBytesMax }),
      async (request, reply) => {
        const file = parseFile(request, isStrict);
        const book = await run(request, reply, readBookOperation, (call) => books.readBook(call, file));
        reply.header('cache-control', 'no-store');
        return toBookJson(book);
      },
    );
  });
}

async function readFile({ headers }: FastifyRequest, payload: IncomingMessage): Promise<Uint8Array | undefined> {
  if (!/^identity$/i.test(headers['content-encoding'] ?? 'identity'))
    throw new Failure('unsupported_media_type', { message });
  for await (const bytes of readBody(payload, limits)) return bytes;
  return undefined;
}

function parseFile(request: FastifyRequest, isStrict: boolean) {
  const { fields, faults } = sortQuery(request, isStrict);
  const name = takeText(fields, 'name', faults);
  if (name.length > nameCharsMax)
    faults.push({ field: 'name', reason: 'length', message: `must be at most ${nameCharsMax} characters` });
  const code = takeText(fields, 'code', faults) || 'skip';
  if (code !== 'skip' && code !== 'read')
    faults.push({ field: 'code', reason: 'enum', message: 'must be skip or read', allowed: ['skip', 'read'] });
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  if (!(request.body instanceof Uint8Array)) throw new Failure('unsupported_media_type', { message });
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').split(';');
  const charset = /(?:^|;)\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(parameters.join(';'))?.slice(1).join('');
  if (charset !== undefined && !isCharset(charset))
    throw new Failure('unsupported_media_type', {
      message: `The charset "${charset.slice(0, charsetCharsMax)}" of the request body is not known.`,
    });
  return {
    source: request.body,
    type: type.trim().toLowerCase(),
    ...(charset && { charset }),
    ...(name && { name }),
    readsCode: code === 'read',
  };
}

function toBookJson(book: Book) {
  const { metadata, cover } = toJobFields(book);
  const isLeftOut = book.cover !== undefined && cover === undefined;
  return {
    title: book.title,
    author: book.author,
    language: book.language || null,
    cover: cover ?? null,
    metadata,
    chapters: book.chapters.map(({ title, text, part, headingLevel }) => ({
      title,
      text,
      part,
      heading_level: headingLevel ?? null,
      chars: countChars(text),
    })),
    warnings: [
      ...book.warnings,
      ...(isLeftOut ? ['The cover is left out: a job takes a whole JPEG or PNG picture of at most 1 MiB.'] : []),
    ],
  };
}
