// Captions of a whole text: the caller's own words in cues of two lines at most, each on screen while it is heard. A cue
// ends with a sentence where it can, else with a clause, else with a word; none overlaps the next, and the last stays
// until the sound ends. Written as WebVTT (W3C) or as SubRip, which has commas in its times, and numbers:
//     WEBVTT                              1
//                                         00:00:00,176 --> 00:00:03,550
//     00:00:00.176 --> 00:00:03.550       The train leaves at half past nine.
//     The train leaves at half past nine.
import { countChars } from './request.ts';
import { createWordAt, type TimedWord } from './word-timing.ts';

export interface Cue {
  startSeconds: number;
  endSeconds: number;
  lines: readonly string[];
}

export const captionKinds = ['srt', 'vtt'] as const;
export type CaptionKind = (typeof captionKinds)[number];

export const captionContentTypes: Readonly<Record<CaptionKind, string>> = {
  srt: 'application/x-subrip',
  vtt: 'text/vtt; charset=utf-8',
};

const lineCharsMax = 42;
const cueSecondsMax = 7;
/** A sentence that is over sooner shares its cue with the next. */
const cueSecondsMin = 1;
/** How long a cue stays after its last word, if nothing else is heard. */
const lingerSeconds = 0.5;
const sentenceEnd = /[.!?…。！？]["'”’»)\]]*$/u;
const clauseEnd = /[,;:–—，、；：]["'”’»)\]]*$/u;

/** A word with the marks around it. */
interface Token {
  text: string;
  /** What stands before it: a space, a new paragraph, or nothing as in Chinese. */
  before: '' | ' ' | '\n';
  /** Where it is, in code points, were all of the text in one line. */
  from: number;
  to: number;
  startSeconds: number;
  endSeconds: number;
}

/** `words` are those of `text`, in order; `seconds` is how long the sound is. */
export function toCues(text: string, words: readonly TimedWord[], seconds: number): Cue[] {
  const groups: Token[][] = [];
  let group: Token[] = [];
  for (const token of toTokens(text, words)) {
    if (group.length > 0 && isOver(group, token)) {
      groups.push(group);
      group = [];
    }
    // What is left of it may still be too long for another.
    while (group.length > 0 && !fits([...group, token])) {
      const kept = cutOf(group);
      groups.push(group.slice(0, kept));
      group = group.slice(kept);
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

/** Whether the cue is over before `next`: its sentence is, and it was long enough, or a paragraph begins. */
function isOver(group: readonly Token[], next: Token): boolean {
  const last = group.at(-1)!;
  const isLong = last.endSeconds - group[0]!.startSeconds >= cueSecondsMin;
  return next.before === '\n' || (isLong && sentenceEnd.test(last.text));
}

const fits = (tokens: readonly Token[]): boolean =>
  tokens.at(-1)!.endSeconds - tokens[0]!.startSeconds <= cueSecondsMax && secondLineOf(tokens) !== undefined;

/** How many of the words stay in a cue that cannot take another: up to its last sentence or clause, if that is worth it. */
function cutOf(group: readonly Token[]): number {
  for (const end of [sentenceEnd, clauseEnd]) {
    const at = group.findLastIndex(({ text }) => end.test(text)) + 1;
    if (at >= group.length / 3) return at;
  }
  return group.length;
}

/** In one line, or in two as even as can be. */
function toLines(tokens: readonly Token[]): string[] {
  const joined = (from: number, to?: number) =>
    tokens.slice(from, to).reduce((line, { text, before }, i) => line + (i > 0 && before !== '' ? ' ' : '') + text, '');
  const second = secondLineOf(tokens)!;
  return second === tokens.length ? [joined(0)] : [joined(0, second), joined(second)];
}

/**
 * Which token begins the second line: as many as there are where one line holds them all, undefined where two do not.
 * It joins nothing to measure it, for it is asked anew with every word.
 */
function secondLineOf(tokens: readonly Token[]): number | undefined {
  const { from } = tokens[0]!;
  const { to } = tokens.at(-1)!;
  if (to - from <= lineCharsMax) return tokens.length;
  let best: number | undefined;
  let least = lineCharsMax + 1;
  for (let at = 1; at < tokens.length; at++) {
    const longest = Math.max(tokens[at - 1]!.to - from, to - tokens[at]!.from);
    if (longest < least) [best, least] = [at, longest];
  }
  return best;
}

/** The text cut before each word; what stands between words goes with the one before it, up to a space. */
function toTokens(text: string, words: readonly TimedWord[]): Token[] {
  const textAt = createWordAt(text);
  const length = countChars(text);
  const tokens: Token[] = [];
  let from = 0;
  for (const [i, { offset, length: wordLength, startSeconds, endSeconds }] of words.entries()) {
    const next = words[i + 1]?.offset ?? length;
    const end = Math.max(offset + wordLength, from);
    const behind = next > end ? textAt(end, next - end) : '';
    const space = i === words.length - 1 ? -1 : behind.search(/\s/);
    const to = end + countChars(space < 0 ? behind : behind.slice(0, space));
    const raw = to > from ? textAt(from, to - from) : '';
    from = Math.max(to, from);
    const gap = raw.slice(0, raw.length - raw.trimStart().length);
    const clean = raw.replace(/[\s\p{Cc}]+/gu, ' ').trim();
    const before = tokens.length === 0 || gap === '' ? '' : /\n\s*\n/.test(gap) ? '\n' : ' ';
    // A word that is spoken in two segments comes twice.
    if (clean === '' && tokens.length > 0) tokens.at(-1)!.endSeconds = endSeconds;
    else if (clean !== '') {
      const column = (tokens.at(-1)?.to ?? 0) + before.length;
      tokens.push(...inLines({ text: clean, before, startSeconds, endSeconds }, column));
    }
  }
  return tokens;
}

/** A token that is longer than a line, such as an address, line by line. */
function inLines(token: Omit<Token, 'from' | 'to'>, column: number): Token[] {
  const chars = [...token.text];
  const count = Math.ceil(chars.length / lineCharsMax);
  const { startSeconds, endSeconds } = token;
  const at = (n: number) =>
    startSeconds + ((endSeconds - startSeconds) * Math.min(n * lineCharsMax, chars.length)) / chars.length;
  return Array.from({ length: count }, (_, n) => ({
    text: chars.slice(n * lineCharsMax, (n + 1) * lineCharsMax).join(''),
    before: n === 0 ? token.before : '',
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
