// Tests loudness against the values of EBU Tech 3341, minus 3.01 LU for one channel instead of two.
import { expect, test } from 'vitest';
import { toFloat, toInt16 } from '../../src/audio/level.ts';
import { gainDbFor, gainDbMax, measureLoudness, targetLoudnessLufs } from '../../src/audio/loudness.ts';
import { join } from '../../src/platform/pcm.ts';
import { noise, tone } from './measure-tone.ts';

const sine = (levelDbfs: number, seconds: number, sampleRateHz = 48000, frequencyHz = 1000) =>
  toInt16(tone({ frequencyHz, sampleRateHz, seconds, amplitude: 10 ** (levelDbfs / 20) }));
const loudnessOf = (...parts: Int16Array[]) =>
  measureLoudness({ samples: join(Int16Array, parts), sampleRateHz: 48000 });

test.each([8000, 16000, 22050, 24000, 44100, 48000])('at %d Hz a sine of 1 kHz is 3 LU under its level', (rate) => {
  expect(Math.abs(measureLoudness({ samples: sine(-20, 2, rate), sampleRateHz: rate }) + 23)).toBeLessThan(0.1);
});

test('quiet passages do not count', () => {
  expect(Math.abs(loudnessOf(sine(-36, 10), sine(-23, 60), sine(-36, 10)) + 26)).toBeLessThan(0.1);
  expect(Math.abs(loudnessOf(sine(-72, 5), sine(-36, 5), sine(-23, 30), sine(-36, 5), sine(-72, 5)) + 26)).toBeLessThan(
    0.1,
  );
  const speech = sine(-20, 4);
  expect(Math.abs(loudnessOf(new Int16Array(96000), speech, new Int16Array(96000)) - loudnessOf(speech))).toBeLessThan(
    0.5,
  );
});

test('weighting attenuates rumble and emphasizes treble', () => {
  expect(loudnessOf(sine(-20, 2, 48000, 25))).toBeLessThan(-33);
  expect(Math.abs(loudnessOf(sine(-20, 2, 48000, 100)) + 24.8)).toBeLessThan(0.2);
  expect(Math.abs(loudnessOf(sine(-20, 2, 48000, 10000)) + 19.7)).toBeLessThan(0.2);
});

test('a sound shorter than a block has a loudness, and silence has none', () => {
  expect(Math.abs(loudnessOf(sine(-20, 0.15)) + 23)).toBeLessThan(0.2);
  expect(loudnessOf(new Int16Array(48000))).toBe(-Infinity);
  expect(loudnessOf(new Int16Array(0))).toBe(-Infinity);
});

test('the gain brings a sound to the target loudness', () => {
  const samples = toInt16(noise(48000, 0.05));
  const gainDb = gainDbFor({ samples, sampleRateHz: 24000 });
  const louder = toInt16(toFloat(samples, gainDb));
  expect(Math.abs(measureLoudness({ samples: louder, sampleRateHz: 24000 }) - targetLoudnessLufs)).toBeLessThan(0.1);
  expect(gainDbFor({ samples: new Int16Array(1000), sampleRateHz: 24000 })).toBe(0);
  expect(gainDbFor({ samples: toInt16(noise(48000, 0.001)), sampleRateHz: 24000 })).toBe(gainDbMax);
});
