// What a request says about caches (RFC 9111).

/** Whether the Cache-Control of a request asks for an answer that is made anew. */
export const isFreshWanted = (cacheControl: string | null | undefined): boolean =>
  /\bno-cache\b/i.test(cacheControl ?? '');
