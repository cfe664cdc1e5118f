// The length of a text in Unicode code points.

const surrogate = /[\ud800-\udbff]/;

/** Length in Unicode code points, the one measure of text in limits, offsets and bills. */
export function countChars(text: string): number {
  let chars = text.length;
  // Most texts hold no pair, and that is seen at once.
  if (!surrogate.test(text)) return chars;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      chars--;
      i++;
    }
  }
  return chars;
}
