// Provides an engine whose segments are given takes of a sentence: the first call sends the first take, and so on; the
// last take is sent from then on. The takes are flite's speech, whole or with a fault.
import type { Engine, EngineCapabilities, Segment } from '../../src/engines/engine.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { join, joinPcm, type Pcm } from '../../src/platform/pcm.ts';
import { segmentOf } from './open-guard.ts';
import { openTone } from './tone-engine.ts';

export type TakeFault = 'cut_off' | 'held_sound' | 'silence' | 'repeated';

/** Speaks the texts with flite. */
export async function speakFlite(texts: readonly string[]): Promise<Pcm[]> {
  const flite = await openFlite({ threads: 1 });
  const spoken: Pcm[] = [];
  try {
    for (const text of texts) {
      const pieces = await Array.fromAsync(flite.speak(segmentOf(flite, { text }), new AbortController().signal));
      spoken.push(joinPcm(pieces)!);
    }
  } finally {
    await flite.close();
  }
  return spoken;
}

/** Speaks the text with flite. Returns the speech, and the same speech with a long silence. */
export async function speakGoodAndBad(text: string): Promise<{ good: Pcm; bad: Pcm }> {
  const [good] = (await speakFlite([text])) as [Pcm];
  return { good, bad: spoil(good, 'silence') };
}

/** The speech with a fault at its loudest place. */
export function spoil({ samples, sampleRateHz }: Pcm, fault: TakeFault): Pcm {
  const frame = Math.round(0.02 * sampleRateHz);
  const energyAt = (from: number) => samples.subarray(from, from + frame).reduce((sum, each) => sum + each ** 2, 0);
  const froms = Array.from({ length: Math.floor(samples.length / frame) - 40 }, (_, n) => (n + 20) * frame);
  const at = froms.reduce((best, from) => (energyAt(from) > energyAt(best) ? from : best));
  const seconds = (length: number) => Math.round(length * sampleRateHz);
  const [before, after] = [samples.subarray(0, at), samples.subarray(at)];
  const inserted = {
    cut_off: () => new Int16Array(),
    held_sound: () => Int16Array.from({ length: seconds(1) }, (_, n) => samples[at + (n % frame)]!),
    silence: () => new Int16Array(seconds(1.5)),
    repeated: () => samples.slice(Math.max(0, at - seconds(0.8)), at),
  }[fault]();
  return { samples: join(Int16Array, [before, inserted, fault === 'cut_off' ? [] : after]), sampleRateHz };
}

export function openTakes(
  takes: readonly (Pcm | Error)[],
  capabilities: Partial<EngineCapabilities> = {},
): Engine & {
  segments: Segment[];
} {
  const segments: Segment[] = [];
  return {
    ...openTone({ capabilities: { segmentsAtOnce: 1, ...capabilities } }),
    segments,
    async *speak(segment: Segment) {
      const take = takes[Math.min(segments.push(segment), takes.length) - 1]!;
      if (take instanceof Error) throw take;
      const half = take.samples.length >> 1;
      yield { ...take, samples: take.samples.subarray(0, half) };
      yield { ...take, samples: take.samples.subarray(half) };
    },
  };
}
