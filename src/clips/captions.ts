// Creates captions for a complete text, as WebVTT (W3C) or SubRip. A cue has at most two lines, is shown while its
// words are spoken, and ends at a sentence if possible, otherwise at a line, a clause or a word. Cues do not overlap,
// and the last cue stays until the audio ends.
//     WEBVTT                              1
//                                         00:00:00,176 --> 00:00:03,550
//     00:00:00.176 --> 00:00:03.550       The train leaves at half past nine.
//     The train leaves at half past nine.

import { countChars, createOffsets } from '../platform/count-chars.ts';
import type { CaptionKind, TimedWord } from '../speech.ts';
import { type Cut, createBreakFinder, type MarkedText } from '../text.ts';

export interface Cue {
  startSeconds: number;
  endSeconds: number;
  lines: readonly string[];
}

export const captionContentTypes: Readonly<Record<CaptionKind, string>> = {
  srt: 'application/x-subrip',
  vtt: 'text/vtt; charset=utf-8',
};

const lineCharsMax = 42;
const cueSecondsMax = 7;
/** A shorter sentence shares its cue with the next sentence. */
const cueSecondsMin = 1;
/** Time for which a cue stays after its last word, unless the next cue begins. */
const lingerSeconds = 0.5;
const lineBreak = /\r\n|[\n\r\u2028\u2029]/g;
/** Text that is shown with the preceding word: all text up to a space, and closing marks after a space as in French. */
const closingMarks = /^\S*(?:\s+[\p{Terminal_Punctuation}\p{Pe}\p{Pf}…]+(?=\s|$))*/u;

export interface CaptionedText {
  text: string;
  /** Canonical BCP-47 tag, which determines where sentences end. */
  languageCode: string;
  /** Maps a word's position in the caller's text to its position in `text`. Absent if both texts are identical. */
  locate?(word: TimedWord): TimedWord;
}

/** A word with its punctuation. */
interface Token {
  text: string;
  /** Whether no space precedes the token, as in Chinese. */
  glued: boolean;
  /** Number of the token's line in the text. */
  line: number;
  breath: Cut['breakAfter'];
  /** Range of the token in code points, as if the text were one line. */
  from: number;
  to: number;
  startSeconds: number;
  endSeconds: number;
}

/** `given` contains the words of the text in order; `seconds` is the duration of the audio. */
export function toCues(captioned: CaptionedText, given: readonly TimedWord[], seconds: number): Cue[] {
  const { locate } = captioned;
  const words = locate ? given.map(locate) : given;
  const groups: Token[][] = [];
  let group: Token[] = [];
  for (const token of toTokens(captioned, words)) {
    if (group.length > 0 && isComplete(group)) {
      groups.push(group);
      group = [];
    }
    // After a cut, the rest of the group may still be too long for another token.
    while (group.length > 0 && !fits([...group, token])) {
      const count = splitOf(group, token);
      groups.push(group.slice(0, count));
      group = group.slice(count);
    }
    group.push(token);
  }
  if (group.length > 0) groups.push(group);
  const starts = [...groups.slice(1).map(([first]) => first!.startSeconds), Infinity];
  let last = 0;
  return groups.map((tokens, i) => {
    const startSeconds = Math.max(tokens[0]!.startSeconds, last);
    const stays = tokens.at(-1)!.endSeconds + lingerSeconds;
    const until = i === groups.length - 1 ? seconds : Math.min(starts[i]!, stays);
    last = Math.max(until, startSeconds + 0.001);
    return { startSeconds, endSeconds: last, lines: toLines(tokens) };
  });
}

export function toCaptions(kind: CaptionKind, cues: readonly Cue[]): string {
  const isVtt = kind === 'vtt';
  const time = (seconds: number) => toTime(seconds, isVtt ? '.' : ',');
  const blocks = cues.map(({ startSeconds, endSeconds, lines }, i) => {
    const shown = isVtt ? lines.map(escapeVtt) : lines;
    return [...(isVtt ? [] : [i + 1]), `${time(startSeconds)} --> ${time(endSeconds)}`, ...shown, ''].join('\n');
  });
  return [...(isVtt ? ['WEBVTT\n'] : []), ...blocks].join('\n');
}

