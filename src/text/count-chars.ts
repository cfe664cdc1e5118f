// The length of a text in Unicode code points: the one measure of text in limits, offsets and usage.

const surrogate = /[\ud800-\udbff]/;

/** Length in code points. Most texts have no surrogate pair, and then the length in UTF-16 units is right. */
export const countChars = (text: string): number =>
  surrogate.test(text) ? countCharsBetween(text, 0, text.length) : text.length;

/** Code points from one UTF-16 index to another. */
export function countCharsBetween(text: string, from: number, to: number): number {
  let chars = to - from;
  for (let i = from; i < to - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      chars--;
      i++;
    }
  }
  return chars;
}

export const cutText = (text: string, unitsMax: number): string =>
  text.slice(0, unitsMax).replace(/[\ud800-\udbff]$/, '');
