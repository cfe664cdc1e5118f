// Serves a file that does not change while the service runs, with an ETag (RFC 9110 section 13.1.2), compressed if the
// client accepts it.
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isKept } from './headers.ts';

/** A response body, plain and compressed. */
export interface StaticFile {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
  etag: string;
}

/** Whether an Accept-Encoding lists gzip, and not with the weight 0. */
const gzipAccepted = /(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i;

export const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  // Browsers download text/markdown instead of showing it.
  '.md': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export function toStaticFile(type: string, content: string | Buffer): StaticFile {
  const bytes = Buffer.from(content);
  const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 27);
  return { type, bytes, gzipped: gzipSync(bytes), etag };
}

export function sendStaticFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzipped, etag }: StaticFile,
): FastifyReply {
  const isGzipped = gzipAccepted.test(String(headers['accept-encoding'] ?? ''));
  const tag = isGzipped ? `"${etag}-gzip"` : `"${etag}"`;
  // The CORS hook may already have set Vary: Origin.
  const vary = [reply.raw.getHeader('vary') ?? [], 'Accept-Encoding'].flat().join(', ');
  reply.headers({ 'content-type': type, 'cache-control': 'no-cache', vary, etag: tag });
  if (isKept(headers['if-none-match'], tag)) return reply.code(304).send();
  return isGzipped ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(bytes);
}

/**
 * Adds the route for a browser page. `url` has one segment, such as "/docs". A URL with a final slash is redirected to
 * the URL without the slash, so that the relative links of the page work. The redirect is relative, because a proxy may
 * add a prefix to paths.
 */
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
