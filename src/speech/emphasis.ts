// Emphasis: words that are heard louder or softer than those around them, by the times that the engine gives its words.
import { fromDb } from '../audio/level.ts';
import type { WordTime } from '../engines/engine.ts';
import type { Emphasis } from '../text/marked-text.ts';

/** A stretch of a segment's text, in UTF-16 indices. */
export interface EmphasizedText {
  level: Emphasis;
  from: number;
  to: number;
}

const gainsDb: Readonly<Record<Emphasis, number>> = { strong: 5, moderate: 3, reduced: -4 };
/** Over which the level changes, so that it makes no click. */
const rampSeconds = 0.015;

/** A stretch of samples with a gain. */
interface Window {
  from: number;
  to: number;
  factor: number;
}

export class EmphasisEnvelope {
  readonly #stretches: readonly EmphasizedText[];
  readonly #rateHz: number;
  readonly #windows: Window[] = [];

  constructor(stretches: readonly EmphasizedText[], sampleRateHz: number) {
    this.#stretches = stretches;
    this.#rateHz = sampleRateHz;
  }

  /** Takes the times of words that are heard later. */
  note(words: readonly WordTime[]): void {
    for (const { from, to, startSeconds, endSeconds } of words) {
      const stretch = this.#stretches.find((each) => from < each.to && to > each.from);
      if (!stretch) continue;
      const factor = fromDb(gainsDb[stretch.level]);
      const window = { from: startSeconds * this.#rateHz, to: endSeconds * this.#rateHz, factor };
      const last = this.#windows.at(-1);
      // Between two words of one stretch the level stays.
      if (last && last.factor === factor && window.from - last.to < this.#rateHz * 0.1) last.to = window.to;
      else this.#windows.push(window);
    }
  }

  /** A factor for each of so many samples of the segment; undefined where nothing changes. */
  factorsFor(at: number, length: number): Float32Array | undefined {
    const ramp = rampSeconds * this.#rateHz;
    const heard = this.#windows.filter(({ from, to }) => from - ramp < at + length && to + ramp > at);
    if (heard.length === 0) return undefined;
    const factors = new Float32Array(length).fill(1);
    for (const { from, to, factor } of heard) {
      for (let i = Math.max(0, Math.floor(from - ramp - at)); i < Math.min(length, to + ramp - at); i++) {
        const depth = Math.min(1, (at + i - from + ramp) / ramp, (to + ramp - at - i) / ramp);
        if (depth > 0) factors[i] = 1 + (factor - 1) * depth;
      }
    }
    return factors;
  }
}
