// The sound of a segment from a speaker that is not taken on trust, none of it missing: what has letters or digits must be
// heard, and no text becomes sound without end.
import type { Pcm } from '../audio/pcm.ts';
import { secondsOf } from '../audio/pcm.ts';
import { Failure } from '../errors.ts';

const soundSecondsUsual = 200;

export async function* audiblePcm(
  sound: AsyncIterable<Pcm>,
  text: string,
  soundSecondsMax = soundSecondsUsual,
): AsyncGenerator<Pcm> {
  let audible = !/[\p{L}\p{N}]/u.test(text);
  let seconds = 0;
  for await (const pcm of sound) {
    audible ||= pcm.samples.some((sample) => Math.abs(sample) > 64);
    seconds += secondsOf(pcm);
    if (seconds > soundSecondsMax) throw new Failure('engine_error', {}, new Error('more sound than text can become'));
    yield pcm;
  }
  if (!audible) throw new Failure('engine_error', {}, new Error('text became silence'));
}
