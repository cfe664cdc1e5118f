// Tests recordings that are good enough to clone from, real speech with gradually increasing faults, and recordings
// without speech.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Recording } from '../../../src/audio/recording/track.ts';
import { checkSample } from '../../../src/library/voices/sample-check.ts';
import { join } from '../../../src/platform/pcm.ts';
import { noise, tone } from '../../audio/measure-tone.ts';
import { gained, noisy, padded, secondsFrom, speakSamples } from './spoken-sample.ts';

const seconds = { min: 3, max: 30 };
const messagesOf = (recording: Recording) => checkSample(recording, seconds).faults.map(({ message }) => message);
const lengthOf = ({ samples, sampleRateHz }: Recording) => samples.length / sampleRateHz;

let spoken: Recording[];
beforeAll(async () => {
  spoken = await speakSamples();
});
/** The share of voices in which a fault with these words is found. */
const shareWith = (words: string, spoil: (recording: Recording) => Recording) =>
  spoken.filter((recording) => messagesOf(spoil(recording)).some((message) => message.includes(words))).length /
  spoken.length;

describe('speech', () => {
  test('passes as it is, with an offset, a little noise, half as loud, a fifth as loud', () => {
    const kinds: ((recording: Recording) => Recording)[] = [
      (recording) => recording,
      ({ samples, sampleRateHz }) => ({ samples: samples.map((sample) => 0.5 * sample + 0.2), sampleRateHz }),
      (recording) => noisy(recording, 30),
      (recording) => noisy(recording, 20),
      (recording) => gained(recording, 0.5),
      (recording) => gained(recording, 0.2),
    ];
    for (const spoil of kinds) for (const recording of spoken) expect(messagesOf(spoil(recording))).toEqual([]);
  });

  test('in noise does not', () => {
    for (const snrDb of [10, 5]) expect(shareWith('is noisy', (recording) => noisy(recording, snrDb))).toBe(1);
    expect(messagesOf(noisy(spoken[0]!, 10))).toEqual([
      expect.stringMatching(/^is noisy: the voice is (9|1[01]) dB above the noise; at least 15 dB are needed$/),
    ]);
  });

  test('that is cut off at full scale does not', () => {
    const loudest = ({ samples }: Recording) => samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), 0);
    // Peaks 1 dB too high are harmless; 12 dB are not.
    expect(shareWith('full scale', (recording) => gained(recording, 1.12 / loudest(recording)))).toBe(0);
    expect(shareWith('full scale', (recording) => gained(recording, 4 / loudest(recording)))).toBe(1);
    expect(messagesOf(gained(spoken[0]!, 8))[0]).toMatch(
      /^is too loud: [\d.]+ % of it is at full scale and distorted$/,
    );
  });

  test('that was cut off before it was made quieter does not', () => {
    const cutOff = (recording: Recording) => gained(gained(recording, 8), 0.3);
    expect(shareWith('of it are clipped', cutOff)).toBe(1);
  });

  test('that is too quiet does not', () => {
    expect(shareWith('is too quiet', (recording) => gained(recording, 0.03))).toBe(1);
    expect(messagesOf(gained(spoken[0]!, 0.03))[0]).toMatch(/^is too quiet: -5\d LUFS; at least -45 LUFS are needed/);
  });

  test('of telephone bandwidth does not, and every fault is reported', () => {
    const { samples } = gained(spoken[0]!, 8);
    expect(messagesOf(secondsFrom({ samples, sampleRateHz: 8_000 }, 0, 2))).toEqual([
      'has a sample rate of 8000 Hz; at least 16000 Hz are needed',
      expect.stringMatching(/^lasts [12]\.\d seconds without the silence around it; 3 to 30 seconds are needed$/),
      expect.stringContaining('is too loud'),
    ]);
  });
});

describe('length and silence', () => {
  test('silence around is cut down to a breath, clicks in it or not', () => {
    const [recording] = spoken;
    const around = padded(recording!, 5, 8);
    for (const at of [2_000, around.samples.length - 2_000]) around.samples[at] = 0.9;
    const { faults, trimmed } = checkSample(around, seconds);
    expect(faults).toEqual([]);
    expect(Math.abs(lengthOf(trimmed) - lengthOf(recording!))).toBeLessThan(0.6);
  });

  test('too short and too long are measured without the silence', () => {
    const short = padded(secondsFrom(spoken[0]!, 0, 2), 4, 4);
    expect(checkSample(short, seconds).faults).toEqual([
      { reason: 'audio_too_short', message: expect.stringMatching(/^lasts (1|2)\.\d seconds/) },
    ]);
    expect(checkSample(spoken[0]!, { min: 1, max: 4 }).faults).toEqual([
      { reason: 'audio_too_long', message: expect.stringContaining('1 to 4 seconds are needed') },
    ]);
    const blink = secondsFrom(spoken[0]!, 1, 1.1);
    expect(checkSample(blink, seconds).faults).toMatchObject([{ reason: 'audio_too_short' }]);
  });

  test('words with long silence between them are mostly silent', () => {
    const word = secondsFrom(spoken[0]!, 0.3, 0.9);
    const words = [padded(word, 0, 5), padded(word, 0, 5), word].map(({ samples }) => samples);
    const messages = messagesOf({ samples: join(Float32Array, words), sampleRateHz: word.sampleRateHz });
    expect(messages).toEqual([
      expect.stringMatching(/^is mostly silent: [\d.]+ % of it is speech; at least 30 % is needed$/),
    ]);
  });
});

describe('no speech', () => {
  const sampleRateHz = 24_000;
  const sine = tone({ frequencyHz: 440, sampleRateHz, seconds: 5 });
  const often = (i: number, hz: number) => 0.5 + 0.5 * Math.sin((2 * Math.PI * hz * i) / sampleRateHz);
  test.each([
    ['silence', sine.map(() => 0), 'is silent'],
    ['a steady offset', sine.map(() => 0.5), 'is silent'],
    ['what nobody hears', sine.map((sample) => sample / 2_000), 'is silent'],
    ['a tone', sine, 'has a constant loudness'],
    ['noise', noise(sine.length, 0.5), 'has a constant loudness'],
    ['a tone that comes and goes', sine.map((sample, i) => sample * often(i, 2) ** 3), 'is a constant tone'],
  ])('%s', (_, samples, words) => {
    expect(messagesOf({ samples, sampleRateHz })).toEqual([expect.stringContaining(words)]);
  });
});
