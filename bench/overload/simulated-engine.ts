// An engine with so many threads, on a clock of its own, behind an adaptive limit: how many requests are heard in a second
// and how long those admitted take, while more want to be heard than can be.
import type { AdaptiveLimit } from '../../src/speech/queue/adaptive-limit.ts';

export interface SimulatedLoad {
  threads: number;
  /** The work of a request of 60 characters. */
  segmentMs: number;
  /** Of the logarithm of the time that the work takes. */
  sigma?: number;
  /** Requests that want to be heard at once, all the time. */
  wanting: number;
  requests: number;
  /** Gives numbers from 0 to 1. */
  random(): number;
}

export interface Simulated {
  heardPerSecond: number;
  /** From admission to the first sound: the median of the second half, by the work of the request. */
  medianMs: number;
  limitAtEnd: number;
  limitMean: number;
}

export function simulate(limit: AdaptiveLimit, load: SimulatedLoad): Simulated {
  const { threads, segmentMs, sigma = 0.1, wanting, requests, random } = load;
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  let nowMs = 0;
  let noted = 0;
  let limitSum = 0;
  const queue: Started[] = [];
  const running: Running[] = [];
  const heardMs: number[] = [];
  let heardSinceHalf = 0;
  let halfMs = 0;
  const begin = () => {
    while (running.length < threads && queue.length > 0) {
      const next = queue.shift()!;
      const work = 0.5 + next.chars / 120;
      running.push({ ...next, endMs: nowMs + segmentMs * work * Math.exp(sigma * gauss()) });
    }
  };
  const admit = () => {
    while (queue.length + running.length < Math.min(wanting, limit.value)) {
      const startingAtOnce = queue.length + running.length + 1;
      queue.push({ sinceMs: nowMs, chars: 10 + Math.floor(50 * random()), startingAtOnce, notedBefore: noted });
      begin();
    }
  };
  for (let done = 0; done < requests; done++) {
    admit();
    const next = running.reduce((a, b) => (b.endMs < a.endMs ? b : a));
    running.splice(running.indexOf(next), 1);
    nowMs = next.endMs;
    const ms = nowMs - next.sinceMs;
    noted++;
    limit.note({ voiceId: 'one', ms, ...next });
    limitSum += limit.value;
    if (done === Math.floor(requests / 2)) halfMs = nowMs;
    if (done > requests / 2) {
      heardSinceHalf++;
      heardMs.push(ms / (0.5 + next.chars / 120));
    }
    begin();
  }
  const medianMs = heardMs.toSorted((a, b) => a - b)[Math.floor(heardMs.length / 2)]!;
  const heardPerSecond = (1000 * heardSinceHalf) / (nowMs - halfMs);
  return { heardPerSecond, medianMs, limitAtEnd: limit.value, limitMean: limitSum / requests };
}

interface Started {
  sinceMs: number;
  chars: number;
  startingAtOnce: number;
  notedBefore: number;
}

interface Running extends Started {
  endMs: number;
}
