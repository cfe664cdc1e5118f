// Connect and gRPC-Web on this door's port: the core's own handlers, mounted by connect-fastify. Its plugin prints what
// goes wrong while it writes an answer, but for a connection that was reset, and the clients who leave are just that:
// `RpcResponse` calls every failed write by that name, and nothing is printed.
import { ServerResponse } from 'node:http';
import { fastifyConnectPlugin } from '@connectrpc/connect-fastify';
import type { FastifyInstance } from 'fastify';
import { Failure } from '../errors.ts';
import { type Handler, toContextValues } from './bounded-handler.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the core answers it, in the terms of its own protocol. */
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
      // The call is known by one id, here and in the core.
      raw.headers['x-request-id'] = id;
    });
    // The plugin brings its own ways of reading, JSON among them.
    scope.removeAllContentTypeParsers();
    scope.register(fastifyConnectPlugin, {
      routes: (router) => router.handlers.push(...handlers),
      contextValues: ({ raw, ip }) => toContextValues(raw, ip),
    });
  });
}

type WriteEnd = (error?: Error | null) => void;

/** Node's response, with failed writes told as what they are here: the client has left. */
export class RpcResponse extends ServerResponse {
  override write(bytes: unknown, ...rest: unknown[]): boolean {
    const end = rest.at(-1);
    if (typeof end === 'function') rest[rest.length - 1] = toReset(end as WriteEnd);
    return super.write(bytes, ...(rest as [BufferEncoding, WriteEnd]));
  }
}

const toReset =
  (end: WriteEnd): WriteEnd =>
  (error) =>
    end(error && Object.assign(new Error('the client has left', { cause: error }), { code: 'ECONNRESET' }));
