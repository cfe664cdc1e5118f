// Rejects requests without a route: `not_found`, or `method_not_allowed` with `Allow` if the path has other methods. This
// is checked before all else, even before the key.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';

/** Collects the routes that are added from now on, and rejects a request that matches none. */
export function createMethodCheck(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    methodsOf.set(url, methods);
  });

  return ({ is404, url }, reply) => {
    if (!is404) return;
    const path = url.split('?', 1)[0]!;
    const patterns = [...methodsOf.keys()].filter((pattern) => pattern === path || toRegExp(pattern).test(path));
    // A literal path precedes one with a parameter.
    const found = patterns.includes(path) ? path : patterns[0];
    if (found === undefined) throw new Failure('not_found');
    reply.header('Allow', [...methodsOf.get(found)!].join(', '));
    throw new Failure('method_not_allowed');
  };
}

const toRegExp = (pattern: string) => new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`);
