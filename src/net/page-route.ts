// Adds the route for a browser page: GET, and HEAD without the body. A URL with a final slash is redirected to the URL
// without the slash, so that the relative links of the page work. The redirect is relative, because a proxy may add a
// prefix to paths.
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
