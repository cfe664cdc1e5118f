// Limits what Sonant takes from the servers behind it (speech servers, stores, issuers, mirrors, receivers of
// webhooks), which are not trusted. A body is never logged, because it may quote texts and keys: a log line has the
// status, the kind and length of the body, and a code from a fixed list.

/** The codes and phrases that may be logged. The engines also look for some of them. */
const knownCode = new RegExp(
  [
    // Servers with OpenAI's API.
    'invalid_api_key|insufficient_quota|rate_limit_exceeded|model_not_found|context_length_exceeded|server_error',
    'invalid_request_error|BadRequestError|NotFoundError|InternalServerError|already exists|limit reached|too short',
    'out of memory|queue full|not found|field required',
    // Cloud vendors and OAuth.
    'API_KEY_INVALID|SERVICE_DISABLED|BILLING_DISABLED|IAM_PERMISSION_DENIED|ACCESS_TOKEN_EXPIRED|invalid_grant',
    'sentences? that (?:is|are) too long|invalid_client|unauthorized_client|invalid_scope',
    // S3.
    'NoSuchBucket|NoSuchKey|NoSuchUpload|NotFound|InvalidRange|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch',
    'RequestTimeTooSkewed|ExpiredToken|PermanentRedirect|SlowDown|ServiceUnavailable|InternalError|QuotaExceeded',
    'XMinioStorageFull|XMinioAdminBucketQuotaExceeded',
    // Connections.
    'ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|socket hang up',
  ].join('|'),
  'i',
);
const searchedChars = 4_096;

/** The first known code in the text of a server; empty if there is none. */
export const codeIn = (text: string): string => knownCode.exec(text.slice(0, searchedChars))?.[0] ?? '';

const knownKind = /json|html|xml|plain|event-stream|octet-stream|pcm|wav|mpeg|mp3|mp4|aac|ogg|opus|flac|webm/i;

/** Describes the body of an answer, such as "json, 120 bytes, rate_limit_exceeded". */
export function describeBody(contentType: string | null, body: Uint8Array | string): string {
  const kind = knownKind.exec(contentType ?? '')?.[0].toLowerCase() ?? 'unknown type';
  const bytes = Buffer.from(body);
  return [kind, `${bytes.length} bytes`, codeIn(bytes.toString('utf8', 0, searchedChars))].filter(Boolean).join(', ');
}

/** Reads a body; undefined if it is longer. */
export async function readUpTo({ body }: Pick<Response, 'body'>, bytesMax: number): Promise<Buffer | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body ?? []) {
    length += piece.length;
    if (length > bytesMax) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Parses an answer; undefined if it is not JSON, or longer than `readUpTo` reads. */
export function parseAnswer(body: Buffer | string | undefined): unknown {
  try {
    return JSON.parse(String(body));
  } catch {
    return undefined;
  }
}

/** The wait in milliseconds that Retry-After (RFC 9110) requests, in seconds or as a date; undefined if it is neither. */
export function retryAfterMs(header: string | null | undefined, nowMs = Date.now()): number | undefined {
  const ms = /^\d+$/.test(header ?? '') ? 1000 * Number(header) : Date.parse(header ?? '') - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Longest wait that a caller is told, because the circuit breaker tests a server again after a minute. */
const waitSecondsMax = 60;
export const limitWait = (seconds: number): number => Math.min(seconds, waitSecondsMax);

const nameCharsMax = 200;
/** Line breaks and other control characters, and characters that change the direction of text. */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]+/gu;

/** Cleans a name that a server states. */
export const cleanText = (text: string): string =>
  text.slice(0, nameCharsMax).toWellFormed().replace(controls, ' ').trim();

/** Whether an id, which cannot be changed, is usable as it is. */
export const isCleanText = (text: string, charsMax: number): boolean =>
  text !== '' && text.length <= charsMax && cleanText(text) === text;
