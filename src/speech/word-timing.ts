// Finds the times of the caller's words from the engine's word times. If the engine gives no times, estimates the
// times. Times are seconds from the first sample of the request's audio.
import type { WordTime } from '../engines.ts';
import type { Cut, Span } from '../text.ts';

export interface TimedWord {
  /** The word as the caller wrote it. */
  text: string;
  /** Offset of the word in its chunk, in Unicode code points. */
  offset: number;
  length: number;
  startSeconds: number;
  endSeconds: number;
}

/** Position of a segment in the audio of its request. */
export interface Placement {
  startSeconds: number;
  endSeconds: number;
  /** Silence trimmed from the start of the segment, in seconds at the engine's speed. */
  droppedSeconds: number;
  /** Playback speed relative to the engine's audio. */
  tempo: number;
}

/** The caller's words in a segment, with times from the engine. A word without a time lies between its neighbours. */
export function engineWords(cut: Cut, times: readonly WordTime[], at: Placement, wordAt: WordAt): TimedWord[] {
  const toRequest = (seconds: number) =>
    clamp(at.startSeconds + (seconds - at.droppedSeconds) / at.tempo, at.startSeconds, at.endSeconds);
  let next = 0;
  let last = at.startSeconds;
  return cut.spans.map((span) => {
    while (next < times.length && times[next]!.to <= span.from) next++;
    let end = last;
    let start: number | undefined;
    for (let i = next; i < times.length && times[i]!.from < span.to; i++) {
      start ??= toRequest(times[i]!.startSeconds);
      end = toRequest(times[i]!.endSeconds);
    }
    start = Math.max(start ?? last, last);
    last = Math.max(end, start);
    return timed(span, start, last, wordAt);
  });
}

/** Returns the text of a range of a chunk, as the caller wrote it. */
export type WordAt = (offset: number, length: number) => string;

const timed = (
  { offset, length, written }: Span,
  startSeconds: number,
  endSeconds: number,
  wordAt: WordAt,
): TimedWord => ({
  text: written ?? wordAt(offset, length),
  offset,
  length,
  startSeconds: roundToMs(startSeconds),
  endSeconds: roundToMs(endSeconds),
});

/** Rounds to milliseconds. */
export const roundToMs = (seconds: number) => Math.round(seconds * 1000) / 1000;

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** Finds ranges of a text by code points. Lookups in text order are fast; an earlier offset restarts the scan. */
export function createWordAt(text: string): WordAt {
  let index = 0;
  let passed = 0;
  let last = { offset: -1, length: -1, found: '' };
  const walk = (chars: number) => {
    for (; passed < chars && index < text.length; passed++) index += text.codePointAt(index)! > 0xffff ? 2 : 1;
    return index;
  };
  return (offset, length) => {
    // The last lookup is cached, because a word that is divided over segments is looked up repeatedly.
    if (last.offset === offset && last.length === length) return last.found;
    if (offset < passed) index = passed = 0;
    last = { offset, length, found: text.slice(walk(offset), walk(offset + length)) };
    return last.found;
  };
}

/** Audio between two pauses. */
export interface Stretch {
  startSeconds: number;
  endSeconds: number;
}

/** Largest distance between the pause of a punctuation mark and its expected position. */
const reachSeconds = 0.4;
const mark = /[.!?,;:\u2013\u2014]["')\]]*$/;

/** A range of words, and the range of audio stretches in which they are spoken. `to` is exclusive. */
interface Run {
  words: readonly [from: number, to: number];
  stretches: readonly [from: number, to: number];
}

export function estimateWords(cut: Cut, sounded: readonly Stretch[], wordAt: WordAt): TimedWord[] {
  const weights = cut.spans.map(({ from, to }) => to - from + 1);
  const hasMark = cut.spans.map(({ from, to }) => mark.test(cut.text.slice(from, to)));
  return toRuns(weights, hasMark, sounded).flatMap(({ words: [first, end], stretches }) => {
    const heard = sounded.slice(...stretches);
    const share = lengthOf(heard) / sum(weights.slice(first, end));
    let passed = 0;
    return cut.spans.slice(first, end).map((span, i) => {
      const start = timeAt(heard, passed, 'start');
      passed += weights[first + i]! * share;
      return timed(span, start, Math.max(timeAt(heard, passed, 'end'), start), wordAt);
    });
  });
}

function toRuns(weights: readonly number[], hasMark: readonly boolean[], sounded: readonly Stretch[]): Run[] {
  const runs: Run[] = [];
  let [word, stretch] = [0, 0];
  for (let end = 1; end < weights.length; end++) {
    if (!hasMark[end - 1]) continue;
    const left = lengthOf(sounded.slice(stretch));
    const due = (left * sum(weights.slice(word, end))) / sum(weights.slice(word));
    const offs = sounded
      .slice(stretch, -1)
      .map((_, i) => Math.abs(lengthOf(sounded.slice(stretch, stretch + i + 1)) - due));
    const least = Math.min(...offs);
    if (least > reachSeconds) continue;
    const next = stretch + offs.indexOf(least) + 1;
    runs.push({ words: [word, end], stretches: [stretch, next] });
    [word, stretch] = [end, next];
  }
  return [...runs, { words: [word, weights.length], stretches: [stretch, sounded.length] }];
}

/**
 * Returns the time at which this many seconds of speech have been played. Between two stretches, `side` chooses the end
 * of the first stretch or the start of the second stretch.
 */
function timeAt(heard: readonly Stretch[], seconds: number, side: 'start' | 'end'): number {
  let left = seconds;
  for (const [i, { startSeconds, endSeconds }] of heard.entries()) {
    const length = endSeconds - startSeconds;
    const isIn = side === 'start' ? left < length - rounding : left < length + rounding;
    if (isIn || i === heard.length - 1) return Math.min(startSeconds + left, endSeconds);
    left -= length;
  }
  return 0;
}

const rounding = 1e-9;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const lengthOf = (stretches: readonly Stretch[]): number =>
  sum(stretches.map(({ startSeconds, endSeconds }) => endSeconds - startSeconds));
