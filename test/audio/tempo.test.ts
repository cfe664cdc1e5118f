// Tests the output of the tempo change: the right length, the same pitch and level, and no artefacts.
import { expect, test } from 'vitest';
import { Tempo, tempoFactors } from '../../src/audio/tempo.ts';
import { allAtOnce, inPieces } from './in-pieces.ts';
import { fitSine, fundamentalHz, middle, noise, peak, rms, toDb, tone } from './measure-tone.ts';

const factors = [tempoFactors.min, 0.5, 0.8, 1.25, 2, 3.3, tempoFactors.max];

/** A vowel-like signal: every harmonic up to 1.5 kHz with equal strength. */
function buzz(frequencyHz: number, sampleRateHz: number, seconds: number): Float32Array {
  const harmonics = Math.floor(1500 / frequencyHz);
  return Float32Array.from({ length: seconds * sampleRateHz }, (_, i) => {
    const half = (Math.PI * frequencyHz * (i + 0.5)) / sampleRateHz;
    return (0.3 * (Math.sin((2 * harmonics + 1) * half) / Math.sin(half) - 1)) / harmonics;
  });
}

test.each(factors)('at %d times the speed the length is right and the pitch stays', (factor) => {
  for (const sampleRateHz of [16000, 24000])
    for (const frequencyHz of [75, 110, 230]) {
      const sound = buzz(frequencyHz, sampleRateHz, 0.4 * Math.max(1, factor));
      const out = allAtOnce(new Tempo({ sampleRateHz, factor }), sound);
      expect(out.length).toBe(Math.round(sound.length / factor));
      const pitch = fundamentalHz(middle(out), sampleRateHz);
      expect(Math.abs(pitch / frequencyHz - 1)).toBeLessThan(0.01);
      expect(Math.abs(toDb(rms(middle(out)) / rms(sound)))).toBeLessThan(0.5);
    }
});

test.each(factors)('at %d times the speed a tone has no click in it', (factor) => {
  const sampleRateHz = 24000;
  const frequencyHz = 317;
  const out = middle(
    allAtOnce(new Tempo({ sampleRateHz, factor }), tone({ frequencyHz, sampleRateHz, seconds: Math.max(1, factor) })),
  );
  expect(fitSine(out.subarray(0, 2400), frequencyHz, sampleRateHz).snrDb).toBeGreaterThan(20);
  // Each sample of a sine follows from the previous two; a discontinuity would show as a deviation.
  const follow = 2 * Math.cos((2 * Math.PI * frequencyHz) / sampleRateHz);
  const breaks = out.subarray(2).map((sample, i) => sample - follow * out[i + 1]! + out[i]!);
  expect(toDb(peak(breaks) / 0.5)).toBeLessThan(-50);
});

test.each(factors)('at %d times the speed hiss keeps its level, without a flutter at the frame rate', (factor) => {
  const sampleRateHz = 16000;
  const out = middle(allAtOnce(new Tempo({ sampleRateHz, factor }), noise(16000 * Math.max(1, factor), 0.3)));
  const overall = rms(out);
  expect(Math.abs(toDb(overall / (0.3 / Math.sqrt(3))))).toBeLessThan(0.7);
  const hop = 160;
  const byPlace = Array.from({ length: 4 }, (_, part) =>
    rms(out.filter((_, i) => Math.floor(((i + out.length / 2) % hop) / (hop / 4)) === part)),
  );
  for (const level of byPlace) expect(Math.abs(toDb(level / overall))).toBeLessThan(1);
});

test.each(factors)('at %d times the speed a sound within is heard when it should be', (factor) => {
  const sampleRateHz = 16000;
  const sound = new Float32Array(32000 * Math.max(1, factor));
  const start = Math.round(sound.length / 3);
  sound.set(noise(Math.round(1600 * factor), 0.5), start);
  const out = allAtOnce(new Tempo({ sampleRateHz, factor }), sound);
  const first = out.findIndex((sample) => Math.abs(sample) > 0.05) / sampleRateHz;
  const last = out.findLastIndex((sample) => Math.abs(sample) > 0.05) / sampleRateHz;
  const meant = start / factor / sampleRateHz;
  // A sound may be off by a frame, which is 20 ms at the original or the new speed.
  const slackSeconds = 0.02 + 0.02 / Math.min(1, factor);
  expect(Math.abs(first - meant)).toBeLessThan(slackSeconds);
  expect(Math.abs(last - meant - 0.1)).toBeLessThan(slackSeconds);
});

test.each(factors)('at %d times the speed pieces give the same bits as the whole', (factor) => {
  const sound = noise(40000, 1).map((sample, i) => sample * Math.sin(i / 50));
  const whole = allAtOnce(new Tempo({ sampleRateHz: 22050, factor }), sound);
  expect(inPieces(new Tempo({ sampleRateHz: 22050, factor }), sound)).toEqual(whole);
});

test('at its own speed the sound is left as it is', () => {
  const sound = buzz(140, 16000, 0.5);
  const out = allAtOnce(new Tempo({ sampleRateHz: 16000, factor: 1 }), sound);
  expect(peak(out.map((sample, i) => sample - sound[i]!))).toBeLessThan(1e-6);
});

test('the shortest sounds have their length too', () => {
  for (const factor of factors)
    for (const length of [0, 1, 50, 200, 500])
      expect(allAtOnce(new Tempo({ sampleRateHz: 16000, factor }), noise(length, 1)).length).toBe(
        Math.round(length / factor),
      );
});

test('silence stays silence', () => {
  expect(peak(allAtOnce(new Tempo({ sampleRateHz: 16000, factor: 1.7 }), new Float32Array(16000)))).toBe(0);
});

test('a factor out of range is refused', () => {
  for (const factor of [0, 0.24, 8.1, Number.NaN])
    expect(() => new Tempo({ sampleRateHz: 16000, factor })).toThrow(RangeError);
});