/** Whether the cue ends a paragraph, or ends a sentence and is long enough. */
function isComplete(group: readonly Token[]): boolean {
  const last = group.at(-1)!;
  const isLong = last.endSeconds - group[0]!.startSeconds >= cueSecondsMin;
  return last.breath === 'paragraph' || (isLong && last.breath === 'sentence');
}

const fits = (tokens: readonly Token[]): boolean =>
  tokens.at(-1)!.endSeconds - tokens[0]!.startSeconds <= cueSecondsMax && secondLineOf(tokens) !== undefined;

/**
 * Returns the number of tokens that stay in a cue without room for `next`. The cue ends at a sentence, line or clause,
 * unless too few tokens would stay.
 */
function splitOf(group: readonly Token[], next: Token): number {
  const { line } = group.at(-1)!;
  if (next.line > line) return group.length;
  const afterLast = (...breaths: Token['breath'][]) =>
    group.findLastIndex(({ breath }) => breaths.includes(breath)) + 1;
  const isEnough = (count: number) => count >= group.length / 3;
  const afterSentence = afterLast('sentence', 'paragraph');
  if (isEnough(afterSentence)) return afterSentence;
  const afterLine = group.findIndex((token) => token.line === line);
  if (afterLine > 0) return afterLine;
  const afterClause = afterLast('clause', 'sentence', 'paragraph');
  return isEnough(afterClause) ? afterClause : group.length;
}

/** Divides a cue into one or two lines: the lines of the text if there are several, or lines of similar length. */
function toLines(tokens: readonly Token[]): string[] {
  const joined = (from: number, to?: number) =>
    tokens.slice(from, to).reduce((line, { text, glued }, i) => line + (i > 0 && !glued ? ' ' : '') + text, '');
  const second = secondLineOf(tokens)!;
  return second === tokens.length ? [joined(0)] : [joined(0, second).trim(), joined(second).trim()];
}

/**
 * Returns the index of the token that begins the second line: the number of tokens if one line is enough, undefined if
 * two lines are not enough. Measures without joining strings, because this function is called for every word.
 */
function secondLineOf(tokens: readonly Token[]): number | undefined {
  const { from, line } = tokens[0]!;
  const { to, line: lastLine } = tokens.at(-1)!;
  if (lastLine > line) {
    const at = tokens.findIndex((token) => token.line > line);
    const isOneEach = tokens[at]!.line === lastLine;
    return isOneEach && Math.max(tokens[at - 1]!.to - from, to - tokens[at]!.from) <= lineCharsMax ? at : undefined;
  }
  if (to - from <= lineCharsMax) return tokens.length;
  let best: number | undefined;
  let least = lineCharsMax + 1;
  for (let at = 1; at < tokens.length; at++) {
    const longest = Math.max(tokens[at - 1]!.to - from, to - tokens[at]!.from);
    if (longest < least) [best, least] = [at, longest];
  }
  return best;
}

/** Splits the text before each word. Text between words belongs to the previous word, up to a space or a line break. */
function toTokens({ text, languageCode }: CaptionedText, words: readonly TimedWord[]): Token[] {
  const indices = toIndices(text);
  const breakAt = createBreakFinder(text, languageCode);
  const whole = toWholeWords(words);
  const tokens: Token[] = [];
  let from = 0;
  let line = 0;
  for (const [i, { offset, length, startSeconds, endSeconds }] of whole.entries()) {
    const end = indices[offset + length]!;
    const next = whole[i + 1] ? indices[whole[i + 1]!.offset]! : text.length;
    const gap = text.slice(end, next);
    const to = end + (next === text.length ? gap.split(lineBreak, 1)[0]! : tailOf(gap)).length;
    const begin = Math.max(from, Math.min(indices[offset]!, to));
    const shown =
      withoutBars(lastLineOf(text.slice(from, begin))) + text.slice(begin, end) + withoutBars(text.slice(end, to));
    const clean = shown.replace(/[\s\p{Cc}]+/gu, ' ');
    const breaks = text.slice(to, next).match(lineBreak)?.length ?? 0;
    const spoken = breakAt(end);
    const breath: Token['breath'] = breaks > 1 ? 'paragraph' : spoken === 'paragraph' ? 'sentence' : spoken;
    const glued = tokens.length === 0 || !clean.startsWith(' ');
    const column = (tokens.at(-1)?.to ?? 0) + (glued ? 0 : 1);
    const token = { text: clean.trim(), glued, line, breath, startSeconds, endSeconds };
    tokens.push(...inLines(token, column));
    from = to;
    line += breaks;
  }
  return tokens;
}

