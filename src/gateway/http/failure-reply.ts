// A Failure as a reply over HTTP. The body is flat, and has the members that apply:
//     {"error","message","status","request_id","details":[{"field","reason","message"}],
//      "required_scopes","retry_after","limit","actual","reason"}
// A client that accepts application/problem+json gets the same object with RFC 9457's `type`, `title`, `detail` and `instance`.
import { Failure, failureTable, retrySecondsOf, toFailure } from '../../errors.ts';
import { asksFor } from '../../net/accept.ts';

export interface FailureReply {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The request that the reply is for. */
export interface Recipient {
  requestId: string;
  accept: string | undefined;
}

const problemType = 'application/problem+json';

/** `status` overrides that of the table. */
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
  if (retrySeconds !== undefined) {
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

/** The faults of a failure in one text, for APIs whose errors have no list; `listUrl` is where such an API lists its voices. */
export function toMessage({ message, facts: { details = [] } }: Failure, listUrl: string): string {
  const sentences = details.map((violation) => `${violation.field} ${violation.message}`).join('; ');
  return sentences === '' ? withListUrl(message, listUrl) : `${sentences}.`;
}

/** A sentence of ours that names the list of voices, as another API says it. */
export const withListUrl = (sentence: string, listUrl: string): string =>
  sentence.replace('GET /api/voices ', `GET ${listUrl} `);

export const notJsonMessage = 'The request body must be application/json in UTF-8, not compressed.';

/** Errors of Fastify, by code. */
const fastifyFaults: Readonly<Record<string, Failure>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: new Failure('unsupported_media_type', { message: notJsonMessage }),
  FST_ERR_BAD_URL: new Failure('not_found'),
  FST_ERR_MAX_PARAM_LENGTH: new Failure('not_found'),
};

/** The Failure for an error of a route or of Fastify. */
export function fromThrown(error: unknown): Failure {
  const code = (error as { code?: unknown } | null)?.code;
  return (typeof code === 'string' && fastifyFaults[code]) || toFailure(error);
}
