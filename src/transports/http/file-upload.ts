// POST /api/books and /api/audio/inspect, written by hand because the body is the file itself. The response, the query
// and the errors follow the protos.
import type { IncomingMessage } from 'node:http';
import type { DescMethod } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { endpointsOf } from '../../contract.ts';
import { bookTypes } from '../../library.ts';
import { Failure } from '../../platform/errors.ts';
import { fileBytesMax, uploadArrivalMs } from '../../platform/net/request-limits.ts';
import { parseBody } from '../net/request-body.ts';
import { contractRoute } from './contract-routes.ts';
import { checkUncompressed } from './request-fields.ts';
import { documented, type RouteBody, withDocs } from './route-docs.ts';
import type { RouteTools } from './route-tools.ts';

const limits = { bytesMax: fileBytesMax, arrivalMs: uploadArrivalMs };

interface UploadedFile {
  /** The name of the file's content in messages, such as "book". */
  what: string;
  types: readonly string[];
  examples?: Readonly<Record<string, string>>;
}

export function addFileRoute(
  app: FastifyInstance,
  method: DescMethod,
  tools: RouteTools,
  { what, types: own, examples = {} }: UploadedFile,
): void {
  const [endpoint] = endpointsOf(method);
  const { docs, handle } = contractRoute(method, endpoint!, tools);
  const types = [...own, 'application/octet-stream'];
  const message = `The request body must be an uncompressed ${what} of one of these types: ${types.join(', ')}.`;
  const description = `The file, at most ${fileBytesMax >> 20} MiB.`;
  const body: RouteBody = { examples: {}, file: { types, description, examples } };
  const readFile = async ({ headers }: FastifyRequest, payload: IncomingMessage) => {
    checkUncompressed(headers);
    return parseBody(payload, limits, (bytes) => bytes);
  };
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) =>
      done(new Failure('unsupported_media_type', { message })),
    );
    scope.addContentTypeParser(types, readFile);
    scope.post(
      endpoint!.path,
      documented(withDocs(docs, { body }), tools.admission.admitTo(method), { bodyBytesMax: fileBytesMax }),
      (request, reply) => {
        if (!(request.body instanceof Uint8Array)) throw new Failure('unsupported_media_type', { message });
        return handle(request, reply);
      },
    );
  });
}

const inMarkdown = '# Chapter 1\n\nThe lamp went out at nine.';
const inHtml = '<h1>Chapter 1</h1><p>The lamp went out at nine.</p>';

export const bookFile: UploadedFile = {
  what: 'book',
  types: Object.keys(bookTypes),
  examples: {
    'text/markdown': inMarkdown,
    'text/x-markdown': inMarkdown,
    'text/plain': 'Chapter 1\n\nThe lamp went out at nine.',
    'text/html': inHtml,
    'application/xhtml+xml': inHtml,
  },
};

const audioTypes = ['wav', 'x-wav', 'wave', 'mpeg', 'mp3', 'flac', 'x-flac', 'ogg', 'opus', 'pcm'];
export const audioFile: UploadedFile = { what: 'audio file', types: audioTypes.map((type) => `audio/${type}`) };
