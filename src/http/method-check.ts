// Rejects requests without a route: `not_found`, or `method_not_allowed` with `Allow` if the path has other methods.
// Runs before all other checks, even before the key. A path parameter must match the documented pattern of its id:
// "/api/audio/speach" is `not_found`, not an audio id.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../errors.ts';
import type { RouteDocs } from './route-docs.ts';

interface KnownPath {
  pattern: RegExp;
  methods: Set<string>;
}

/** Collects the routes that are added from now on. The returned function rejects requests that match none. */
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
    // A literal path takes precedence over one with a parameter.
    const found = paths.get(path) ?? paths.values().find(({ pattern }) => pattern.test(path));
    if (found === undefined) throw new Failure('not_found');
    reply.header('Allow', [...found.methods].join(', '));
    throw new Failure('method_not_allowed');
  };
}

/** A path pattern in which each parameter must match its documented pattern, if it has one. */
function toPattern(url: string, operation: RouteDocs | undefined): RegExp {
  const shapeOf = (name: string) => {
    const schema = operation?.parameters?.find(
      (parameter) => parameter.in === 'path' && parameter.name === name,
    )?.schema;
    const pattern = String(schema?.pattern ?? '').replace(/^\^/, '');
    // A pattern that ends with "$" covers the whole id; any other is a prefix.
    return pattern.endsWith('$') ? `(?:${pattern.slice(0, -1)})` : `${pattern}[^/]+`;
  };
  const parts = url.replaceAll('.', '\\.').replace(/:(\w+)/g, (_, name: string) => shapeOf(name));
  return new RegExp(`^${parts}$`);
}
