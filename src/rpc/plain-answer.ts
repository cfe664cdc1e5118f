// The answer to a request that is a call of no protocol: the flat failure of the HTTP API, with the headers of every reply.
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { type Failure, failureTable } from '../errors.ts';
import { apiVersion } from '../net/request-id.ts';

/** `status` overrides that of the table; `more` are further headers. */
export function toPlainAnswer(
  { reason, message }: Failure,
  requestId: string,
  status: number = failureTable[reason].status,
  more?: ConstructorParameters<typeof Headers>[0],
): UniversalServerResponse {
  const body = Buffer.from(JSON.stringify({ error: reason, message, status, request_id: requestId }));
  const header = new Headers(more);
  header.set('content-type', 'application/json; charset=utf-8');
  header.set('content-length', String(body.length));
  header.set('cache-control', 'no-store');
  header.set('x-api-version', apiVersion);
  header.set('x-request-id', requestId);
  return { status, header, body: createAsyncIterable([body]) };
}
