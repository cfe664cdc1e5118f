// Reports each HTTP request once, when its reply has been sent or its client has disconnected, for the access log.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerLeft } from '../api/call.ts';
import { wasReported } from '../api/running-call.ts';
import type { Failure } from '../errors.ts';
import { fromThrown } from './thrown-failure.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The error that was thrown while the request was handled. */
    fault: unknown;
  }
}

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

export function watchEnd(request: FastifyRequest, reply: FastifyReply, onRequestEnd: OnRequestEnd): void {
  const begunMs = performance.now();
  const { raw } = reply;
  raw.on('close', () => {
    const { fault } = request;
    onRequestEnd({
      requestId: request.id,
      method: request.method,
      route: request.routeOptions.url ?? '',
      status: raw.statusCode,
      callerId: request.call?.callerId,
      failure: fault === undefined || fault === callerLeft || wasReported(fault) ? undefined : fromThrown(fault),
      durationMs: performance.now() - begunMs,
      isWhole: raw.writableFinished,
    });
  });
}
