// Admits requests before a byte of the body is read. A route names the RPCs that it may call: the key must have the
// scopes of one of them. Once the body is read, the runner checks the scopes of the RPC that is called.
import type { DescMethod } from '@bufbuild/protobuf';
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { LimitStatus } from '../../accounts.ts';
import { type Call, callerLeft, type Runner, type RunningCall } from '../../api.ts';
import type { TraceHeaders } from '../../platform/telemetry/trace.ts';
import { toRateLimitHeaders } from '../net/headers.ts';
import { setOwner } from '../net/request-body.ts';

// The sign-in cookies (RFC 6265bis): bound to this host, sent only over TLS or to localhost, hidden from scripts, and
// not sent with cross-site requests. Their values are encrypted.

export const loginCookie = '__Host-sonant-login';
export const sessionCookie = '__Host-sonant-session';

export function cookieOf(header: string | undefined, name: string): string | undefined {
  const own = header?.split(';').find((pair) => pair.trimStart().startsWith(`${name}=`));
  return own?.slice(own.indexOf('=') + 1).trim();
}

/** The value of a `Set-Cookie` header; 0 seconds deletes the cookie. */
export const toCookie = (name: string, value: string, seconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`;

declare module 'fastify' {
  interface FastifyRequest {
    /** The call of the request; undefined until the request is admitted. */
    call: RunningCall | undefined;
    /** The status of the caller's limits; undefined if no limits apply. */
    limitStatus: LimitStatus | undefined;
  }
}

type Presented = Parameters<RunningCall['admit']>[0];

/** An `onRequest` hook for a route that calls one of these RPCs. */
type AdmitTo = (...methods: DescMethod[]) => onRequestHookHandler;

export type Admission = ReturnType<typeof createAdmission>;

export function createAdmission(runner: Runner) {
  const begin = (request: FastifyRequest, api: string, reportLimits: Call['reportLimits']) => {
    const { id: requestId, ip: address } = request;
    return runner.begin({ api, requestId, address, readTrace: () => traceOf(request), reportLimits });
  };
  const admitWith = async (
    presented: Presented,
    request: FastifyRequest,
    reply: FastifyReply,
    ...methods: DescMethod[]
  ): Promise<void> => {
    request.call = begin(request, 'rest', limitReporter(reply));
    await request.call.admit(presented, ...methods);
    setOwner(request.raw, request.call.caller.accountId);
  };
  const admitBy =
    (presentedIn: (request: FastifyRequest) => Presented): AdmitTo =>
    (...methods) =>
    (request, reply) =>
      admitWith(presentedIn(request), request, reply, ...methods);
  const keyOrBearerOf = (request: FastifyRequest) => apiKeyOf(request) ?? bearerOf(request);
  return {
    admitTo: admitBy(ownCredentials),
    /** Like `admitTo`, but also accepts the API key as a bearer token. */
    admitBearerTo: admitBy((request) => ({ key: keyOrBearerOf(request) })),
    /** Like `admitBearerTo`, but a request without a key is not refused. It has no call. */
    admitAnyoneTo:
      (...methods: DescMethod[]) =>
      async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
        const key = keyOrBearerOf(request);
        if (key !== undefined) await admitWith({ key }, request, reply, ...methods);
      },
    /**
     * Like `admitTo`, but also accepts the API key where other vendors' clients send it: as a bearer token, in
     * `xi-api-key` or in the query.
     */
    admitAnyTo: admitBy((request) => ({ key: anyKeyOf(request) })),
    /** Admits a request from within a handler or a hook. */
    admit: (request: FastifyRequest, reply: FastifyReply, method: DescMethod): Promise<void> =>
      admitWith(ownCredentials(request), request, reply, method),
    /** Admits a request from within a handler, with a key or on behalf of the key that its ticket was issued to. */
    admitWith,
    /** Begins and admits another call of the same key on an admitted connection. `api` names the vendor's API in logs. */
    async beginCall(request: FastifyRequest, api: string, method: DescMethod): Promise<RunningCall> {
      const call = begin(request, api, () => {});
      await call.admit({ key: undefined, ticketKeyId: request.call!.caller.keyId }, method);
      return call;
    },
  };
}

/** A repeated `traceparent` header is ignored. */
const traceOf = ({ headers: { traceparent, tracestate } }: FastifyRequest): TraceHeaders =>
  typeof traceparent === 'string'
    ? { traceparent, tracestate: typeof tracestate === 'string' ? tracestate : undefined }
    : {};

/** Runs an RPC that has one result. The call is aborted if the client disconnects. */
export function run<T>(
  { call }: FastifyRequest,
  reply: FastifyReply,
  method: DescMethod,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  abortOnClose(call!, reply);
  return call!.run(method, work);
}

/** Like `run`, but for an RPC that returns a stream of results. */
export function stream<T>(
  { call }: FastifyRequest,
  reply: FastifyReply,
  method: DescMethod,
  work: (call: Call) => AsyncIterable<T> | Promise<AsyncIterable<T>>,
): AsyncIterable<T> {
  abortOnClose(call!, reply);
  return call!.stream(method, work);
}

/** Aborts the call when the connection closes. Returns a function that removes this listener. */
export function abortOnClose(call: RunningCall, { raw }: FastifyReply): () => void {
  const abort = () => {
    if (!call.hasEnded) call.abort(callerLeft);
  };
  if (raw.closed) abort();
  else raw.on('close', abort);
  return () => void raw.off('close', abort);
}

/** Writes the state of the caller's limits into the headers of the reply. */
export const limitReporter =
  (reply: FastifyReply): Call['reportLimits'] =>
  (status) => {
    reply.request.limitStatus = status;
    reply.headers(toRateLimitHeaders(status));
  };

/** Returns the API key of the request without verifying it. */
function apiKeyOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['x-api-key'];
  return typeof key === 'string' ? key : undefined;
}

const bearerOf = ({ headers }: FastifyRequest) => /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];

/** Returns the API key of the request, wherever a vendor's client sends it, without verifying it. */
export function anyKeyOf(request: FastifyRequest): string | undefined {
  const { headers, query } = request;
  const { 'xi-api-key': theirs } = headers;
  const { api_key: asked } = query as Readonly<Record<string, unknown>>;
  const key = apiKeyOf(request) ?? bearerOf(request) ?? theirs ?? asked;
  return typeof key === 'string' ? key : undefined;
}

/** The API key, or the credentials that our own API accepts instead of it. */
const ownCredentials = (request: FastifyRequest): Presented => ({
  key: apiKeyOf(request),
  authorization: request.headers.authorization,
  session: sessionOf(request),
});

/** The credentials of a person who signed in: the session cookie and the CSRF token, from the same origin. */
function sessionOf(request: FastifyRequest): Presented['session'] {
  const { cookie: cookies, 'x-csrf-token': csrf } = request.headers;
  const cookie = cookieOf(cookies, sessionCookie);
  return cookie && typeof csrf === 'string' && isSameOrigin(request) ? { cookie, csrf } : undefined;
}

/** Whether a page of this service sent the request, or a client that is no browser. */
export const isSameOrigin = ({ headers: { 'sec-fetch-site': site = 'same-origin' } }: FastifyRequest): boolean =>
  site === 'same-origin';
