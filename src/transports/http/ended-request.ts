// Reports each HTTP request once, when its reply has been sent or its client has disconnected, for the access log.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerLeft, wasReported } from '../../api.ts';
import type { Failure } from '../../platform/errors.ts';
import type { Metrics } from '../../platform/telemetry/prometheus.ts';
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

/** Returns a function that counts a request when it ends, and reports it. */
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
