// Google's errors as Failures. By gRPC or by REST, each is a google.rpc.Status (https://google.aip.dev/193): a code, a
// sentence, and details, RetryInfo among them. The sentence goes into the cause, for the operator, without anything that
// could be a cloning key; the rest of Google's error is dropped.
import { Failure, type Reason } from '../../errors.ts';

export interface GoogleStatus {
  code?: number;
  /** By gRPC, the sentence alone; the message then begins with the code. */
  details?: string;
  message?: string;
  statusDetails?: readonly unknown[];
}

/** By their numbers. */
const codeNames: readonly string[] = (
  'OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED ' +
  'RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS ' +
  'UNAUTHENTICATED'
).split(' ');

const codeOfHttp: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Quotas are counted by the minute; where Google does not say how much of it is left, half of one is waited for. */
const quotaSeconds = 30;
/** It may pass, at an unknown time. */
const passingSeconds = 0;
const sentenceCharsMax = 500;
const tooLong = /sentences? that (?:is|are) too long/i;
/** A call without a login: refused, or not available at the moment. */
const loginFailed = /metadata from plugin failed/i;
const unreachable = /ECONN|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|socket hang up|network|timeout/i;

/** What a code means, and where it may pass, when to try again if Google does not say; any other is an `engine_error`. */
const outcomes: Readonly<Record<string, { reason: Reason; retryAfterSeconds?: number }>> = {
  UNAVAILABLE: { reason: 'engine_unavailable', retryAfterSeconds: passingSeconds },
  ABORTED: { reason: 'engine_unavailable', retryAfterSeconds: passingSeconds },
  CANCELLED: { reason: 'engine_unavailable', retryAfterSeconds: passingSeconds },
  RESOURCE_EXHAUSTED: { reason: 'engine_unavailable', retryAfterSeconds: quotaSeconds },
  INTERNAL: { reason: 'engine_error', retryAfterSeconds: passingSeconds },
  UNKNOWN: { reason: 'engine_error', retryAfterSeconds: passingSeconds },
  DATA_LOSS: { reason: 'engine_error', retryAfterSeconds: passingSeconds },
  UNAUTHENTICATED: { reason: 'engine_unavailable' },
  PERMISSION_DENIED: { reason: 'engine_unavailable' },
  DEADLINE_EXCEEDED: { reason: 'engine_timeout' },
};

/** The Failure for what Google answered, or for what kept it from answering. */
export function googleFailure(error: unknown, secret = ''): Failure {
  if (error instanceof Failure) return error;
  const { code, details, message, statusDetails = [] } = error as GoogleStatus;
  const sentence = withoutSecret(String(details ?? message ?? error).slice(0, sentenceCharsMax), secret);
  const codeName = code === undefined ? undefined : codeNames[code];
  const cause = new Error(codeName ? `Google answers ${codeName}: ${sentence}` : sentence);
  if (loginFailed.test(sentence)) {
    const facts = unreachable.test(sentence) ? { retryAfterSeconds: passingSeconds } : {};
    return new Failure('engine_unavailable', facts, cause);
  }
  const { reason, retryAfterSeconds } = outcomes[codeName ?? ''] ?? { reason: 'engine_error' };
  if (retryAfterSeconds === undefined) return new Failure(reason, {}, cause);
  return new Failure(reason, { retryAfterSeconds: delaySecondsOf(statusDetails) ?? retryAfterSeconds }, cause);
}

/** The same status where it came by REST, `{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message", "details"}}`. */
export function toGoogleStatus(httpStatus: number, answer: unknown): GoogleStatus {
  const { error } = (answer ?? {}) as { error?: { status?: unknown; message?: unknown; details?: unknown } };
  const named = codeNames.indexOf(String(error?.status));
  const code = named > 0 ? named : codeNames.indexOf(codeOfHttp[httpStatus] ?? 'UNKNOWN');
  return {
    code,
    details: typeof error?.message === 'string' ? error.message : `status ${httpStatus}`,
    statusDetails: Array.isArray(error?.details) ? error.details : [],
  };
}

/** Whether Google would speak the same text in shorter sentences. */
export const isSentenceTooLong = (error: unknown): boolean =>
  error instanceof Failure && error.cause instanceof Error && tooLong.test(error.cause.message);

/** RetryInfo's delay: `{seconds, nanos}` in gRPC, "12.5s" in JSON. */
function delaySecondsOf(details: readonly unknown[]): number | undefined {
  for (const detail of details) {
    const { retryDelay } = (detail ?? {}) as { retryDelay?: string | { seconds?: unknown; nanos?: unknown } };
    if (retryDelay === undefined || retryDelay === null) continue;
    const seconds =
      typeof retryDelay === 'string'
        ? Number(retryDelay.replace(/s$/, ''))
        : Number(retryDelay.seconds ?? 0) + Number(retryDelay.nanos ?? 0) / 1e9;
    if (seconds > 0) return seconds;
  }
  return undefined;
}

/** Google may quote what it refuses, or the beginning of it. */
function withoutSecret(sentence: string, secret: string): string {
  if (secret === '') return sentence;
  const hidden = '(cloning key)';
  return sentence
    .replaceAll(secret, hidden)
    .replace(/[\w+/=-]{6,}/g, (word) => (secret.includes(word) ? hidden : word));
}
