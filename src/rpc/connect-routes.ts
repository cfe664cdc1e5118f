// Connect and gRPC-Web on the port of the HTTP gateway: the handlers of the RPC services, mounted by connect-fastify.
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import type { FastifyInstance } from 'fastify';
import { Failure } from '../errors.ts';
import { type Handler, toContextValues } from './bounded-handler.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether it is an RPC, whose replies follow its own protocol. */
    isRpc?: boolean;
  }
}

export function addRpcRoutes(app: FastifyInstance, handlers: readonly Handler[]): void {
  app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.config = { ...route.config, isRpc: true };
    });
    scope.addHook('onRequest', async ({ id, raw }) => {
      const { host } = raw.headers;
      const isHost = host && URL.canParse(`http://${host}`);
      if (!isHost) throw new Failure('invalid_request', { message: 'The header Host must name a host.' });
      // The request and the call have one id.
      raw.headers['x-request-id'] = id;
    });
    // The plugin adds parsers of its own, one for JSON among them.
    scope.removeAllContentTypeParsers();
    scope.register(fastifyConnectPlugin, {
      routes: (router) => router.handlers.push(...handlers),
      contextValues: ({ raw, ip }) => toContextValues(raw, ip),
    });
  });
}
