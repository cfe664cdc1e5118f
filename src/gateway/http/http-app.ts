// Fastify as this door needs it: silent, with our ids, our JSON and our failures; what every request meets before its
// route, and how whatever was thrown is told.
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import { headerBytesMax } from '../../net/limits.ts';
import { apiVersion, toRequestId } from '../../net/request-id.ts';
import { toOpenAiReply } from '../openai/failure-reply.ts';
import { type OnRequestEnd, watchEnd } from './ended-request.ts';
import { fromThrown, toFailureReply } from './failure-reply.ts';
import { checkBodySize, readJsonBodies } from './json-body.ts';
import { createMethodCheck } from './method-check.ts';
import { safetyHeaders } from './safety-headers.ts';

export interface HttpAppOptions {
  toServer(listener: RequestListener): Server;
  /** Believe what the proxy in front says of where requests come from. */
  isBehindProxy?: boolean;
  /** Whether browsers come by TLS. */
  isSecure?: () => boolean;
  isLeaving(): boolean;
  isDraining(): boolean;
  onRequestEnd: OnRequestEnd;
}

/** It lives as long as the process, and says so to whoever would otherwise restart it. */
const livesOn = '/healthz';
/** Below it every failure is told as OpenAI tells its own. */
const openAiPath = '/v1/';

export function createHttpApp({
  toServer,
  isBehindProxy = false,
  isSecure = () => false,
  isLeaving,
  isDraining,
  onRequestEnd,
}: HttpAppOptions): FastifyInstance {
  const headersOfAll = ({ id }: FastifyRequest) => ({
    'X-Request-Id': id,
    'X-API-Version': apiVersion,
    ...(isSecure() ? secureHeaders : plainHeaders),
  });
  const tell = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    request.fault = error;
    if (reply.raw.closed) return void reply.hijack();
    const listener = { requestId: request.id, accept: request.headers.accept };
    const toReply = request.url.startsWith(openAiPath) ? toOpenAiReply : toFailureReply;
    const { status, headers, body } = toReply(fromThrown(error), listener);
    // Fastify gives up the connection of a body that it did not like; we let it come to its end.
    if (!isLeaving()) reply.removeHeader('connection');
    return void reply.code(status).headers(headers).send(body);
  };

  const app: FastifyInstance = fastify({
    logger: false,
    // The connection's other end is believed, and nobody behind it.
    trustProxy: isBehindProxy && ((_address: string, hop: number) => hop === 0),
    serverFactory: toServer,
    genReqId: ({ headers }: IncomingMessage) => toRequestId(headers['x-request-id']),
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: headerBytesMax },
    // An address that cannot be read leads nowhere; it has met no hook.
    frameworkErrors(error, request, reply) {
      reply.headers(headersOfAll(request));
      tell(error, request, reply);
    },
  });
  app.decorateRequest('call', undefined);
  app.decorateRequest('fault', undefined);
  app.setErrorHandler(tell);
  readJsonBodies(app);

  const checkMethod = createMethodCheck(app);
  app.addHook('onRequest', async (request, reply) => {
    watchEnd(request, reply, onRequestEnd);
    reply.headers(headersOfAll(request));
    if (isLeaving()) reply.header('connection', 'close');
    if (isDraining() && request.routeOptions.url !== livesOn)
      throw new Failure('overloaded', { message: 'The service is stopping; try again.' });
    checkMethod(request, reply);
    checkQuery(request.url);
    if (!request.routeOptions.config.isRpc) checkBodySize(request);
  });
  return app;
}

/** A query that is not UTF-8 would else be taken as it is written, percent signs and all. */
function checkQuery(url: string): void {
  const at = url.indexOf('?');
  if (at < 0 || !url.includes('%', at)) return;
  try {
    decodeURIComponent(url.slice(at));
  } catch (error) {
    throw new Failure('invalid_request', { message: 'The query is not percent-encoded UTF-8.' }, error);
  }
}

const [plainHeaders, secureHeaders] = [safetyHeaders(false), safetyHeaders(true)];
