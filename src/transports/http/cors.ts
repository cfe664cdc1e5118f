// CORS (https://fetch.spec.whatwg.org/#http-cors-protocol) for the configured origins. Cookies are not allowed, so a
// page must send an API key of its own.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createId } from '../../platform/runtime/id.ts';
import { apiVersion } from '../net/headers.ts';
import { replyHeaders } from './documented-headers.ts';

/** Answers a preflight and returns true; otherwise sets the headers that let an allowed origin read the reply. */
type Cors = (request: IncomingMessage, response: ServerResponse) => boolean;

const requestHeaders = [
  'Accept',
  'Authorization',
  'Cache-Control',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'If-Range',
  'Last-Event-ID',
  'Range',
  'X-API-Key',
  'X-Request-Id',
  // ElevenLabs's clients send the API key in this header.
  'xi-api-key',
  // Cartesia's clients send these headers.
  'Cartesia-Version',
  'X-Cartesia-Client',
  // OpenAI's clients send these headers.
  'OpenAI-Organization',
  'OpenAI-Project',
  // Traced pages send these headers.
  'traceparent',
  'tracestate',
  // MCP clients send these headers.
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  // Connect and gRPC-Web clients in browsers send these headers.
  'Connect-Protocol-Version',
  'Connect-Timeout-Ms',
  'Grpc-Timeout',
  'X-Grpc-Web',
  'X-User-Agent',
];
/** Reply headers of gRPC-Web and of ElevenLabs's API. */
const otherReplyHeaders = ['Grpc-Status', 'Grpc-Message', 'Grpc-Status-Details-Bin', 'request-id', 'character-cost'];
const preflightSeconds = '7200';

/** Headers in which the clients of OpenAI and ElevenLabs describe themselves. */
const ownHeadersOf = ({ headers }: IncomingMessage) =>
  String(headers['access-control-request-headers'] ?? '').match(
    /(?<=^|[ ,])x-(?:stainless|fern)-[a-z-]{1,40}(?=$|[ ,])/gi,
  ) ?? [];

export function createCors(allowedOrigins: readonly string[]): Cors {
  if (allowedOrigins.length === 0) return () => false;
  const exposed = [...Object.keys(replyHeaders), ...otherReplyHeaders].join(', ');
  return (request, response) => {
    const { origin } = request.headers;
    response.setHeader('vary', 'Origin');
    if (origin === undefined || !allowedOrigins.includes(origin)) return false;
    response.setHeader('access-control-allow-origin', origin);
    if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) {
      response.setHeader('access-control-expose-headers', exposed);
      return false;
    }
    response.writeHead(204, {
      'x-request-id': createId('req'),
      'x-api-version': apiVersion,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': [...requestHeaders, ...ownHeadersOf(request)].join(', '),
      'access-control-max-age': preflightSeconds,
    });
    response.end();
    return true;
  };
}
