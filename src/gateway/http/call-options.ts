// How a request calls the core: under its own id, as the caller who was admitted, and until its client has left.
import { type CallOptions, Code, ConnectError, type ContextValues, createContextValues } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limitStatusKey } from '../../limits/rate-limit-headers.ts';
import { addressKey, admittedKey, doorKey } from '../../rpc/call.ts';

export type Door = 'rest' | 'sse';

/** Why calls end whose client has left; one for all saves making it. */
export const clientLeft = new ConnectError('the caller has left', Code.Canceled);

/** Aborts when the connection is gone, or the reply is sent. */
export function signalOf(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  if (reply.raw.closed) left.abort(clientLeft);
  else reply.raw.once('close', () => left.abort(clientLeft));
  return left.signal;
}

export interface CoreCall extends CallOptions {
  signal: AbortSignal;
  headers: Record<string, string>;
  contextValues: ContextValues;
}

export function callOptionsOf(
  request: FastifyRequest,
  reply: FastifyReply,
  door: Door,
  signal: AbortSignal = signalOf(reply),
): CoreCall {
  const contextValues = createContextValues().set(doorKey, door).set(addressKey, request.ip);
  contextValues.set(limitStatusKey, (headers) => void reply.headers(headers));
  const { caller } = request;
  if (caller) contextValues.set(admittedKey, { caller, scopes: caller.scopes });
  const headers: Record<string, string> = { 'x-request-id': request.id };
  const cacheControl = request.headers['cache-control'];
  if (cacheControl) headers['cache-control'] = cacheControl;
  return { signal, headers, contextValues };
}
