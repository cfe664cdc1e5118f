// Where nothing answers: `not_found`, or `method_not_allowed` with the methods in `Allow` if the address is one of ours.
// Asked before anything else of a request, its key included.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../../errors.ts';

/** Keeps account of the routes that are added from now on, and refuses a request that found none of them. */
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
    // An address that is written out goes before one with a place for an id in it.
    const found = patterns.includes(path) ? path : patterns[0];
    if (found === undefined) throw new Failure('not_found');
    reply.header('Allow', [...methodsOf.get(found)!].join(', '));
    throw new Failure('method_not_allowed');
  };
}

const toRegExp = (pattern: string) => new RegExp(`^${pattern.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`);
