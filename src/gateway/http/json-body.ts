// Reads the body of a request: JSON in UTF-8, with limits of size and time.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { bodyArrivalMs, requestBytesMax, uploadArrivalMs } from '../../net/limits.ts';
import { type BodyLimits, readBody } from '../../net/request-body.ts';
import { takeUploadSlot } from '../../net/upload-slots.ts';
import { notJsonMessage } from './failure-reply.ts';
import { type Fields, isObject } from './known-fields.ts';
import { parseStrictJsonInSteps } from './strict-json.ts';

const usualLimits: BodyLimits = { bytesMax: requestBytesMax, arrivalMs: bodyArrivalMs };

function limitsOf({ routeOptions }: FastifyRequest): BodyLimits {
  const { jsonBytesMax: bytesMax } = routeOptions.config;
  return bytesMax === undefined ? usualLimits : { bytesMax, arrivalMs: uploadArrivalMs, takeSlot: takeUploadSlot };
}

/** Accepts only JSON bodies; others are `unsupported_media_type`. */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', readJson);
  // 100 Continue is sent only when the body is about to be read, so not for a rejected request.
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (request.headers.expect) reply.raw.writeContinue();
    done();
  });
}

/** Rejects a body whose Content-Length is too large. */
export function checkBodySize({ headers, routeOptions }: FastifyRequest): void {
  const { jsonBytesMax = requestBytesMax, bodyBytesMax: limit = jsonBytesMax } = routeOptions.config;
  const actual = Number(headers['content-length'] ?? 0);
  if (actual > limit) throw new Failure('payload_too_large', { limit, actual });
}

async function readJson(request: FastifyRequest, payload: IncomingMessage): Promise<unknown> {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = request.headers;
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(type)?.[1] ?? 'utf-8';
  if (!/^identity$/i.test(encoding) || !/^utf-?8$/i.test(charset))
    throw new Failure('unsupported_media_type', { message: notJsonMessage });
  for await (const bytes of readBody(payload, limitsOf(request))) {
    const { jsonValuesMax: valuesMax } = request.routeOptions.config;
    return bytes.length === 0 ? undefined : parseStrictJsonInSteps(bytes, { valuesMax });
  }
  return undefined;
}

export function fieldsOf({ body }: FastifyRequest): Fields {
  if (isObject(body)) return body;
  throw new Failure('invalid_request', { message: 'The request body must be a JSON object.' });
}
