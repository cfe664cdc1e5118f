// The answer to a request that is a call of no protocol: the failure of the HTTP API, with the headers of every reply.
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import type { Failure } from '../errors.ts';
import { type Recipient, toFailureReply } from '../net/failure-reply.ts';
import { apiVersion } from '../net/request-id.ts';

/** `status` overrides that of the table; `more` are further headers. */
export function toPlainAnswer(
  failure: Failure,
  recipient: Recipient,
  status?: number,
  more?: ConstructorParameters<typeof Headers>[0],
): UniversalServerResponse {
  const reply = toFailureReply(failure, recipient, status);
  const body = Buffer.from(reply.body);
  const header = new Headers(more);
  const own = { 'content-length': `${body.length}`, 'x-api-version': apiVersion, 'x-request-id': recipient.requestId };
  for (const [name, value] of Object.entries({ ...reply.headers, ...own })) header.set(name, value);
  return { status: reply.status, header, body: createAsyncIterable([body]) };
}
