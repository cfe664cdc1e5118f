// Finds the silences in 16-bit samples.
import { loudFrom } from '../../src/speech/sample-filters.ts';

export interface Gap {
  startSeconds: number;
  endSeconds: number;
}

/** Silences of at least `secondsMin` between sounds, before the first sound and after the last sound. */
export function findGaps(samples: Int16Array, sampleRateHz: number, secondsMin: number): Gap[] {
  const gaps: Gap[] = [];
  let from = 0;
  const end = (to: number) => {
    const gap = { startSeconds: from / sampleRateHz, endSeconds: to / sampleRateHz };
    if (gap.endSeconds - gap.startSeconds >= secondsMin) gaps.push(gap);
  };
  for (let i = 0; i < samples.length; i++) {
    if (Math.abs(samples[i]!) < loudFrom()) continue;
    end(i);
    from = i + 1;
  }
  end(samples.length);
  return gaps;
}
