// Configures Fastify: request ids, strict JSON, the hooks of every request, and the rendering of failures. Fastify's
// own logging is off.
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { callerLeft, wasReported } from '../../api.ts';
import { Failure, shorten } from '../../platform/errors.ts';
import { headerBytesMax } from '../../platform/net/request-limits.ts';
import { createMetrics, type Metrics } from '../../platform/telemetry/prometheus.ts';
import { fromThrown, toFailureReply } from '../net/failure-reply.ts';
import { apiVersion, toRequestId } from '../net/headers.ts';
import { checkBodySize, readJsonBodies, withoutIgnored, withUnknownFields } from './request-fields.ts';
import { isForKey, type RouteDocs } from './route-docs.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The error that was thrown while the request was handled. */
    fault: unknown;
  }
}

/** A request whose reply has been sent or whose client has disconnected, for the access log. */
export interface EndedRequest {
  requestId: string;
  method: string;
  /** The pattern of the path, such as "/api/voices/:id"; empty if there is no such route. */
  route: string;
  status: number;
  callerId: string | undefined;
  /** The failure; undefined if it was already reported at the end of a call. */
  failure: Failure | undefined;
  durationMs: number;
  /** Whether the reply is complete. False if the client disconnected early or the body was aborted. */
  isWhole: boolean;
}

export type OnRequestEnd = (request: EndedRequest) => void;

/** Returns a function that counts a request when it ends, and reports it once. */
export function createRequestWatch(metrics: Metrics, onRequestEnd: OnRequestEnd) {
  const requests = metrics.counter('sonant_http_requests_total', 'Finished HTTP requests, by route and status.');
  const seconds = metrics.distribution('http_server_request_duration_seconds', 'Duration of HTTP requests.', {
    otelName: 'http.server.request.duration',
  });
  return (request: FastifyRequest, { raw }: FastifyReply): void => {
    const begunMs = performance.now();
    raw.on('close', () => {
      const { fault, method } = request;
      const route = request.routeOptions.url ?? '';
      const durationMs = performance.now() - begunMs;
      const status = String(raw.statusCode);
      requests({ method, route, status });
      const labels = { 'http.request.method': method, 'http.route': route, 'http.response.status_code': status };
      seconds(labels, durationMs / 1000);
      onRequestEnd({
        requestId: request.id,
        method,
        route,
        status: raw.statusCode,
        callerId: request.call?.callerId,
        failure: fault === undefined || fault === callerLeft || wasReported(fault) ? undefined : fromThrown(fault),
        durationMs,
        isWhole: raw.writableFinished,
      });
    });
  };
}

/**
 * How failures are rendered below a path. If a header is named, the form applies only to requests with that header. The
 * first matching form applies.
 */
export type FailureForm = readonly [path: string, toReply: typeof toFailureReply, header?: string];

interface HttpAppOptions {
  toServer(listener: RequestListener): Server;
  /** Whether to trust X-Forwarded-For from the proxy in front of the service. */
  isBehindProxy?: boolean;
  /** Whether browsers connect with TLS. */
  isSecure?: () => boolean;
  isLeaving(): boolean;
  isDraining(): boolean;
  onRequestEnd: OnRequestEnd;
  metrics?: Metrics | undefined;
  /** Forms of failures in the APIs of other vendors, by path. */
  failureForms?: readonly FailureForm[];
}

/** Path that is also served while the service drains, so that no orchestrator restarts the process. */
const livenessPath = '/healthz';
const refuseSchemas = () => () => {
  throw new Error('routes have no schemas: fields are parsed by their operations');
};
const noSchemaCompilers = { buildValidator: refuseSchemas, buildSerializer: refuseSchemas };

export function createHttpApp({
  toServer,
  isBehindProxy = false,
  isSecure = () => false,
  isLeaving,
  isDraining,
  onRequestEnd,
  metrics = createMetrics(),
  failureForms = [],
}: HttpAppOptions): FastifyInstance {
  const watchEnd = createRequestWatch(metrics, onRequestEnd);
  const setHeadersOfAll = (reply: FastifyReply, { id }: FastifyRequest) =>
    reply.header('x-request-id', id).headers(isSecure() ? secureHeaders : plainHeaders);
  const sendFailure = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    request.fault = error;
    if (reply.raw.closed) return void reply.hijack();
    withoutIgnored(reply);
    const recipient = { requestId: request.id, accept: request.headers.accept };
    const { url, headers: sent } = request;
    const address = `${url.split('?', 1)[0]}/`;
    const isOf = (path: string, header = '') => address.startsWith(`${path}/`) && (header === '' || header in sent);
    const toReply = failureForms.find(([path, , header]) => isOf(path, header))?.[1] ?? toFailureReply;
    const failure = toReply === toFailureReply ? withUnknownFields(fromThrown(error), request) : fromThrown(error);
    const { status, headers, body } = toReply(failure, recipient);
    if (status === 415) reply.header('accept-encoding', 'identity');
    // Keeps the connection open, which Fastify would close after rejecting a body.
    if (!isLeaving()) reply.removeHeader('connection');
    return void reply.code(status).headers(headers).send(body);
  };

  const app: FastifyInstance = fastify({
    logger: false,
    // Trusts only the peer of the connection, not other proxies in front of that peer.
    trustProxy: isBehindProxy && ((_address: string, hop: number) => hop === 0),
    serverFactory: toServer,
    genReqId: ({ headers }: IncomingMessage) => toRequestId(headers['x-request-id']),
    // Each GET has a HEAD, unless its route says otherwise (`exposeHeadRoute: false`), as those of streams do.
    exposeHeadRoutes: true,
    return503OnClosing: false,
    // The server answers malformed requests itself.
    clientErrorHandler: () => {},
    routerOptions: { maxParamLength: headerBytesMax },
    // No route has a validation schema; loading the compilers would only slow down startup.
    schemaController: { compilersFactory: noSchemaCompilers },
    // Fastify rejects a malformed URL before any hook runs, so the reply is made here.
    frameworkErrors(error, request, reply) {
      setHeadersOfAll(reply, request);
      sendFailure(error, request, reply);
    },
  });
  app.decorateRequest('call', undefined);
  app.decorateRequest('limitStatus', undefined);
  app.decorateRequest('fault', undefined);
  app.decorateRequest('ignoredQuery', undefined);
  app.setErrorHandler(sendFailure);
  readJsonBodies(app);

  const checkMethod = createMethodCheck(app);
  app.addHook('onRequest', (request, reply, done) => {
    watchEnd(request, reply);
    setHeadersOfAll(reply, request);
    if (isLeaving()) reply.header('connection', 'close');
    // The properties are read once, because Fastify computes them on each access.
    const { routeOptions, url } = request;
    if (isDraining() && routeOptions.url !== livenessPath)
      throw new Failure('overloaded', { message: 'The service is stopping. Try again later.' });
    checkMethod(request, reply);
    if (url.includes('%')) checkEscapes(url, routeOptions);
    if (!routeOptions.config.isRpc) checkBodySize(request, routeOptions);
    done();
  });
  return app;
}

