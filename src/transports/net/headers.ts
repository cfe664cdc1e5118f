// Writes text in headers, and reads the request headers that several APIs support. Text for a header is percent-encoded
// as UTF-8 unless it is valid unchanged.
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

export const apiVersion = '1.0.0';

/** Returns the caller's request id if it is safe in a header, else a new id. */
export const toRequestId = (theirs: unknown): string =>
  typeof theirs === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(theirs) ? theirs : createId('req');
