// The route of a page for browsers: GET, and HEAD without the body. A URL with a slash at its end is redirected to the
// URL without it, from which the page's relative links work. The redirect is relative, for proxies with a path prefix.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const method = ['GET', 'HEAD'];

/** `url` has one segment, such as "/docs". */
export function addPage(
  app: FastifyInstance,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => FastifyReply,
): void {
  app.route({ method, url, handler });
  const redirect = (request: FastifyRequest, reply: FastifyReply) => {
    const query = request.url.slice(request.url.indexOf('/', 1) + 1);
    return reply.redirect(`..${url}${query}`, 308);
  };
  app.route({ method, url: `${url}/`, handler: redirect });
}
