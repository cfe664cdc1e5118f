// Durations of sounds at a speed, and where the sounds begin.
import type { Vocabulary } from './family.ts';

/** Kokoro and hibari count 25 ms, which are two frames of 12.5 ms. */
export const durationSeconds = 0.025;
export const framesPerDuration = 2;

/** Silence before and after the sound, which does not depend on the speed. */
export const leadSeconds = 0.035;
export const tailSeconds = 0.135;
const silenceSeconds = leadSeconds + tailSeconds;

/** Stands for a sound, not for a pause. */
const sounding = /[\p{L}ˈˌ]/u;

/** Bisections of the range in which the factor of the durations lies. */
const bisections = 24;

/** The range of phonemes that sound; the others are pauses at both ends. */
export const soundingRange = (phonemes: readonly string[]) => ({
  first: phonemes.findIndex((phoneme) => sounding.test(phoneme)),
  end: 1 + phonemes.findLastIndex((phoneme) => sounding.test(phoneme)),
});

/**
 * Durations at a speed. Rounding each by itself would miss the speed by up to 10 %, so that each ends where the sum of
 * all exact ones up to it does. None is shorter than 1. Those outside of the range stay, because their silence is cut.
 */
export function atSpeed(
  rounded: Float32Array,
  exact: Float32Array,
  speed: number,
  { first, end }: { first: number; end: number },
  durationSeconds: number,
): Float32Array {
  if (speed === 1) return rounded;
  const inner = exact.subarray(first, end);
  const silence = silenceSeconds / durationSeconds;
  const usual = rounded.subarray(first, end).reduce((sum, each) => sum + each, 0);
  const wanted = (usual + silence) / speed - silence;
  let factor = 0;
  for (let step = 4; step > 4 / 2 ** bisections; step /= 2) {
    const longer = factor + step;
    if (inner.reduce((sum, each) => sum + Math.max(1, each * longer), 0) <= wanted) factor = longer;
  }
  const scaled = rounded.slice();
  let left = 0;
  for (let n = first; n < end; n++) {
    left += Math.max(1, exact[n]! * factor);
    scaled[n] = Math.max(1, Math.round(left));
    left -= scaled[n]!;
  }
  return scaled;
}

/** An unknown phoneme has no duration. A pause is before the first phoneme, and after the last. */
export function startsOf(phonemes: readonly string[], vocabulary: Vocabulary, durations: Float32Array): number[] {
  let next = 0;
  let at = framesPerDuration * durations[next++]!;
  const starts = [at];
  for (const phoneme of phonemes) {
    if (vocabulary[phoneme] !== undefined) at += framesPerDuration * durations[next++]!;
    starts.push(at);
  }
  return starts;
}
