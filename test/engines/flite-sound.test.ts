// Tests that flite's audio is complete, timed, and distinct per voice.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine, Segment, SpokenPcm, Voice } from '../../src/engines/engine.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { FliteProgram } from '../../src/engines/flite/flite-program.ts';
import { compileWasm } from '../../src/engines/flite/wasi.ts';
import { secondsOf } from '../../src/platform/pcm.ts';
import { type OpenedGuard, openGuard } from './open-guard.ts';

let engine: Engine;
let guard: OpenedGuard;
beforeAll(async () => {
  engine = await openFlite({ threads: 2 });
  guard = openGuard({ ...engine, capabilities: { ...engine.capabilities, segmentCharsMax: 1_500 } });
});
afterAll(() => guard.close());

const voiceOf = (voiceId: string): Voice => engine.voices.find((voice) => voice.voiceId === voiceId)!;
const quick = () => voiceOf('otto');
const speak = (text: string, question: Partial<Segment> = {}) => {
  const segment = { voice: quick(), text, languageCode: 'en', speakingRate: 1, timings: false, urgent: false };
  return guard.speak({ ...segment, ...question }, 'caller', new AbortController().signal);
};

async function hear(pieces: AsyncIterable<SpokenPcm>) {
  const hash = createHash('sha256');
  const all = await Array.fromAsync(pieces);
  for (const { samples } of all) hash.update(samples);
  const seconds = all.reduce((sum, piece) => sum + secondsOf(piece), 0);
  return { pieces: all, seconds, hash: hash.digest('hex'), words: all.flatMap(({ words = [] }) => words) };
}
const say = (text: string, question?: Partial<Segment>) => hear(speak(text, question));
const wordsIn = async (text: string, question?: Partial<Segment>) =>
  (await say(text, { timings: true, ...question })).words.map(({ from, to }) => text.slice(from, to));

describe('the voices', () => {
  test('are each their own, and none is the one that flite falls back on', async () => {
    const program = new FliteProgram(await compileWasm());
    const fallback = createHash('sha256');
    let fallbackRateHz = 0;
    program.run({
      args: ['-voice', 'nobody'],
      text: 'Good day.',
      onSound(samples, sampleRateHz) {
        fallback.update(samples);
        fallbackRateHz = sampleRateHz;
      },
    });
    const heard = await Promise.all(engine.voices.map((voice) => say('Good day.', { voice })));
    expect(fallbackRateHz).toBe(8000);
    expect(new Set([fallback.digest('hex'), ...heard.map(({ hash }) => hash)]).size).toBe(engine.voices.length + 1);
    for (const { sampleRateHz } of heard.flatMap(({ pieces }) => pieces)) expect(sampleRateHz).toBe(16_000);
  });

  test.each(['a a a a', 'a, a. a! a'])('each of several stated pronunciations in a row is spoken: %s', async (text) => {
    const phonemes = [...text.matchAll(/a/g)].map(({ index }) => ({
      from: index,
      to: index + 1,
      phonemes: 'hh ax l ow1',
    }));
    const one = await say('a', { phonemes: phonemes.slice(0, 1) });
    const all = await say(text, { phonemes, timings: true });
    expect(all.seconds).toBeGreaterThan(2 * one.seconds);
    expect(all.words.map(({ from }) => from)).toEqual(phonemes.map(({ from }) => from));
  });

  test('an unknown one is refused', async () => {
    const voice = { ...quick(), voiceId: 'nobody' };
    await expect(say('Good day.', { voice })).rejects.toMatchObject({ reason: 'engine_error' });
  });

  test('keep time at every rate', async () => {
    const text = 'Rain fell on the roof, and nobody slept.';
    for (const voice of ['fergus', 'clara', 'otto'].map(voiceOf)) {
      const { seconds } = await say(text, { voice });
      for (const speakingRate of [0.25, 0.5, 1.25, 2]) {
        const real = seconds / (await say(text, { voice, speakingRate })).seconds;
        expect(Math.abs(real / speakingRate - 1), `${voice.voiceId} at ${speakingRate}`).toBeLessThan(0.03);
      }
    }
  });
});

test('a segment sounds the same with times and without', async () => {
  const text = 'The tide had turned. Was anyone there? Nobody answered.';
  expect((await say(text, { timings: true })).hash).toBe((await say(text)).hash);
});

describe('a segment', () => {
  test('comes in pieces of a second at most, each with memory of its own', async () => {
    const { pieces } = await say('One, two, three, four, five, six. Seven, eight!');
    expect(pieces.length).toBeGreaterThan(3);
    for (const { samples } of pieces) {
      expect(samples.length).toBeLessThanOrEqual(16_000);
      expect(samples.buffer.byteLength).toBe(samples.byteLength);
    }
  });

  test('without anything to say has no sound', async () => {
    expect((await say('... \u2014 \u{1f600}', { timings: true })).pieces).toEqual([]);
  });

  test('is said to its last word, were that a sentence of its own', async () => {
    const question = await say('Are you there?');
    const answered = await say('Are you there? Yes.');
    expect(answered.seconds).toBeGreaterThan(question.seconds + 0.3);
  });

  test('that is far too long is refused rather than shortened', async () => {
    await expect(say('again and '.repeat(200))).rejects.toMatchObject({ reason: 'engine_error' });
  });

  test('longer than flite is given at once is spoken in parts, whole', async () => {
    const text = 'again and '.repeat(40).trim();
    expect(await wordsIn(text)).toEqual(text.split(' '));
  });
});

describe('word times', () => {
  test.each([
    'Are you there? Yes.',
    'He paid $19.99 on 12/25/2024 — “far too much”, said Dr. Brown!',
    'No. No! No? No: no.',
    'U.S.A., e.g. NASA etc. at 3:45pm. The 1990s!',
    'Ελλάδα, Россия & España.',
  ])('are there for every spoken word: %s', async (text) => {
    const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}&]/u.test(word));
    // A stop within the segment is not spoken.
    const bare = (word: string) => word.replaceAll(/&|\.$/g, '');
    expect((await wordsIn(text)).map(bare)).toEqual(words.map(bare));
  });

  test('grow, lie within the sound, and come no later than it', async () => {
    for (const speakingRate of [0.5, 1, 2]) {
      const { pieces } = await say('Tell me. Who was it? Well, it was I!', { timings: true, speakingRate });
      let seconds = 0;
      let before = 0;
      for (const piece of pieces) {
        for (const { startSeconds, endSeconds } of piece.words ?? []) {
          expect(startSeconds).toBeGreaterThanOrEqual(Math.max(before, seconds));
          expect(endSeconds).toBeGreaterThan(startSeconds);
          before = endSeconds;
        }
        seconds += secondsOf(piece);
      }
      expect(before).toBeLessThanOrEqual(seconds);
    }
  });

  test('are where the words are heard', async () => {
    const { pieces, words } = await say('Stop! Stop.', { timings: true, voice: voiceOf('clara'), speakingRate: 0.5 });
    const samples = pieces.flatMap((piece) => [...piece.samples]);
    const power = (from: number, to: number) => {
      const part = samples.slice(from * 16_000, to * 16_000);
      return part.reduce((sum, sample) => sum + sample ** 2, 0) / part.length;
    };
    const [first, second] = words as [(typeof words)[0], (typeof words)[0]];
    const quiet = Math.max(power(0, first.startSeconds), power(first.endSeconds + 0.05, second.startSeconds - 0.05));
    for (const { startSeconds, endSeconds } of words)
      expect(power(startSeconds, endSeconds)).toBeGreaterThan(10 * quiet);
  });
});
