// What is wrong with a marked text, and where: lines and columns count from 1, columns in code points.
import { countCharsBetween } from './count-chars.ts';

export class MarkupFault extends Error {
  /** `at` is an index into `source`. */
  constructor(source: string, at: number, what: string) {
    const { line, column } = positionIn(source, at);
    super(`line ${line}, column ${column}: ${what}`);
  }
}

/** Lines end as in XML: with CR, LF or both. */
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
