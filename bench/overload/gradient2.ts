// Gradient2 of Netflix's concurrency-limits, as the other algorithm to compare the adaptive limit with: a long mean of the
// time to first sound against the newest, with a queue of the square root of the limit allowed.
import { type AdaptiveLimit, type AdaptiveLimitOptions, workOf } from '../../src/speech/queue/adaptive-limit.ts';

const longWindow = 600;
const warmUps = 10;
const smoothing = 0.2;
const tolerance = 1.5;

export function createGradient2({ min, max, initial }: AdaptiveLimitOptions): AdaptiveLimit {
  let limit = initial;
  let longMs = 0;
  let count = 0;
  return {
    get value() {
      return Math.floor(limit);
    },
    note({ ms, chars, startingAtOnce }) {
      const shortMs = ms / workOf(chars);
      count++;
      longMs += (shortMs - longMs) * (count <= warmUps ? 1 / count : 2 / (longWindow + 1));
      // A load that has passed: the long mean follows faster.
      if (longMs / shortMs > 2) longMs *= 0.95;
      if (startingAtOnce < limit / 2) return;
      const gradient = Math.max(0.5, Math.min(1, (tolerance * longMs) / shortMs));
      const wanted = limit * gradient + Math.sqrt(limit);
      limit = Math.max(min, Math.min(max, limit * (1 - smoothing) + wanted * smoothing));
    },
  };
}
