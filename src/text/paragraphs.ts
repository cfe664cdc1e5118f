// Splits a text into paragraphs, lazily. A new paragraph starts after a blank line, and at a heading, list item, table
// row, line of code or change of quotation (https://spec.commonmark.org/0.31.2/, sections 4 and 5). Each call reads at
// most `windowCharsMax` ahead. A longer paragraph is returned in parts, and the caller decides where the next part
// begins.

import { matchAt } from './rule.ts';

export const windowCharsMax = 2000;

export interface Paragraph {
  /** Range of the paragraph's text in the chunk. */
  from: number;
  to: number;
  /** Ranges of layout characters: list markers, number signs, table borders. */
  markers: readonly (readonly [from: number, to: number])[];
  /** Whether the text is code, which contains no markup. */
  literal: boolean;
  /** Whether the text is a table row, in which vertical bars separate cells. */
  table: boolean;
  /** Whether the paragraph ends here. Otherwise it continues at `to`. */
  whole: boolean;
  /** Index from which to read the next paragraph. */
  next: number;
}

/** State between calls to readParagraph. */
export interface ReadingState {
  /** The fence that opened the current code block; empty outside code. */
  fence: string;
  /** Whether the last call ended inside a paragraph. */
  within: boolean;
}

interface Line {
  from: number;
  to: number;
  /** Start of the next line. */
  next: number;
  text: string;
}

/** Maximum indent. A longer indent is shortened. */
const indentCharsMax = 100;

