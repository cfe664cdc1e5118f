// The operators' port: /healthz, /readyz and /metrics over plain HTTP. It has its own connection limit, so that health
// checks succeed under any load on the public ports.
import type { RequestListener } from 'node:http';
import { adminConnectionsMax } from '../../platform/net/request-limits.ts';
import { createConnections, type Turns } from '../net/connections.ts';
import { type ListenAddress, openListener } from '../net/listen.ts';
import { addHealthRoutes, type ReadinessCheck } from './health-routes.ts';
import { createHttpApp } from './http-app.ts';
import { createAccept, createHttpServer } from './http-server.ts';

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
