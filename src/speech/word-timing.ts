// When the caller's own words are heard, from the engine's times of the words it spoke; where it gives none,
// word-estimate.ts has it. Times are seconds from the first sample of the request as it is sent.
import type { WordTime } from '../engines/engine.ts';
import type { Cut, Span } from '../text/segment.ts';

export interface TimedWord {
  /** The word as the caller wrote it. */
  text: string;
  /** Where it is in its chunk, in Unicode code points. */
  offset: number;
  length: number;
  startSeconds: number;
  endSeconds: number;
}

/** Where a segment is in the sound of its request. */
export interface Placement {
  startSeconds: number;
  endSeconds: number;
  /** Silence taken off its beginning, in seconds of the engine's own time. */
  droppedSeconds: number;
  /** How much faster the sound is sent than the engine made it. */
  tempo: number;
}

/** The caller's words of a segment with the engine's times. A word the engine gave no time stands between its neighbours. */
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

/** The caller's text of a stretch of a chunk. */
export type WordAt = (offset: number, length: number) => string;

export const timed = (
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

/** Times are reported to the millisecond. */
const roundToMs = (seconds: number) => Math.round(seconds * 1000) / 1000;

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** Finds stretches of a text by code points, each not before the one found last: one walk over the text for all. */
export function createWordAt(text: string): WordAt {
  let index = 0;
  let passed = 0;
  let last = { offset: -1, length: -1, found: '' };
  const walk = (chars: number) => {
    for (; passed < chars && index < text.length; passed++) index += text.codePointAt(index)! > 0xffff ? 2 : 1;
    return index;
  };
  return (offset, length) => {
    // A word that is divided over segments is looked up again and again.
    if (last.offset === offset && last.length === length) return last.found;
    if (offset < passed) index = passed = 0;
    last = { offset, length, found: text.slice(walk(offset), walk(offset + length)) };
    return last.found;
  };
}
