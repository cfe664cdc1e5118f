// The table of all failures that a caller can receive. A row has the HTTP status, the gRPC code, whether a retry can
// help, and the default message. Code below the transports throws `Failure(reason, facts, cause)`; only the transports
// convert a row to a reply.

/** The gRPC codes in the table, by their names in google.rpc.Code. */
type RpcCode =
  | 'INVALID_ARGUMENT'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'NOT_FOUND'
  | 'UNIMPLEMENTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'RESOURCE_EXHAUSTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED';

interface FailureRow {
  status: number;
  code: RpcCode;
  /** Whether a retry of the request may succeed. */
  retryable: boolean;
  sentence: string;
}

const row = (status: number, code: RpcCode, retryable: boolean, sentence: string): FailureRow =>
  Object.freeze({ status, code, retryable, sentence });

/** Rows by reason, in the order of the API documents. */
export const failureTable = Object.freeze({
  invalid_request: row(400, 'INVALID_ARGUMENT', false, 'The request is invalid; details lists every violation.'),
  text_too_long: row(
    400,
    'INVALID_ARGUMENT',
    false,
    'The text is too long for one request. Send it in streaming mode, or create a job.',
  ),
  invalid_api_key: row(
    401,
    'UNAUTHENTICATED',
    false,
    'The API key is missing, malformed, unknown, expired or revoked.',
  ),
  invalid_token: row(401, 'UNAUTHENTICATED', false, 'The bearer token is invalid or has expired.'),
  insufficient_scope: row(403, 'PERMISSION_DENIED', false, 'The API key lacks a scope that this call needs.'),
  access_denied: row(403, 'PERMISSION_DENIED', false, 'Access denied: these credentials do not permit this.'),
  voice_not_found: row(404, 'NOT_FOUND', false, 'Voice not found; GET /api/voices lists the voices of this key.'),
  not_found: row(404, 'NOT_FOUND', false, 'Nothing exists at this path.'),
  method_not_allowed: row(405, 'UNIMPLEMENTED', false, 'This path does not support the method. See the Allow header.'),
  voice_not_ready: row(409, 'FAILED_PRECONDITION', false, 'The voice exists, but cannot speak now.'),
  request_timeout: row(408, 'DEADLINE_EXCEEDED', true, 'The request body arrived too slowly.'),
  idempotency_conflict: row(409, 'ABORTED', false, 'This Idempotency-Key is in use by another request.'),
  audio_expired: row(410, 'NOT_FOUND', false, 'The audio has expired. Request it again.'),
  stream_expired: row(410, 'NOT_FOUND', false, 'The stream can no longer be resumed. Request it again.'),
  precondition_failed: row(412, 'FAILED_PRECONDITION', false, 'The audio does not match the ETag in If-Match.'),
  payload_too_large: row(413, 'INVALID_ARGUMENT', false, 'The request body is too large.'),
  unsupported_media_type: row(415, 'INVALID_ARGUMENT', false, 'The content type of the request body is not supported.'),
  range_not_satisfiable: row(
    416,
    'INVALID_ARGUMENT',
    false,
    'The audio has no bytes in the requested range. See Content-Range.',
  ),
  rate_limit_exceeded: row(429, 'RESOURCE_EXHAUSTED', true, 'Too many requests for this key. Wait and try again.'),
  internal_error: row(500, 'INTERNAL', false, 'Internal error. Give the request id to the operator.'),
  not_supported: row(501, 'UNIMPLEMENTED', false, 'This installation does not support the request.'),
  engine_error: row(502, 'INTERNAL', false, 'The speech engine failed on this request.'),
  engine_unavailable: row(503, 'UNAVAILABLE', true, 'The speech engine is unavailable. Try again later.'),
  overloaded: row(503, 'UNAVAILABLE', true, 'The service is overloaded. Try again later.'),
  oauth_not_configured: row(
    503,
    'FAILED_PRECONDITION',
    false,
    'Sign-in is not configured. Create a key with `sonant key create`.',
  ),
  temporarily_unavailable: row(503, 'UNAVAILABLE', true, 'The identity provider is not responding. Try again later.'),
  engine_timeout: row(504, 'DEADLINE_EXCEEDED', false, 'The speech engine took too long.'),
  storage_unavailable: row(503, 'UNAVAILABLE', true, 'Storage is unavailable. Try again later.'),
  storage_full: row(507, 'UNAVAILABLE', true, 'Storage is full. Try again later.'),
});

export type Reason = keyof typeof failureTable;

/** Reasons whose failures can be retried only if the failure states a wait. */
const sometimesRetryable: readonly Reason[] = ['idempotency_conflict', 'engine_error'];

/** Whether a retry may succeed, worded as in the API documentation. */
export function retryAdvice(reason: Reason): 'yes' | 'if it has a wait' | 'no' {
  if (failureTable[reason].retryable) return 'yes';
  return sometimesRetryable.includes(reason) ? 'if it has a wait' : 'no';
}

