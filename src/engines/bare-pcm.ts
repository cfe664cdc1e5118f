// Sound from a speaker that was requested to send raw samples (16 bits, one channel, little-endian) at a known rate. Where
// it sends a WAV instead, the WAV's rate counts.
import { Failure } from '../errors.ts';
import type { SpokenPcm } from './engine.ts';
import { wavPcm } from './wav-pcm.ts';

export async function* barePcm(bytes: AsyncGenerator<Buffer>, sampleRateHz: number): AsyncGenerator<SpokenPcm> {
  let rest: Buffer = Buffer.alloc(0);
  let isBegun = false;
  for await (const piece of bytes) {
    rest = Buffer.concat([rest, piece]);
    if (!isBegun && rest.length < 4) continue;
    if (!isBegun && rest.toString('latin1', 0, 4) === 'RIFF') return yield* wavPcm(joined(rest, bytes));
    isBegun = true;
    // An odd byte waits for its other half.
    const samples = new Int16Array(rest.length >> 1);
    for (let i = 0; i < samples.length; i++) samples[i] = rest.readInt16LE(2 * i);
    rest = rest.subarray(samples.length * 2);
    if (samples.length > 0) yield { samples, sampleRateHz };
  }
  if (rest.length > 0) throw new Failure('engine_error', {}, new Error('the sound ends within a sample'));
}

async function* joined(first: Buffer, others: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* others;
}
