// Rejects requests without a route: `not_found`, or `method_not_allowed` with `Allow` if the path has other methods. This
// is checked before all else, even before the key. A path that has a parameter in the place of an id, but is no such id,
// is nobody's: "/api/audio/speach" is a misspelt address, not an audio that can only be deleted.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';
import type { RouteDocs } from './route-docs.ts';

interface KnownPath {
  pattern: RegExp;
  methods: Set<string>;
}

/** Collects the routes that are added from now on, and rejects a request that matches none. */
export function createMethodCheck(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  const paths = new Map<string, KnownPath>();
  app.addHook('onRoute', ({ url, method, config }) => {
    const known = paths.get(url) ?? { pattern: toPattern(url, config?.operation), methods: new Set() };
    for (const one of [method].flat()) known.methods.add(one);
    paths.set(url, known);
  });

  return ({ is404, url }, reply) => {
    if (!is404) return;
    const path = url.split('?', 1)[0]!;
    // A literal path precedes one with a parameter.
    const found = paths.get(path) ?? paths.values().find(({ pattern }) => pattern.test(path));
    if (found === undefined) throw new Failure('not_found');
    reply.header('Allow', [...found.methods].join(', '));
    throw new Failure('method_not_allowed');
  };
}

/** A parameter is what its documentation says, or anything. */
function toPattern(url: string, operation: RouteDocs | undefined): RegExp {
  const shapeOf = (name: string) => {
    const schema = operation?.parameters?.find(
      (parameter) => parameter.in === 'path' && parameter.name === name,
    )?.schema;
    const pattern = String(schema?.pattern ?? '').replace(/^\^/, '');
    // A pattern of the whole id ends with "$"; another is what ids begin with.
    return pattern.endsWith('$') ? `(?:${pattern.slice(0, -1)})` : `${pattern}[^/]+`;
  };
  const parts = url.replaceAll('.', '\\.').replace(/:(\w+)/g, (_, name: string) => shapeOf(name));
  return new RegExp(`^${parts}$`);
}
