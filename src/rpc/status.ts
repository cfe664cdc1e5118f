// A Failure as a status of RPC, and back. On the wire it is a google.rpc.Status (https://google.aip.dev/193) with the
// code of its row in the table of failures and these details:
//     ErrorInfo   reason "TEXT_TOO_LONG", domain "sonant", metadata { limit: "5000", actual: "6021" }
//     BadRequest  a field violation for each fault: field, description, reason "TOO_LONG"
//     RetryInfo   where trying again can help; its delay in seconds is also the metadata `retry-after`
// In process the Failure itself is the error's cause, and is what comes back.
import { create, toBinary } from '@bufbuild/protobuf';
import { durationFromMs, durationMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import {
  Failure,
  type FailureFacts,
  type FieldViolation,
  failureTable,
  type Reason,
  type RpcCode,
  retrySecondsOf,
} from '../errors.ts';
import { detailBytesMax, failureMessageCharsMax } from './limits.ts';

const domain = 'sonant';

const codes: Readonly<Record<RpcCode, Code>> = {
  INVALID_ARGUMENT: Code.InvalidArgument,
  UNAUTHENTICATED: Code.Unauthenticated,
  PERMISSION_DENIED: Code.PermissionDenied,
  NOT_FOUND: Code.NotFound,
  UNIMPLEMENTED: Code.Unimplemented,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  ABORTED: Code.Aborted,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  INTERNAL: Code.Internal,
  UNAVAILABLE: Code.Unavailable,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
};

/** What an error is that does not say: it comes from a proxy, or from Connect on the other side. */
const reasonOfCode: Partial<Record<Code, Reason>> = {
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
  const { code } = failureTable[reason];
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
  return new ConnectError(shorten(failure.message), codes[code], headers, details, failure);
}

/** The Failure that a call ended in, whether it was made in this process or came over the wire. */
export function fromConnectError(error: ConnectError): Failure {
  if (error.cause instanceof Failure) return error.cause;
  const info = error.findDetails(ErrorInfoSchema).find((detail) => detail.domain === domain);
  const told = info?.reason.toLowerCase() ?? '';
  const reason = Object.hasOwn(failureTable, told) ? (told as Reason) : (reasonOfCode[error.code] ?? 'internal_error');
  if (reason === 'internal_error') return new Failure(reason, {}, error);
  return new Failure(reason, toFacts(reason, error, info), error);
}

const toMetadata = ({ limit, actual, limitReason, requiredScopes }: FailureFacts): Record<string, string> => ({
  ...(limit !== undefined && { limit: String(limit) }),
  ...(actual !== undefined && { actual: String(actual) }),
  ...(limitReason !== undefined && { reason: limitReason }),
  ...(requiredScopes !== undefined && { required_scopes: requiredScopes.join(' ') }),
});

function toFacts(reason: Reason, error: ConnectError, info: ErrorInfo | undefined): FailureFacts {
  const { limit, actual, reason: limitReason, required_scopes } = info?.metadata ?? {};
  const [bad] = error.findDetails(BadRequestSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  const facts: FailureFacts = {};
  if (error.rawMessage !== '' && error.rawMessage !== failureTable[reason].sentence) facts.message = error.rawMessage;
  if (bad) facts.details = bad.fieldViolations.map(toViolation);
  if (retry?.retryDelay) facts.retryAfterSeconds = durationMs(retry.retryDelay) / 1000;
  if (limit !== undefined) facts.limit = Number(limit);
  if (actual !== undefined) facts.actual = Number(actual);
  if (limitReason !== undefined) facts.limitReason = limitReason as NonNullable<FailureFacts['limitReason']>;
  if (required_scopes !== undefined) facts.requiredScopes = required_scopes.split(' ').filter(Boolean);
  return facts;
}

/** As many of the faults as fit; the last entry then says how many more there are. */
function toBadRequest(violations: readonly FieldViolation[]) {
  const fieldViolations = [];
  let bytes = 0;
  for (const [i, { field, reason, message }] of violations.entries()) {
    const violation = { field, description: message, reason: reason.toUpperCase() };
    bytes += toBinary(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [violation] })).length;
    if (bytes > detailBytesMax) {
      const description = `and ${violations.length - i} more`;
      fieldViolations.push({ field: violations[i]!.field, description, reason: 'MORE' });
      break;
    }
    fieldViolations.push(violation);
  }
  return { fieldViolations };
}

const toViolation = ({ field, description, reason }: { field: string; description: string; reason: string }) => ({
  field,
  reason: reason.toLowerCase(),
  message: description,
});

/** Of bounded length, and without halves of surrogate pairs, which cannot be sent. */
const shorten = (message: string) =>
  (message.length > failureMessageCharsMax ? `${message.slice(0, failureMessageCharsMax)}...` : message).toWellFormed();