function checkEscapes(url: string, routeOptions: FastifyRequest['routeOptions']): void {
  // The value of a query parameter may contain another question mark.
  const end = url.includes('?') ? url.indexOf('?') : url.length;
  checkPath(url.slice(0, end), routeOptions);
  checkQuery(url.slice(end + 1));
}

/** Rejects a query that is not UTF-8. Fastify would leave it undecoded, with its percent signs. */
function checkQuery(query: string): void {
  try {
    decodeURIComponent(query);
  } catch (error) {
    throw new Failure('invalid_request', { message: 'The query is not percent-encoded UTF-8.' }, error);
  }
}

/** Refuses NUL in a path, because no id contains NUL. */
function checkPath(path: string, { config }: FastifyRequest['routeOptions']): void {
  if (path.includes('%00') && config.operation && isForKey(config.operation))
    throw new Failure('invalid_request', { message: 'The path contains a NUL character.' });
}

/** Security headers of every reply (OWASP REST Security Cheat Sheet). Pages can override these headers. */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
} as const;
const plainHeaders = { 'x-api-version': apiVersion, ...securityHeaders };
const secureHeaders = { ...plainHeaders, 'strict-transport-security': `max-age=${365 * 24 * 3600}` };

interface KnownPath {
  pattern: RegExp;
  methods: Set<string>;
}

/**
 * Collects the routes that are added from now on, and rejects a request that matches none: `not_found`, or
 * `method_not_allowed` with `Allow` if the path has other methods. A literal path takes precedence over one with a
 * parameter. A path is `not_found` if it has other text where an id belongs: "/api/audio/speach" is a misspelt address.
 */
function createMethodCheck(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  const paths = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const known = paths.get(url) ?? { pattern: toPattern(url, config?.operation), methods: new Set() };
    for (const one of [method].flat()) known.methods.add(one);
    paths.set(url, known);
  });

  const find = (path: string) => paths.values().find(({ pattern }) => pattern.test(path));
  return ({ is404, url, routeOptions }, reply) => {
    if (!is404 && !routeOptions.url?.includes(':')) return;
    const path = url.split('?', 1)[0]!;
    const literal = path === routeOptions.url ? undefined : paths.get(path);
    const isMeant = literal === undefined && paths.has(`/v1${path}`);
    const found = literal ?? (is404 && !isMeant ? find(path) : undefined);
    if (found) {
      const allowed = [...found.methods].join(', ');
      reply.header('Allow', allowed);
      throw new Failure('method_not_allowed', { message: `This path supports only ${allowed}.` });
    }
    if (!is404 && !isMeant) return;
    // A client whose base URL is that of another vendor's API.
    const meant = [`/v1${path}`, path.replace(/^\/v1(?=\/)/, '')].find((each) => each !== path && find(each));
    if (meant === undefined) throw new Failure('not_found');
    const message = `Nothing exists at this path; did you mean ${shorten(meant)}? Check the base URL of the client.`;
    throw new Failure('not_found', { message });
  };
}

/** A path pattern in which each parameter must match its documented pattern, if it has one. */
function toPattern(url: string, operation: RouteDocs | undefined): RegExp {
  const shapeOf = (name: string) => {
    const schema = operation?.parameters?.find(
      (parameter) => parameter.in === 'path' && parameter.name === name,
    )?.schema;
    const pattern = String(schema?.pattern ?? '').replace(/^\^/, '');
    // A pattern that ends with "$" covers the whole id; any other pattern is a prefix.
    return pattern.endsWith('$') ? `(?:${pattern.slice(0, -1)})` : `${pattern}[^/]+`;
  };
  const parts = url.replaceAll('.', '\\.').replace(/:(\w+)/g, (_, name: string) => shapeOf(name));
  return new RegExp(`^${parts}$`);
}