/** Returns the part of a gap that is shown with the preceding word. */
function tailOf(gap: string): string {
  const end = gap.search(lineBreak);
  return end < 0 ? closingMarks.exec(gap)![0] : gap.slice(0, end);
}

/** Returns the last line of `gap`, which is the text between two words. Earlier lines are not spoken. */
function lastLineOf(gap: string): string {
  const breaks = [...gap.matchAll(lineBreak)];
  return gap.slice(breaks.at(-1)?.index ?? 0);
}

/** Removes the bars between table cells, which are not spoken. */
const withoutBars = (gap: string): string => gap.replace(/(?<!\S)\|(?!\S)/g, ' ');

/** Returns the UTF-16 index of each code point of the text, and of the end of the text. */
function toIndices(text: string): number[] {
  const indices = [0];
  for (const char of text) indices.push(indices.at(-1)! + char.length);
  return indices;
}

/** Merges the times of a word that was spoken in several segments. */
function toWholeWords(words: readonly TimedWord[]): TimedWord[] {
  const whole: TimedWord[] = [];
  for (const word of words) {
    const last = whole.at(-1);
    if (last && word.offset < last.offset + last.length) last.endSeconds = word.endSeconds;
    else whole.push({ ...word });
  }
  return whole;
}

/** Splits a token that is longer than a line, such as a URL, into lines. */
function inLines(token: Omit<Token, 'from' | 'to'>, column: number): Token[] {
  const chars = [...token.text];
  const count = Math.ceil(chars.length / lineCharsMax);
  const { startSeconds, endSeconds } = token;
  const at = (n: number) =>
    startSeconds + ((endSeconds - startSeconds) * Math.min(n * lineCharsMax, chars.length)) / chars.length;
  return Array.from({ length: count }, (_, n) => ({
    text: chars.slice(n * lineCharsMax, (n + 1) * lineCharsMax).join(''),
    glued: n > 0 || token.glued,
    line: token.line,
    breath: n === count - 1 ? token.breath : 'word',
    from: column + n * lineCharsMax,
    to: column + Math.min((n + 1) * lineCharsMax, chars.length),
    startSeconds: at(n),
    endSeconds: at(n + 1),
  }));
}

const escapeVtt = (line: string): string =>
  line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function toTime(seconds: number, point: string): string {
  const ms = Math.round(seconds * 1000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${point}${String(ms % 1000).padStart(3, '0')}`;
}

/** A range of the source and its position in the text, in code points. */
interface Stretch {
  from: number;
  to: number;
  at: number;
  length: number;
}

export function toCaptioned({ source, items }: MarkedText, languageCode: string): CaptionedText {
  const runs = items.filter((item) => item.kind === 'run');
  const isPlain = runs.length === items.length && runs.length === 1 && runs[0]!.pieces[0]!.to === source.length;
  if (isPlain && !runs[0]!.isLiteral) return { text: source, languageCode };
  const offsetOf = createOffsets(source);
  const stretches: Stretch[] = [];
  let text = '';
  let chars = 0;
  const put = (shown: string) => {
    text += shown;
    chars += countChars(shown);
  };
  for (const item of items) {
    if (item.kind === 'pause') {
      if (!text.endsWith('\n')) put('\n');
      continue;
    }
    for (const { text: written, from, to } of item.pieces) {
      // Line breaks in a document are only layout, so they become spaces.
      const shown = item.isLiteral ? written.replace(/\s/g, ' ') : written;
      stretches.push({ from: offsetOf(from), to: offsetOf(to), at: chars, length: countChars(shown) });
      put(shown);
    }
    if (item.breakAfter) put(item.breakAfter === 'paragraph' ? '\n\n' : ' ');
  }
  return { text, languageCode, locate: (word) => locate(word, stretches) };
}

function locate(word: TimedWord, stretches: readonly Stretch[]): TimedWord {
  const first = stretches.find(({ from, to }) => word.offset >= from && word.offset < to);
  const end = word.offset + word.length;
  const last = stretches.findLast(({ from, to }) => end > from && end <= to) ?? first;
  if (!first || !last) return { ...word, offset: 0, length: 0 };
  const offset = first.at + Math.min(word.offset - first.from, first.length);
  return { ...word, offset, length: Math.max(0, last.at + Math.min(end - last.from, last.length) - offset) };
}
