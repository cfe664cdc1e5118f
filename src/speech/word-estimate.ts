// When words are heard, where the engine does not say: the time in which there is sound is shared among them by their
// length as spoken. A pause that is heard about where a mark is due is taken for that mark's, so what is guessed too long
// in one sentence does not shift the next.
import type { Cut } from '../text/segment.ts';
import { type TimedWord, timed, type WordAt } from './word-timing.ts';

/** Sound between two pauses. */
export interface Stretch {
  startSeconds: number;
  endSeconds: number;
}

/** How far from where it is due the pause of a mark is looked for. */
const reachSeconds = 0.4;
const mark = /[.!?,;:\u2013\u2014]["')\]]*$/;

/** Words of which it is known in which stretches they are heard, by the first of each and the one after the last. */
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

/** When so much has been heard; between two stretches, the end of the one or the start of the other. */
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
