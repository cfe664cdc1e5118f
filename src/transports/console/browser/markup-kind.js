// Detects the markup of a text in the same way as the service: an SSML document, a text with pause tags, or neither.

/** White space, a byte order mark, the XML declaration and comments may precede the `speak` element. */
const documentPattern =
  /^[\s\ufeff]*(?:<\?xml[^>]*\?>\s*|<!--(?:(?!-->)[\s\S])*-->\s*)*<(?:[^\s<>/:="']{1,40}:)?speak[\s/>]/;
const pausePattern = /\[pause:\d{1,9}(?:\.\d{1,9})?m?s\]/i;

/**
 * Returns the value of the request field `markup`.
 * @param {string} text
 * @returns {'ssml' | 'pauses' | undefined}
 */
export const markupOf = (text) =>
  documentPattern.test(text) ? 'ssml' : pausePattern.test(text) ? 'pauses' : undefined;
