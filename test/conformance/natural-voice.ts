// Tests a voice that is spoken from its weights: the silence around the sound, loudness, word times, the same samples
// whoever asks, stated phonemes, speeds and cancellation.
import { expect, test } from 'vitest';
import { measureLoudness } from '../../src/audio/loudness.ts';
import type { Engine, Segment, SpokenPcm, Voice, WordTime } from '../../src/engines/engine.ts';
import type { Pcm } from '../../src/platform/pcm.ts';
import { joinPcm } from '../engines/open-guard.ts';

export interface Natural {
  engine: Engine;
  voice: Voice;
  sampleRateHz: number;
}

export const sentence = 'The boat left the harbour early, long before the sun came up over the quiet little town.';
export const isLoud = (sample: number, { gainDb }: Voice) => Math.abs(sample) * 10 ** (gainDb / 20) > 328;

/** The lead is short, and the tail has a fixed length. */
export function expectSilences({ samples, sampleRateHz }: Pcm, voice: Voice) {
  const ms = (count: number) => (1_000 * count) / sampleRateHz;
  expect(ms(samples.findIndex((sample) => isLoud(sample, voice)))).toBeLessThanOrEqual(40);
  const tail = ms(samples.length - 1 - samples.findLastIndex((sample) => isLoud(sample, voice)));
  expect(tail).toBeGreaterThanOrEqual(120);
  expect(tail).toBeLessThanOrEqual(150);
}

/** Speaks with the voice, or with the one that is asked for. */
export function openSpeaking(natural: () => Natural) {
  const speak = (
    text: string,
    asked: Partial<Segment> = {},
    signal = new AbortController().signal,
  ): AsyncIterable<SpokenPcm> => {
    const { engine, voice } = natural();
    const usual = { voice, text, languageCode: 'en-US', speakingRate: 1, timings: true, urgent: true };
    return engine.speak({ ...usual, ...asked }, signal);
  };
  const say = async (text: string, asked?: Partial<Segment>) => {
    const pieces = await Array.fromAsync(speak(text, asked));
    const words: WordTime[] = pieces.flatMap((piece) => piece.words ?? []);
    return { samples: joinPcm(pieces), words, pieces, sampleRateHz: natural().sampleRateHz };
  };
  return { speak, say };
}

export function naturalConformance(natural: () => Natural) {
  const { say } = openSpeaking(natural);

  test.each(['Yes.', sentence, 'She sells sea shells'])('has a short lead and a fixed tail: %s', async (text) => {
    expectSilences(await say(text), natural().voice);
  });

  test('has the loudness of every voice', async () => {
    const said = [];
    for (const text of [sentence, 'Please wait until the rain stops.', 'She counted the letters.'])
      said.push(await say(text));
    const { voice, sampleRateHz } = natural();
    const loudness = measureLoudness({ samples: joinPcm(said), sampleRateHz }) + voice.gainDb;
    expect(Math.abs(loudness + 21)).toBeLessThan(1.5);
  });

  test('begins before the sentence is computed, and has the same samples in each worker', async () => {
    const [one, other, seeded] = await Promise.all([say(sentence), say(sentence), say(sentence, { seed: 7 })]);
    expect(one.pieces.length).toBeGreaterThan(3);
    expect(one.pieces[0]!.samples.length).toBeLessThan(natural().sampleRateHz / 2);
    expect(other.samples).toEqual(one.samples);
    expect(seeded.samples).not.toEqual(one.samples);
  });

  timeConformance(natural, sentence, [0.5, 1.6]);

  test('speaks stated phonemes', async () => {
    const { engine, voice } = natural();
    const phonemes = engine.toPhonemes!('təˈmɑːtoʊ', voice, 'en-US')!;
    const usual = await say('I say tomato.');
    const stated = await say('I say tomato.', { phonemes: [{ from: 6, to: 12, phonemes }] });
    expect(stated.samples).not.toEqual(usual.samples);
  });
}

/** A voice whose sentence takes long has a shorter one, and fewer speeds. */
export function timeConformance(natural: () => Natural, sentence: string, speakingRates: readonly number[]) {
  const { speak, say } = openSpeaking(natural);

  test('has a time for each word, in order, within the sound', async () => {
    const { words, samples } = await say(sentence);
    expect(words.map(({ from, to }) => sentence.slice(from, to)).join(' ')).toBe(sentence.replace(/[,.]/g, ''));
    for (const [n, { startSeconds, endSeconds }] of words.entries()) {
      expect(startSeconds).toBeGreaterThanOrEqual(words[n - 1]?.endSeconds ?? 0);
      expect(endSeconds).toBeGreaterThan(startSeconds);
    }
    expect(words.at(-1)!.endSeconds).toBeLessThanOrEqual(samples.length / natural().sampleRateHz);
  });

  test.each(speakingRates)('keeps to the speed %d', async (speakingRate) => {
    const usual = await say(sentence);
    const other = await say(sentence, { speakingRate });
    expect(usual.samples.length / other.samples.length / speakingRate).toBeCloseTo(1, 1);
  });

  test('stops within a window when it is cancelled, and speaks the next text unchanged', async () => {
    const whole = await say('One, two.');
    const stopping = new AbortController();
    const pieces = speak(`${sentence} ${sentence}`, {}, stopping.signal)[Symbol.asyncIterator]();
    await pieces.next();
    stopping.abort(new Error('cancelled'));
    await expect(pieces.next()).rejects.toThrow('cancelled');
    expect((await say('One, two.')).samples).toEqual(whole.samples);
  });
}
