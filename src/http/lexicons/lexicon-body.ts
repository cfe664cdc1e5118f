// The bodies of lexicons: JSON with more values than other bodies may have, or a PLS document as text.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { bodyArrivalMs, lexiconRequestBytesMax, lexiconValuesMax as valuesMax } from '../../net/limits.ts';
import { readBody } from '../../net/request-body.ts';
import { parseStrictJsonInSteps } from '../../net/strict-json.ts';
import { checkEncoding } from '../json-body.ts';

export const plsTypes = ['application/pls+xml', 'application/xml', 'text/xml'];

const limits = { bytesMax: lexiconRequestBytesMax, arrivalMs: bodyArrivalMs };
const message = 'The request body must be application/json or application/pls+xml, in UTF-8 and not compressed.';

export class PlsBody {
  readonly document: string;

  constructor(document: string) {
    this.document = document;
  }
}

/** The routes of this scope accept them. */
export function readLexiconBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const add = (type: string | string[], parse: (bytes: Uint8Array) => unknown) =>
    scope.addContentTypeParser(type, async (request: FastifyRequest, payload: IncomingMessage) => {
      checkEncoding(request, message);
      for await (const bytes of readBody(payload, limits)) return parse(bytes);
      return undefined;
    });
  add('application/json', (bytes) => (bytes.length === 0 ? undefined : parseStrictJsonInSteps(bytes, { valuesMax })));
  add(plsTypes, (bytes) => {
    if (!isUtf8(bytes)) throw new Failure('invalid_request', { message: 'The body is not valid UTF-8.' });
    return new PlsBody(Buffer.from(bytes).toString());
  });
  scope.addContentTypeParser('*', (_request, _payload, done) =>
    done(new Failure('unsupported_media_type', { message })),
  );
}
