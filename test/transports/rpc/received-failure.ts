// Reads the Failure from the status of an RPC as a client does: the inverse of rpc/status.ts.
import { durationMs } from '@bufbuild/protobuf/wkt';
import type { ConnectError } from '@connectrpc/connect';
import {
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../../gen/google/rpc/error_details_pb.ts';
import {
  Failure,
  type FailureFacts,
  type FieldReason,
  failureTable,
  type Reason,
} from '../../../src/platform/errors.ts';
import { domain, reasonOfCode } from '../../../src/transports/rpc/status.ts';

export function fromConnectError(error: ConnectError): Failure {
  if (error.cause instanceof Failure) return error.cause;
  const info = error.findDetails(ErrorInfoSchema).find((detail) => detail.domain === domain);
  const stated = info?.reason.toLowerCase() ?? '';
  const reason = Object.hasOwn(failureTable, stated)
    ? (stated as Reason)
    : (reasonOfCode[error.code] ?? 'internal_error');
  if (reason === 'internal_error') return new Failure(reason, {}, error);
  return new Failure(reason, toFacts(reason, error, info), error);
}

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

const toViolation = ({ field, description, reason }: { field: string; description: string; reason: string }) => ({
  field,
  reason: reason.toLowerCase() as FieldReason,
  message: description,
});