export const fieldReasons = Object.freeze({
  required: 'it is missing',
  unknown: 'the field is unknown, or names something that does not exist',
  conflict: 'it was sent twice, or cannot be combined with another value that was sent',
  duplicate: 'it contains the same item twice',
  type: 'it has the wrong JSON type',
  enum: 'it is not one of the values in `allowed`',
  range: 'the number is too small or too large',
  length: 'a short field, such as a name or a list of ids, is empty, too short or too long',
  too_long: 'a large field, such as the text to speak or the chapters, is too long',
  blank: 'it contains nothing to speak',
  encoding: 'it contains characters that are not allowed, such as NUL or an unpaired surrogate',
  format: 'it has the wrong format',
  url: 'the service does not send requests to this address',
  markup: 'its SSML or PLS is invalid; the message says where',
  taken: 'another voice has this id or alias',
  state: 'the resource that the field names is in a state that does not permit the call',
  scope: 'it grants a scope that the calling key lacks',
  unsupported: 'this installation or this engine does not support it',
  unsupported_language: 'the voice does not speak the language',
  unsupported_text: 'the voice cannot speak some of the text, for example because of its script',
  empty: 'the book has no text',
  encrypted: 'the book is protected',
  damaged: 'the book is damaged or incomplete',
  too_large: 'the book is too large',
  too_deep: 'the book is nested too deeply',
  too_slow: 'the book takes too long to read',
  unreadable: 'the book cannot be read',
  audio_decode: 'the recording cannot be read',
  audio_too_short: 'the recording is too short',
  audio_too_long: 'the recording is too long',
  audio_quality: 'the recording is too quiet, clipped or without speech',
});

/** The reason why a field is invalid, or why a resource that the field names was refused, such as `voice_not_found`. */
export type FieldReason = keyof typeof fieldReasons | Reason;

/** An invalid field: its name, a stable reason, and a sentence. */
export interface FieldViolation {
  field: string;
  reason: FieldReason;
  message: string;
  /** The allowed values, for the reason `enum`. */
  allowed?: readonly (string | number)[];
}

/** Details for the caller. They never include a path, a stack trace or a vendor's own message. */
export interface FailureFacts {
  message?: string;
  /** The suggested correction of a misspelt name, which `message` contains too. */
  meant?: string;
  details?: readonly FieldViolation[];
  requiredScopes?: readonly string[];
  /** Seconds after which a retry may succeed; 0 if the wait is unknown. */
  retryAfterSeconds?: number;
  limit?: number;
  actual?: number;
  /** The limit that was exceeded, for `rate_limit_exceeded`. */
  limitReason?: 'requests' | 'concurrency' | 'characters';
}

/** Longest input of a caller in a message. */
const echoCharsMax = 100;

/** Shortens the input of a caller for a message. */
export const shorten = (text: string, charsMax: number = echoCharsMax): string =>
  text.length > charsMax ? `${text.slice(0, charsMax - 1).toWellFormed()}…` : text;

/** An error that has a row in the failure table. `cause` is logged, but never sent to the caller. */
export class Failure extends Error {
  readonly reason: Reason;
  readonly facts: FailureFacts;

  constructor(reason: Reason, facts: FailureFacts = {}, cause?: unknown) {
    const { stackTraceLimit } = Error;
    // Overload creates many such failures. Their stack is never logged, and capturing it would be expensive.
    if (failureTable[reason].retryable) Error.stackTraceLimit = 0;
    super(facts.message ?? failureTable[reason].sentence, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Failure';
    this.reason = reason;
    // A field may have the name of an unknown member.
    this.facts = facts.details
      ? { ...facts, details: facts.details.map((each) => ({ ...each, field: shorten(each.field) })) }
      : facts;
  }
}

/** The failure of a request with one invalid field. */
export const invalidField = (field: string, reason: FieldReason, message: string, cause?: unknown): Failure =>
  new Failure('invalid_request', { details: [{ field, reason, message }] }, cause);

/** Wait in seconds before a retry, if the failure states no wait. */
const retrySecondsDefault = 1;

/** Whether the failure comes from a store, an engine or a caller, not from an error in the program. */
export const isOfOthers = (fault: unknown): boolean => fault instanceof Failure && fault.reason !== 'internal_error';

/** Longest wait that callers are asked for: some clients sleep as long as they are told, even for days. */
const retrySecondsMax = 60;

/** Seconds to wait before a retry; undefined if a retry cannot help soon. */
export const retrySecondsOf = ({ reason, facts }: Failure): number | undefined => {
  const known = facts.retryAfterSeconds ?? (failureTable[reason].retryable ? 0 : Infinity);
  return known > retrySecondsMax ? undefined : known || retrySecondsDefault;
};

export const hasReason = (error: unknown, reason: Reason): error is Failure =>
  error instanceof Failure && error.reason === reason;

/** Returns `error` itself if it is a Failure, and otherwise an `internal_error` with `error` as the cause. */
export function toFailure(error: unknown): Failure {
  return error instanceof Failure ? error : new Failure('internal_error', {}, error);
}
