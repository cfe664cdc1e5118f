// Reads the body of a request: JSON in UTF-8, with limits on size and time.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Fields, isObject } from '../../contract.ts';
import { Failure, shorten } from '../../platform/errors.ts';
import { bodyArrivalMs, requestBytesMax, uploadArrivalMs } from '../../platform/net/request-limits.ts';
import { type BodyLimits, readBody, takeBody } from '../net/request-body.ts';
import { parseStrictJson, parseStrictJsonInSteps, pieceBytes } from '../net/strict-json.ts';
import { notJsonMessage } from './thrown-failure.ts';

const usualLimits: BodyLimits = { bytesMax: requestBytesMax, arrivalMs: bodyArrivalMs };

function limitsOf(bytesMax: number | undefined): BodyLimits {
  return bytesMax === undefined ? usualLimits : { bytesMax, arrivalMs: uploadArrivalMs };
}

/** Accepts only JSON bodies; other types fail with `unsupported_media_type`. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', readJson);
  // Sends 100 Continue only when the body is about to be read, and therefore never for a rejected request.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.headers.expect) reply.raw.writeContinue();
    done();
  });
}

/** Rejects a body whose Content-Length is too large. */
export function checkBodySize({ headers }: FastifyRequest, { config }: FastifyRequest['routeOptions']): void {
  const { jsonBytesMax = requestBytesMax, bodyBytesMax: limit = jsonBytesMax } = config;
  const actual = Number(headers['content-length'] ?? 0);
  if (actual > limit) throw new Failure('payload_too_large', { limit, actual });
}

/** Reads a body as JSON. A body that has already arrived, which is usual, is read synchronously. */
function readJson(
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
): Promise<unknown> | undefined {
  checkEncoding(request, notJsonMessage);
  const { jsonBytesMax, jsonValuesMax: valuesMax } = request.routeOptions.config;
  const limits = limitsOf(jsonBytesMax);
  const bytes = takeBody(payload, limits);
  if (!bytes) return readArriving(payload, limits, valuesMax);
  if (bytes.length > pieceBytes) return parseStrictJsonInSteps(bytes, { valuesMax });
  done(null, bytes.length === 0 ? undefined : parseStrictJson(bytes, { valuesMax }));
  return undefined;
}

/** Rejects a compressed body, and text that is not UTF-8. */
export function checkEncoding({ headers }: FastifyRequest, message: string): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  if (encoding === 'identity' && type === 'application/json') return;
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(type)?.[1] ?? 'utf-8';
  checkUncompressed(headers);
  if (!/^utf-?8$/i.test(charset)) throw new Failure('unsupported_media_type', { message });
}

export function checkUncompressed({ 'content-encoding': encoding = 'identity' }: IncomingHttpHeaders): void {
  if (/^identity$/i.test(encoding)) return;
  const message = `A body with the Content-Encoding ${shorten(encoding)} is not accepted; the only encoding is identity.`;
  throw new Failure('unsupported_media_type', { message });
}

async function readArriving(
  payload: IncomingMessage,
  limits: BodyLimits,
  valuesMax: number | undefined,
): Promise<unknown> {
  for await (const bytes of readBody(payload, limits))
    return bytes.length === 0 ? undefined : await parseStrictJsonInSteps(bytes, { valuesMax });
  return undefined;
}

export function fieldsOf({ body }: FastifyRequest): Fields {
  if (isObject(body)) return body;
  throw new Failure('invalid_request', { message: 'The request body must be a JSON object.' });
}

/** Discards a body of any type: some clients send one by default, and must not be rejected for it. */
export function addWithoutBody(app: FastifyInstance, addRoutes: (scope: FastifyInstance) => void): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => {
      payload.resume();
      done(null);
    });
    addRoutes(scope);
  });
}
