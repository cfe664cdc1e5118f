// Measures the pitch of a voice in speech: the median of its voiced frames.
import type { Pcm } from '../../src/platform/pcm.ts';
import { rms } from '../../test/audio/measure-tone.ts';
import { median } from './rounds.ts';

/** Length of a frame: several periods of a voice, but not longer than a vowel. */
const frameSeconds = 0.05;
const framesMax = 500;
const voiceHz = { min: 60, max: 350 };
/** A frame is voiced if it is loud relative to the whole and its periods are alike. */
const loudEnough = 0.5;
const alikeEnough = 0.5;
/** A shift of two periods may match slightly better than one, so the shortest shift close to the best is used. */
const nearlyBest = 0.97;
/** Pitches further from the median are octave errors or belong to unvoiced frames. */
const halfOctave = Math.SQRT2;

export function medianPitchHz({ samples, sampleRateHz }: Pcm): number {
  const length = Math.round(frameSeconds * sampleRateHz);
  const level = rms(samples);
  const stride = Math.max(length >> 1, Math.floor(samples.length / framesMax));
  const pitches: number[] = [];
  for (let from = 0; from + length <= samples.length; from += stride) {
    const frame = samples.subarray(from, from + length);
    const hz = rms(frame) > loudEnough * level ? pitchHz(frame, sampleRateHz) : undefined;
    if (hz !== undefined) pitches.push(hz);
  }
  const about = median(pitches);
  return median(pitches.filter((hz) => hz > about / halfOctave && hz < about * halfOctave));
}

function pitchHz(frame: Int16Array, sampleRateHz: number): number | undefined {
  const shortest = Math.floor(sampleRateHz / voiceHz.max);
  const longest = Math.ceil(sampleRateHz / voiceHz.min);
  const likenesses = Array.from({ length: longest - shortest + 1 }, (_, n) => likeness(frame, shortest + n));
  const best = Math.max(...likenesses);
  if (best < alikeEnough) return undefined;
  const isPeak = (value: number, n: number) =>
    value >= nearlyBest * best && value >= (likenesses[n - 1] ?? 1) && value >= (likenesses[n + 1] ?? 1);
  const at = likenesses.findIndex(isPeak);
  return at < 0 ? undefined : sampleRateHz / (shortest + at);
}

/** Similarity of the audio to itself `shift` samples later, from -1 to 1. */
function likeness(samples: Int16Array, shift: number): number {
  let product = 0;
  let power = 0;
  for (let i = 0; i + shift < samples.length; i++) {
    product += samples[i]! * samples[i + shift]!;
    power += (samples[i]! ** 2 + samples[i + shift]! ** 2) / 2;
  }
  return product / power;
}
