// Converts a Failure to the error of an RPC: a google.rpc.Status (https://google.aip.dev/193) with the code from its row
// in the failure table and the details below. The Failure is the cause of the error.
//     ErrorInfo   reason "TEXT_TOO_LONG", domain "sonant", metadata { limit: "5000", actual: "6021" }
//     BadRequest  a field violation for each fault: field, description, reason "TOO_LONG"
//     RetryInfo   if a retry can help; its delay in seconds is also the metadata `retry-after`
import { create, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { codeFromString } from '@connectrpc/connect/protocol-connect';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import {
  type Failure,
  type FailureFacts,
  type FieldViolation,
  failureTable,
  type Reason,
  retrySecondsOf,
} from '../../platform/errors.ts';
import { type Recipient, toFailureReply } from '../net/failure-reply.ts';
import { apiVersion } from '../net/headers.ts';

export const domain = 'sonant';
/** Maximum size of a failure's details. Details are sent in a trailer, and common clients read 8 KiB of trailers. */
export const detailBytesMax = 3 * 1024;
const failureMessageCharsMax = 1000;

/** Reasons for errors without ErrorInfo, which come from a proxy or from Connect. */
export const reasonOfCode: Partial<Record<Code, Reason>> = {
  [Code.InvalidArgument]: 'invalid_request',
  [Code.Unauthenticated]: 'invalid_api_key',
  [Code.PermissionDenied]: 'access_denied',
  [Code.NotFound]: 'not_found',
  [Code.Unimplemented]: 'method_not_allowed',
  [Code.FailedPrecondition]: 'voice_not_ready',
  [Code.ResourceExhausted]: 'rate_limit_exceeded',
  [Code.Unavailable]: 'overloaded',
  [Code.DeadlineExceeded]: 'engine_timeout',
};

export function toConnectError(failure: Failure): ConnectError {
  const { reason, facts } = failure;
  const code = codeFromString(failureTable[reason].code.toLowerCase());
  const retrySeconds = retrySecondsOf(failure);
  const details: NonNullable<ConstructorParameters<typeof ConnectError>[3]> = [
    { desc: ErrorInfoSchema, value: { reason: reason.toUpperCase(), domain, metadata: toMetadata(facts) } },
  ];
  if (facts.details?.length) details.push({ desc: BadRequestSchema, value: toBadRequest(facts.details) });
  const headers: Record<string, string> = {};
  if (retrySeconds !== undefined) {
    details.push({ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(Math.ceil(retrySeconds * 1000)) } });
    headers['retry-after'] = String(Math.max(1, Math.ceil(retrySeconds)));
  }
  return new ConnectError(shorten(failure.message), code, headers, details, failure);
}

const toMetadata = ({ limit, actual, limitReason, requiredScopes }: FailureFacts): Record<string, string> => ({
  ...(limit !== undefined && { limit: String(limit) }),
  ...(actual !== undefined && { actual: String(actual) }),
  ...(limitReason !== undefined && { reason: limitReason }),
  ...(requiredScopes !== undefined && { required_scopes: requiredScopes.join(' ') }),
});

/** Returns as many violations as fit. If some do not fit, the last entry states the number of missing violations. */
function toBadRequest(violations: readonly FieldViolation[]) {
  const fieldViolations = [];
  let bytes = 0;
  for (const [i, one] of violations.entries()) {
    const violation = {
      field: one.field.toWellFormed(),
      description: describe(one),
      reason: one.reason.toUpperCase(),
    };
    bytes += toBinary(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [violation] })).length;
    if (bytes > detailBytesMax) {
      const description = `and ${violations.length - i} more`;
      fieldViolations.push({ field: violation.field, description, reason: 'MORE' });
      break;
    }
    fieldViolations.push(violation);
  }
  return { fieldViolations };
}

/** Appends the allowed values, unless the message names them all. */
function describe({ message, allowed = [] }: FieldViolation): string {
  if (allowed.every((value) => message.includes(String(value)))) return shorten(message);
  return shorten(`${message}: ${allowed.join(', ')}`);
}

/** Cuts text to a length, and replaces lone surrogates, which cannot be sent. */
export const shorten = (text: string, charsMax = failureMessageCharsMax) =>
  (text.length > charsMax ? `${text.slice(0, charsMax)}...` : text).toWellFormed();

/**
 * Answers a request that belongs to none of the protocols. Like the HTTP API, it sends a failure body and the headers
 * of every response. `status` replaces the failure's own status; `more` contains further headers.
 */
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
