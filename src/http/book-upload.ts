// POST /api/books, written by hand because the body is the file itself. Response, query and errors follow the contract.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BookService } from '../../gen/sonant/v1/book_pb.ts';
import type { Handlers } from '../api/service-handlers.ts';
import { bookTypes } from '../books/book-kind.ts';
import { bookUploadBytesMax } from '../books/book-limits.ts';
import { endpointsOf } from '../contract/schema.ts';
import { Failure } from '../errors.ts';
import { readBody, takeUploadSlot } from '../net/request-body.ts';
import { uploadArrivalMs } from '../net/request-limits.ts';
import { type ContractRoutesOptions, contractRoute } from './contract-routes.ts';
import { documented, type RouteBody } from './route-docs.ts';

const limits = { bytesMax: bookUploadBytesMax, arrivalMs: uploadArrivalMs, takeSlot: takeUploadSlot };
const types = [...Object.keys(bookTypes), 'application/octet-stream'];
const message = `The request body must be an uncompressed book of one of these types: ${types.join(', ')}.`;

export function addBookRoutes(
  app: FastifyInstance,
  handlers: Handlers<typeof BookService>,
  options: ContractRoutesOptions,
): void {
  const { readBook } = BookService.method;
  const [endpoint] = endpointsOf(readBook);
  const { operation, docs, handle } = contractRoute(readBook, endpoint!, handlers, options);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) =>
      done(new Failure('unsupported_media_type', { message })),
    );
    scope.addContentTypeParser(types, readFile);
    scope.post(
      endpoint!.path,
      documented({ ...docs, body }, options.admitTo(operation), { bodyBytesMax: bookUploadBytesMax }),
      (request, reply) => {
        if (!(request.body instanceof Uint8Array)) throw new Failure('unsupported_media_type', { message });
        return handle(request, reply);
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

const inMarkdown = '# Chapter 1\n\nThe lamp went out at nine.';
const inHtml = '<h1>Chapter 1</h1><p>The lamp went out at nine.</p>';

const body: RouteBody = {
  examples: {},
  file: {
    types,
    description: `The file, at most ${bookUploadBytesMax >> 20} MiB.`,
    examples: {
      'text/markdown': inMarkdown,
      'text/x-markdown': inMarkdown,
      'text/plain': 'Chapter 1\n\nThe lamp went out at nine.',
      'text/html': inHtml,
      'application/xhtml+xml': inHtml,
    },
  },
};
