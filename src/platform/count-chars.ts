// Text length in Unicode code points, the unit of all limits, offsets and usage.

const surrogate = /[\ud800-\udbff]/;

/** Length in code points. Most texts have no surrogate pairs, so their length is the number of UTF-16 units. */
export const countChars = (text: string): number =>
  surrogate.test(text) ? countCharsBetween(text, 0, text.length) : text.length;

/** Number of code points between two UTF-16 indices. */
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

/** Converts a UTF-16 index to an offset in code points. */
export type OffsetOf = (index: number) => number;

export function createOffsets(source: string): OffsetOf {
  if (!/[\ud800-\udbff]/.test(source)) return (index) => index;
  const offsets = new Uint32Array(source.length + 1);
  for (let i = 0, chars = 0; i <= source.length; i++) {
    offsets[i] = chars;
    const isFirstHalf = countCharsBetween(source, i, i + 2) === 1 && i + 1 < source.length;
    if (!isFirstHalf) chars++;
  }
  return (index) => offsets[index]!;
}

/** Line and column of an index. Lines end as in XML: with CR, LF or both. */
export function positionIn(source: string, at: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (const { 0: end, index } of source.matchAll(/\r\n|[\r\n]/g)) {
    if (index + end.length > at) break;
    line++;
    start = index + end.length;
  }
  return { line, column: countCharsBetween(source, start, at) + 1 };
}
