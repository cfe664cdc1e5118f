// GET /healthz shows that the process is alive. GET /readyz shows that its dependencies work and that it is not
// stopping. GET /metrics returns Prometheus metrics, which contain nothing about individual callers.

import type { RequestListener } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { Failure } from '../../platform/errors.ts';
import { adminConnectionsMax } from '../../platform/net/request-limits.ts';
import { createConnections, type Turns } from '../net/connections.ts';
import { type ListenAddress, openListener } from '../net/listen.ts';
import { createHttpApp } from './http-app.ts';
import { createAccept, createHttpServer } from './http-server.ts';
import { documented, objectSchema, type RouteDocs, type Schema, text } from './route-docs.ts';

/** A dependency that must work before requests can be served. */
export interface ReadinessCheck {
  name: string;
  isReady(): Promise<boolean>;
}

const answerSchema = (title: string, status: string): Schema =>
  objectSchema(title, { status: text('The only value.', { enum: [status] }) });
const operation = (id: string, summary: string, schema: Schema, example: object): RouteDocs => ({
  id,
  tag: 'Service',
  summary,
  answers: { 200: { description: 'The check has passed.', content: { 'application/json': { schema, example } } } },
  failures: id === 'isReady' ? ['overloaded'] : [],
});
const alive = operation('isAlive', 'Check that the process is alive', answerSchema('Alive', 'ok'), { status: 'ok' });
const ready = operation('isReady', 'Check that requests can be served', answerSchema('Ready', 'ready'), {
  status: 'ready',
});
const metrics: RouteDocs = {
  id: 'readMetrics',
  tag: 'Service',
  summary: 'Read Prometheus metrics',
  description: 'Metrics of calls, requests and engines; nothing about individual callers.',
  answers: { 200: { description: 'The metrics.', content: { 'text/plain': { schema: { type: 'string' } } } } },
  failures: ['overloaded'],
};

interface HealthRoutesOptions {
  checks: readonly ReadinessCheck[];
  /** Returns the metrics; if undefined, no metrics are served. */
  readMetrics?: (() => string) | undefined;
}

export function addHealthRoutes(app: FastifyInstance, { checks, readMetrics }: HealthRoutesOptions): void {
  if (readMetrics) {
    app.get('/metrics', documented(metrics), (_, reply) =>
      reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8').send(readMetrics()),
    );
  }
  app.get('/healthz', documented(alive), async () => ({ status: 'ok' }));

  app.get('/readyz', documented(ready), async () => {
    const states = await Promise.all(checks.map((check) => check.isReady().catch(() => false)));
    const failing = checks.filter((_, i) => !states[i]).map(({ name }) => name);
    if (failing.length > 0) throw new Failure('overloaded', { message: `Not ready: ${failing.join(', ')}.` });
    return { status: 'ready' };
  });
}

// The operators' port: /healthz, /readyz and /metrics over plain HTTP. It has its own connection limit, so that health
// checks succeed under any load on the public ports.

/** Handles operators' requests at once, without a queue. */
const atOnce: Turns = {
  take(_, work) {
    work();
    return true;
  },
};

interface AdminServerOptions {
  address: ListenAddress;
  checks: readonly ReadinessCheck[];
  readMetrics(): string;
  onFault(fault: unknown): void;
}

export async function openAdminServer(options: AdminServerOptions) {
  const { address, checks, readMetrics, onFault } = options;
  const counted = createConnections({ inAllMax: adminConnectionsMax, perAddressMax: Infinity });
  const connections = { ...counted, turns: atOnce };
  const app = createHttpApp({
    toServer: (listener: RequestListener) => createHttpServer({ listener, connections }),
    isLeaving: () => false,
    isDraining: () => false,
    onRequestEnd() {},
  });
  addHealthRoutes(app, { checks, readMetrics });
  await app.ready();
  const { server } = app;
  server.on('error', onFault);
  const accept = createAccept(server);
  const listener = await openListener({ address, what: 'health and metrics', connections, accept, onFault });
  return {
    port: listener.port,
    async close(): Promise<void> {
      listener.close();
      server.closeAllConnections();
      await app.close();
    },
  };
}
