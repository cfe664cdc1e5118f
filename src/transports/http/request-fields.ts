// The fields of a request. Its body is JSON in UTF-8, with limits on size and time. The reply reports what the route
// ignores: members of the body, query parameters, and an Idempotency-Key on a route that does not support it.
// X-Did-You-Mean lists known names that are similar. Every route that requires a key checks the query.
//     X-Ignored-Fields: language, colour
//     X-Did-You-Mean: language=language_code
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify';
import {
  type Fields,
  isObject,
  nameUnknown,
  toViolation,
  type UnknownField,
  unknownField,
  unknownFieldsMax,
} from '../../contract.ts';
import { Failure, type FieldViolation, shorten } from '../../platform/errors.ts';
import { bodyArrivalMs, requestBytesMax, uploadArrivalMs } from '../../platform/net/request-limits.ts';
import { notJsonMessage } from '../net/failure-reply.ts';
import { headerText } from '../net/headers.ts';
import { type BodyLimits, parseBody, takeBody } from '../net/request-body.ts';
import { parseStrictJson, parseStrictJsonInSteps, pieceBytes } from '../net/strict-json.ts';
import type { ReplyHeaderName } from './documented-headers.ts';
import { isForKey, type RouteDocs } from './route-docs.ts';

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
  if (!bytes)
    return parseBody(payload, limits, (all) =>
      all.length === 0 ? undefined : parseStrictJsonInSteps(all, { valuesMax }),
    );
  if (bytes.length > pieceBytes) return parseStrictJsonInSteps(bytes, { valuesMax });
  done(null, parseStrictJson(bytes, { valuesMax }));
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

/** The members of an object that are not known. Their names get the prefix of nested members. */
export const unknownIn = (given: Fields, known: readonly string[], prefix = ''): UnknownField[] =>
  Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => unknownField(name, known, prefix));

/** The known members of an object, and the others. */
export function sortFields(given: Fields, known: readonly string[]) {
  const fields: Record<string, unknown> = {};
  for (const name of known) if (Object.hasOwn(given, name)) fields[name] = given[name];
  return { fields, ignored: unknownIn(given, known) };
}

/** The violations of a strict gateway for unknown members or parameters. */
export const strictFaults = (unknown: readonly UnknownField[], isStrict: boolean): FieldViolation[] =>
  isStrict ? unknown.slice(0, unknownFieldsMax).map(toViolation) : [];

/** Unknown members by body, stored so that the reply can name them even if the request fails later. */
const ignoredMembers = new WeakMap<object, readonly UnknownField[]>();

export const noteIgnored = (body: Fields, ignored: readonly UnknownField[]): void =>
  void ignoredMembers.set(body, ignored);

const ignoredOf = (body: unknown): readonly UnknownField[] => (isObject(body) && ignoredMembers.get(body)) || [];

/** The parameters of the query that the route does not document. */
function unknownInQuery({ query, routeOptions }: FastifyRequest): UnknownField[] {
  const parameters = routeOptions.config.operation?.parameters ?? [];
  const known = parameters.flatMap((parameter) => (parameter.in === 'query' ? [parameter.name] : []));
  return unknownIn(query as Fields, known);
}

/** Throws a Failure if the gateway is strict and the query has unknown parameters. */
export function refuseUnknownQuery(request: FastifyRequest, isStrict: boolean): void {
  const details = strictFaults(unknownInQuery(request), isStrict);
  if (details.length > 0) throw new Failure('invalid_request', { details });
}

/** Whether the route's parser sorts the query itself. */
const hasQuery = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.operation?.parameters?.some((parameter) => parameter.in === 'query') ?? false;

declare module 'fastify' {
  interface FastifyRequest {
    ignoredQuery: readonly UnknownField[] | undefined;
  }
}

export const createQueryCheck =
  (isStrict: boolean): preHandlerHookHandler =>
  (request, reply, done) => {
    if (request.headers['idempotency-key'] === undefined && !request.url.includes('?')) return done();
    const { operation } = request.routeOptions.config;
    if (operation && isForKey(operation)) checkQuery(request, reply, { operation, isStrict });
    done();
  };

function checkQuery(
  request: FastifyRequest,
  reply: FastifyReply,
  { operation, isStrict }: { operation: RouteDocs; isStrict: boolean },
): void {
  const ignored = unknownInQuery(request);
  const faults = strictFaults(ignored, isStrict);
  if (request.method === 'POST' && !takesIdempotencyKey(operation)) checkUnusedKey(request, isStrict, ignored, faults);
  // The parser of a route with query parameters reports these faults together with its own faults.
  if (faults.length > 0 && !hasQuery(request)) throw new Failure('invalid_request', { details: faults });
  request.ignoredQuery = ignored;
  reply.headers(ignoredHeaders(request, []));
}

export function ignoredHeaders(
  { ignoredQuery = [] }: Pick<FastifyRequest, 'ignoredQuery'>,
  ofBody: readonly UnknownField[],
): Partial<Record<ReplyHeaderName, string>> {
  if (ofBody.length === 0 && ignoredQuery.length === 0) return nothing;
  const byName = new Map([...ofBody, ...ignoredQuery].map((field) => [field.name, field]));
  const all = [...byName.values()].slice(0, unknownFieldsMax);
  const near = all.flatMap(({ name, meant }) => (meant ? [`${listItem(name)}=${listItem(meant)}`] : []));
  return {
    'X-Ignored-Fields': all.map(({ name }) => listItem(name)).join(', '),
    ...(near.length > 0 && { 'X-Did-You-Mean': near.join(', ') }),
  };
}

const nothing = Object.freeze({});
const idempotencyKey = 'Idempotency-Key';
const takesIdempotencyKey = ({ parameters = [] }: RouteDocs) => parameters.some(({ name }) => name === idempotencyKey);

/** Reports an Idempotency-Key on a route that stores no answers, or rejects it if the gateway is strict. */
export function checkUnusedKey(
  { headers }: FastifyRequest,
  isStrict: boolean,
  ignored: UnknownField[],
  faults: FieldViolation[],
): void {
  if (headers['idempotency-key'] === undefined) return;
  ignored.push({ name: idempotencyKey, meant: undefined });
  const message = 'applies only to links of texts (method rest, return_format url); remove it';
  if (isStrict) faults.push({ field: idempotencyKey, reason: 'unknown', message });
}

/** Removes the headers: a failed request has ignored nothing. */
export function withoutIgnored(reply: FastifyReply): void {
  for (const name of ['X-Ignored-Fields', 'X-Did-You-Mean']) reply.removeHeader(name);
}

const listItem = (name: string) => headerText(name).replaceAll(',', '%2C');

export function withUnknownFields(failure: Failure, request: FastifyRequest): Failure {
  const { body, ignoredQuery = [] } = request;
  return failure.facts.details ? nameUnknown(failure, [...ignoredOf(body), ...ignoredQuery]) : failure;
}
