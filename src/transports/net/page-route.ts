// Adds the route for a browser page. A URL with a final slash is redirected to the URL
// without the slash, so that the relative links of the page work. The redirect is relative, because a proxy may add a
// prefix to paths.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** `url` has one segment, such as "/docs". */
export function addPage(
  app: FastifyInstance,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => FastifyReply,
): void {
  app.get(url, handler);
  const redirect = (request: FastifyRequest, reply: FastifyReply) => {
    const query = request.url.slice(request.url.indexOf('/', 1) + 1);
    return reply.redirect(`..${url}${query}`, 308);
  };
  app.get(`${url}/`, redirect);
}
