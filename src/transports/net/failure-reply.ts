// Renders a Failure as an HTTP reply. The body is flat and contains only the members that apply to the failure. A
// client that accepts application/problem+json also receives RFC 9457's `type`, `title`, `detail` and `instance`.
//     {"error","message","status","request_id","details":[{"field","reason","message"}],
//      "required_scopes","retry_after","limit","actual","reason"}
import { Failure, failureTable, retrySecondsOf, toFailure } from '../../platform/errors.ts';
import { asksFor } from './headers.ts';

export interface FailureReply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The request that is being answered. */
export interface Recipient {
  requestId: string;
  accept: string | undefined;
}

const problemType = 'application/problem+json';

/** `status` overrides the status in the failure table. */
export function toFailureReply(
  failure: Failure,
  { requestId, accept }: Recipient,
  status: number = failureTable[failure.reason].status,
): FailureReply {
  const flat = { ...toFailureBody(failure, requestId), status };
  const isProblem = asksFor(accept, problemType);
  const body = isProblem ? { ...flat, ...problemOf(failure, requestId) } : flat;
  const headers: Record<string, string> = {
    'content-type': `${isProblem ? problemType : 'application/json'}; charset=utf-8`,
    'cache-control': 'no-store',
  };
  if (status === 401) {
    const isToken = failure.reason === 'invalid_token';
    headers['www-authenticate'] = isToken ? 'Bearer realm="sonant", error="invalid_token"' : 'ApiKey realm="sonant"';
  }
  const retrySeconds = retrySecondsOf(failure);
  if (retrySeconds === undefined) headers['x-should-retry'] = 'false';
  else {
    headers['retry-after'] = String(toWholeSeconds(retrySeconds));
    headers['retry-after-ms'] = String(Math.ceil(retrySeconds * 1000));
  }
  return { status, headers, body: JSON.stringify(body) };
}

export function toFailureBody(failure: Failure, requestId: string) {
  const { reason, message, facts } = failure;
  const retrySeconds = retrySecondsOf(failure);
  return {
    error: reason,
    message,
    status: failureTable[reason].status,
    request_id: requestId,
    ...(facts.details?.length && { details: facts.details }),
    ...(facts.requiredScopes && { required_scopes: facts.requiredScopes }),
    ...(retrySeconds !== undefined && { retry_after: toWholeSeconds(retrySeconds) }),
    ...(facts.limit !== undefined && { limit: facts.limit }),
    ...(facts.actual !== undefined && { actual: facts.actual }),
    ...(facts.limitReason && { reason: facts.limitReason }),
  };
}

/** Retry-After is a whole number; the exact wait is in retry-after-ms. */
const toWholeSeconds = (seconds: number) => Math.max(1, Math.ceil(seconds));

const problemOf = ({ reason, message }: Failure, requestId: string) => ({
  type: `/docs#${reason}`,
  title: failureTable[reason].sentence,
  detail: message,
  instance: `urn:sonant:request:${requestId}`,
});

export const notJsonMessage = 'The request body must be application/json in UTF-8, uncompressed.';

const fastifyFaults: Readonly<Record<string, Failure>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new Failure('unsupported_media_type', { message: notJsonMessage }),
  FST_ERR_BAD_URL: new Failure('not_found'),
  FST_ERR_MAX_PARAM_LENGTH: new Failure('not_found'),
};

/** Converts an error thrown by a route or by Fastify. */
export function fromThrown(error: unknown): Failure {
  const code = (error as { code?: unknown } | null)?.code;
  return (typeof code === 'string' && fastifyFaults[code]) || toFailure(error);
}
