// Documents that do not change while the service runs: composed on first use and sent with an ETag (RFC 9110 section
// 13.1.2).
import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKept } from '../../net/headers.ts';

interface Document {
  bytes: Buffer;
  etag: string;
}

/** Composes the document once. */
export function createDocument(compose: () => string): () => Document {
  let document: Document | undefined;
  return () => {
    if (document) return document;
    const bytes = Buffer.from(compose());
    const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
    document = { bytes, etag };
    return document;
  };
}

export function sendDocument(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { bytes, etag }: Document,
  type: string,
): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache' });
  if (isKept(headers['if-none-match'], etag)) return reply.code(304).send();
  return reply.header('content-type', type).send(bytes);
}
