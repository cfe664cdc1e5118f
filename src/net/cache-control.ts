// What a request says about caches (RFC 9111), and about what its client has kept (RFC 9110 section 13.1).

/** Whether the Cache-Control of a request asks for an answer that is made anew. */
export const isFreshWanted = (cacheControl: string | null | undefined): boolean =>
  /\bno-cache\b/i.test(cacheControl ?? '');

/** Whether If-Match, if there is one, names the tag: a list, or `*`; strong comparison. */
export const isWanted = (ifMatch: string | undefined, etag: string): boolean =>
  ifMatch === undefined || ifMatch.trim() === '*' || ifMatch.split(',').some((one) => one.trim() === etag);

/** Whether If-None-Match names the tag: a list, or `*`; weak comparison. */
export const isKept = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch?.trim() === '*' ||
  (ifNoneMatch?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag) ?? false);
