// Who may, asked before a byte of the body is read. A route names the methods of the core that it may come to call; the
// key must be good for one of them. Once the body has told which one, `requireScopes` asks for that. The caller goes on
// to the core as admitted, so nothing is looked up twice.
import type { DescMethod } from '@bufbuild/protobuf';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';
import type { KeyCaller } from '../../keys/key-verifier.ts';
import type { LimitStatus } from '../../limits/limit-status.ts';
import { toRateLimitHeaders } from '../../limits/rate-limit-headers.ts';
import type { Admit, Presented } from '../../operations/admit.ts';
import { apiKeyHeader, requiredScopesOf } from '../../rpc/gate.ts';
import { cookieOf, sessionCookie } from './cookies.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: KeyCaller | undefined;
  }
}

/** An `onRequest` hook for a route that calls one of these methods. */
export type AdmitTo = (
  ...methods: readonly DescMethod[]
) => (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** The same for a route that the core has no method for: a hook that asks for these scopes. */
export type AdmitFor = (scopes: readonly string[]) => (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export interface Admission {
  admitTo: AdmitTo;
  admitFor: AdmitFor;
  /** As `admitTo`, where a bearer token is an API key by another name. */
  admitBearerTo: AdmitTo;
}

export function createAdmission(admit: Admit): Admission {
  const admitAny =
    (choices: readonly (readonly string[])[], presented = presentedBy) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      request.caller = await admit({ ...presented(request), tell: limitStatusWriter(reply) }, ...choices);
    };
  return {
    admitTo: (...methods) => admitAny(methods.map(requiredScopesOf)),
    admitFor: (scopes) => admitAny([scopes]),
    admitBearerTo: (...methods) => admitAny(methods.map(requiredScopesOf), presentedAsBearer),
  };
}

function presentedAsBearer(request: FastifyRequest): Presented {
  const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  return { key: apiKeyOf(request) ?? token, authorization: undefined, session: undefined, address: request.ip };
}

/** The page of somebody who has signed in sends the token that it was given, and comes from here. */
function sessionOf({ headers }: FastifyRequest): Presented['session'] {
  const { 'x-csrf-token': csrf, 'sec-fetch-site': site = 'same-origin' } = headers;
  const cookie = cookieOf(headers.cookie, sessionCookie);
  return cookie && typeof csrf === 'string' && site === 'same-origin' ? { cookie, csrf } : undefined;
}

const presentedBy = (request: FastifyRequest): Presented => ({
  key: apiKeyOf(request),
  authorization: request.headers.authorization,
  session: sessionOf(request),
  address: request.ip,
});

/** Tells in the headers of the reply how its caller stands. */
export const limitStatusWriter = (reply: FastifyReply) => (limitStatus: LimitStatus) =>
  void reply.headers(toRateLimitHeaders(limitStatus));

/** The key as it came. */
export function apiKeyOf({ headers }: FastifyRequest): string | undefined {
  const presented = headers[apiKeyHeader];
  return typeof presented === 'string' ? presented : undefined;
}

/** A Failure `insufficient_scope` where the admitted caller may not call the method. */
export function requireScopes({ caller }: FastifyRequest, method: DescMethod): void {
  const requiredScopes = requiredScopesOf(method);
  if (!caller || !holds(caller, requiredScopes)) throw new Failure('insufficient_scope', { requiredScopes });
}

const holds = ({ scopes }: KeyCaller, required: readonly string[]) =>
  required.every((scope) => scopes.some((held) => held === scope));
