// Writes text and limits in headers, and reads the request headers that several APIs support. Text for a header is
// percent-encoded as UTF-8 unless it is valid unchanged.
import type { LimitStatus } from '../../accounts.ts';
import { createId } from '../../platform/runtime/id.ts';

/** Whether the text is printable ASCII without a space at either end. */
const isPlain = (text: string) => /^[!-~](?:[ -~]*[!-~])?$/.test(text);

export const headerText = (text: string): string => (isPlain(text) ? text : encodeURIComponent(text.toWellFormed()));

/** Whether the header lists this type and lists no other type with a higher quality. */
export function asksFor(accept: string | undefined, type: string): boolean {
  if (!accept?.toLowerCase().includes(type)) return false;
  const ranges = accept.split(',').map((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    return { name, quality: weight === undefined ? 1 : Number(weight.slice(2)) };
  });
  const own = ranges.find(({ name }) => name === type)?.quality ?? 0;
  return own > 0 && ranges.every(({ name, quality }) => name.includes('*') || !(quality > own));
}

/** Whether the Cache-Control of a request demands a new answer. */
export const isFreshWanted = (cacheControl: string | null | undefined): boolean =>
  /\bno-cache\b/i.test(cacheControl ?? '');

/** Whether If-Match is absent or lists the tag (or `*`), by strong comparison. */
export const isWanted = (ifMatch: string | undefined, etag: string): boolean =>
  ifMatch === undefined || ifMatch.trim() === '*' || ifMatch.split(',').some((one) => one.trim() === etag);

/** Whether If-None-Match lists the tag (or `*`), by weak comparison. */
export const isKept = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch?.trim() === '*' ||
  (ifNoneMatch?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag) ?? false);

/** Returns the Link header (RFC 8288) for the C2PA manifest of the audio. */
export const manifestLink = (url: string): string => `<${url}>; rel="c2pa-manifest"`;

const monthSeconds = 30 * 24 * 3600;

/**
 * Returns the headers that report a key's limits in every response, following draft-ietf-httpapi-ratelimit-headers:
 *
 *     RateLimit-Policy: "requests";q=600;w=60, "concurrency";q=20;qu="concurrent-requests"
 *     RateLimit: "requests";r=87;t=2                r: requests allowed now; t: seconds until all are available
 */
export function toRateLimitHeaders({
  limits: { requestsPerMinute, concurrency, charactersPerMonth },
  requests,
  characters,
}: LimitStatus): Record<'ratelimit-policy' | 'ratelimit', string> {
  const policy = `"requests";q=${requestsPerMinute};w=60, "concurrency";q=${concurrency};qu="concurrent-requests"`;
  const ofMonth = charactersPerMonth === undefined ? '' : `, "characters";q=${charactersPerMonth};w=${monthSeconds}`;
  const item = (name: string, { remaining, fullInSeconds }: LimitStatus['requests']) =>
    `"${name}";r=${remaining};t=${fullInSeconds}`;
  const first = item('requests', requests);
  const ratelimit = characters ? `${first}, ${item('characters', characters)}` : first;
  return { 'ratelimit-policy': policy + ofMonth, ratelimit };
}

export const apiVersion = '1.0.0';

/** Returns the caller's request id if it is safe in a header, else a new id. */
export const toRequestId = (theirs: unknown): string =>
  typeof theirs === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(theirs) ? theirs : createId('req');