const fencePattern = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const rulePattern = /^\s*(?:[-_*=~#+.•·—–] ?){3,}\s*$/;
const underlinePattern = /^ {0,3}(?:=+|-+)\s*$/;
const headingPattern = /^ {0,3}#{1,6}(?:[ \t]+|$)/;
const quotePattern = /^(?: {0,3}>(?!\s*[\d=])[ \t]?)+/;
const bulletPattern = /^\s*[-*+•‣◦▪●○–][ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)/;
const numberPattern = /^\s*(?:(\d{1,3})[.)]|[a-zA-Z]\))[ \t]+(?=\S)/;
const tablePattern = /^\s*\|/;
const tableRulePattern = /^\s*(?:\|\s*)?(?::?-+:?\s*\|\s*)+(?::?-+:?\s*)?$/;
const definitionPattern = /^ {0,3}\[[^\]^]{1,200}\]:[ \t]+\S*[/.#]\S*(?:[ \t]+["'(].{0,500})?\s*$/;
const blankPattern = /\s*/y;
const dialoguePattern = /^\s*[—–][ \t]*(?=\S)/;

/** Reads the paragraph at or after `at`; undefined at the end of the chunk. Updates `state`. */
export function readParagraph(chunk: string, at: number, state: ReadingState): Paragraph | undefined {
  let limit = Math.min(chunk.length, at + windowCharsMax);
  for (let from = at; ; ) {
    if (!state.within) from = skipBlank(chunk, from);
    if (from >= chunk.length) return undefined;
    if (from + windowCharsMax / 2 > limit) limit = Math.min(chunk.length, from + windowCharsMax);
    const line = lineAt(chunk, from, limit);
    if (state.fence !== '') {
      if (line.text.trim().startsWith(state.fence)) state.fence = '';
      else if (line.text.trim() !== '') return part(line, { literal: true });
      from = line.next;
      continue;
    }
    if (state.within) return gather(chunk, line, limit, { markers: [], listed: false, within: true });
    const fence = fencePattern.exec(line.text);
    if (fence) state.fence = fence[1]!;
    else if (!isLayout(line.text)) return start(chunk, line, limit);
    from = line.next;
  }
}

/** Reads text without layout, one window at a time. */
export function readLiteral(chunk: string, at: number, state: ReadingState): Paragraph | undefined {
  const from = state.within ? at : at + matchAt(blankPattern, chunk, at)![0].length;
  if (from >= chunk.length) return undefined;
  const limit = Math.min(chunk.length, from + windowCharsMax);
  const isSplit = limit < chunk.length && /[\uD800-\uDBFF]/.test(chunk[limit - 1]!);
  const to = isSplit ? limit - 1 : limit;
  return { from, to, markers: [], literal: true, table: false, whole: to === chunk.length, next: to };
}

const isLayout = (text: string): boolean =>
  rulePattern.test(text) || tableRulePattern.test(text) || definitionPattern.test(text);

/** Starts a paragraph with `line`. */
function start(chunk: string, line: Line, limit: number): Paragraph {
  const heading = headingPattern.exec(line.text);
  if (heading) {
    const markers: [number, number][] = [[line.from, line.from + heading[0].length]];
    const closing = /[ \t]#+[ \t]*$/.exec(line.text.slice(-20));
    if (closing) markers.push([line.to - closing[0].length, line.to]);
    return part(line, { markers });
  }
  if (tablePattern.test(line.text)) return part(line, { table: true });
  const markers: [number, number][] = [];
  let rest = line.text;
  let listed = false;
  for (const pattern of [quotePattern, bulletPattern, dialoguePattern]) {
    const marker = pattern.exec(rest);
    if (!marker) continue;
    const offset = line.from + line.text.length - rest.length;
    markers.push([offset, offset + marker[0].length]);
    rest = rest.slice(marker[0].length);
    listed ||= pattern === bulletPattern;
  }
  return gather(chunk, line, limit, { markers, listed: listed || numberPattern.test(rest), within: false });
}

/** Joins the lines from `first` to the end of the paragraph or the edge of the window. */
function gather(
  chunk: string,
  first: Line,
  limit: number,
  so: { markers: [number, number][]; listed: boolean; within: boolean },
): Paragraph {
  const quoted = quotePattern.test(first.text);
  const markers = so.markers;
  let last = first;
  while (last.next < chunk.length && last.next < limit) {
    const line = lineAt(chunk, last.next, limit);
    const isBlank = line.text.trim() === '';
    if (isBlank || underlinePattern.test(line.text) || isLayout(line.text))
      return join(first, last, line.next, markers);
    const quote = quotePattern.exec(line.text);
    const text = quote ? line.text.slice(quote[0].length) : line.text;
    const isTitled = last === first && isTitle(first.text, text);
    const isOther = !so.within && ((quote !== null) !== quoted || isTitled);
    if (isOther || startsBlock(text, last.text, so.listed)) return join(first, last, line.from, markers);
    if (quote) markers.push([line.from, line.from + quote[0].length]);
    last = line;
  }
  const whole = last.to < limit || limit === chunk.length;
  return { ...join(first, last, whole ? last.next : last.to, markers), whole };
}

function startsBlock(text: string, before: string, listed: boolean): boolean {
  if (headingPattern.test(text) || fencePattern.test(text) || tablePattern.test(text)) return true;
  if (bulletPattern.test(text) || dialoguePattern.test(text)) return true;
  const number = numberPattern.exec(text);
  // A line of prose may begin with a number and a full stop. Such a line is a list item only if a list is likely here.
  return number !== null && (listed || number[1] === '1' || /[.:;!?]["')\]]*\s*$/.test(before.slice(-10)));
}

/**
 * Whether a first line without final punctuation is a title. A title is short or capitalised. The next line is longer
 * and begins like a sentence, and its first word would have fitted on the title's line.
 */
function isTitle(line: string, below: string): boolean {
  const title = line.trim();
  const next = below.trim();
  if (title.length > 60 || /[\p{P}\p{S}]$/u.test(title) || !/^["'“‘(]?[\p{Lu}\p{N}]/u.test(next)) return false;
  const firstBelow = /^\S{1,60}/.exec(next)?.[0].length ?? 0;
  if (title.length >= next.length || title.length + 1 + firstBelow > next.length) return false;
  const words = title.split(/\s+/);
  const capitals = words.filter((word) => /^[\p{Lu}\p{N}]/u.test(word)).length;
  return capitals > 0 && (words.length <= 3 || capitals * 2 > words.length);
}

function lineAt(chunk: string, from: number, limit: number): Line {
  const window = chunk.slice(from, limit);
  const end = window.search(/[\n\r\u2028\u2029]/);
  if (end >= 0) {
    const wide = window.startsWith('\r\n', end) ? 2 : 1;
    return { from, to: from + end, next: from + end + wide, text: window.slice(0, end) };
  }
  // The window may end inside a surrogate pair.
  const cut = limit < chunk.length && /[\uD800-\uDBFF]$/.test(window) ? window.length - 1 : window.length;
  return { from, to: from + cut, next: from + cut, text: window.slice(0, cut) };
}

/** Start of the first line that is not blank. Includes the indent of the line, which may belong to a marker. */
function skipBlank(chunk: string, at: number): number {
  const end = at + matchAt(blankPattern, chunk, at)![0].length;
  if (end >= chunk.length) return end;
  const indent = /[^\n\r\u2028\u2029]*$/.exec(chunk.slice(Math.max(at, end - indentCharsMax), end))![0].length;
  return end - indent;
}

const part = (line: Line, so: Partial<Paragraph>): Paragraph => ({
  from: line.from,
  to: line.to,
  markers: [],
  literal: false,
  table: false,
  whole: true,
  next: line.next,
  ...so,
});

const join = (first: Line, last: Line, next: number, markers: Paragraph['markers']): Paragraph =>
  part(first, { to: last.to, next, markers });
