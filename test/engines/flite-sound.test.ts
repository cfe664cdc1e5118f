// Tests that flite's audio is complete, timed, and distinct per voice; that its program is identified by its hash, and
// discarded after a fault or when it has grown large; its text preparation, and the assignment of its phones to the text.
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Engine, Segment, SpokenPcm, Voice } from '../../src/engines/engine.ts';
import { openFlite, openFliteHost } from '../../src/engines/flite/flite.ts';
import { FliteProgram } from '../../src/engines/flite/flite-program.ts';
import { toParts, toSpokenTokens } from '../../src/engines/flite/flite-text.ts';
import type { FliteTask } from '../../src/engines/flite/flite-thread.ts';
import { compileWasm, readWasm } from '../../src/engines/flite/wasi.ts';
import { parsePhones, timeWords } from '../../src/engines/flite/word-times.ts';
import { secondsOf } from '../../src/platform/pcm.ts';
import { oddTexts } from '../conformance/odd-texts.ts';
import { newFolder } from '../new-folder.ts';
import { guardWork } from './guarded-work.ts';
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

let program: FliteProgram;
beforeAll(async () => {
  program = new FliteProgram(await compileWasm());
});

const args = ['-voice', 'kal16'];
function soundOf(text: string): string {
  const heard: string[] = [];
  program.run({ args, text, onSound: (samples) => heard.push(Buffer.from(samples.buffer).toString('base64')) });
  return heard.join();
}

test('another build is refused, and the message says which was found', async () => {
  const path = join(newFolder(), 'flite.wasm');
  await writeFile(path, 'not flite');
  await expect(readWasm(path)).rejects.toThrow(
    /flite\.wasm is not the expected build of flite: its SHA-256 is dd9f57fc/,
  );
});

test('what a run leaves behind, the next does not find', () => {
  const alone = soundOf('Good evening.');
  soundOf('Something quite different. And long!');
  expect(soundOf('Good evening.')).toBe(alone);
});

test('a trap throws, and the next run is as it should be', () => {
  const before = soundOf('Good evening.');
  expect(() => soundOf('!'.repeat(600))).toThrow('memory access out of bounds');
  expect(program.memoryBytes).toBe(0);
  expect(soundOf('Good evening.')).toBe(before);
});

test('text that traps twice fails its segment and nothing else', async () => {
  const host = openFliteHost(1);
  const run = (task: FliteTask, signal: AbortSignal) => host.run(task, signal);
  const work = guardWork({ run, capabilities: { segmentsSpokenMax: 1 } });
  const speak = (spoken: string) => {
    const task = { args, parts: [[{ from: 0, to: 1, spoken }]], timings: false };
    return Array.fromAsync(work(task, new AbortController().signal));
  };
  const [before, trapped, after] = await Promise.allSettled(
    ['Good evening.', '!'.repeat(600), 'Good evening.'].map(speak),
  );
  expect(trapped).toMatchObject({
    reason: { reason: 'engine_error', cause: { message: 'memory access out of bounds' } },
  });
  expect(before).toMatchObject({ status: 'fulfilled', value: [{ sampleRateHz: 16_000 }] });
  expect(after).toEqual(before);
  await host.close();
});

test('what a listener throws ends the run', () => {
  const before = soundOf('Good evening.');
  const stop = () => {
    throw new Error('enough');
  };
  expect(() => program.run({ args, text: 'One. Two. Three.', onSound: stop })).toThrow('enough');
  expect(soundOf('Good evening.')).toBe(before);
});

test('an instance that has grown large is not kept', () => {
  soundOf('Good evening.');
  expect(program.memoryBytes).toBeGreaterThan(0);
  program.run({ args: [...args, '--setf', 'duration_stretch=1200'], text: 'Good evening.' });
  expect(program.memoryBytes).toBe(0);
});

const spokenOf = (text: string) => toSpokenTokens(text).map(({ spoken }) => spoken);

describe('what flite is given', () => {
  test.each([
    ['It’s “fine” — yes …', ["It's", '"fine",', 'yes.']],
    ['Hello , world !', ['Hello,', 'world!']],
    ['Äpfel, naïve façade, Łódź', ['Apfel,', 'naive', 'facade,', 'Lodz']],
    ['2½ cups at £4.50, or $19.99', ['2 1/2', 'cups', 'at', '4.50 pounds,', 'or', '$19.99']],
    ['~$5 ~£6', ['$5', '6 pounds']],
    ['R&D is 50% of 5°', ['R and D', 'is', '50 percent', 'of', '5 degrees']],
    ['and/or 12/25/2024', ['and or', '12/25/2024']],
    ['well-known x+y=z', ['well-known', 'x plus y equals z']],
    ['Доброе утро', ['Dobroe', 'utro']],
    ['done 👩‍👩‍👧‍👦 and 🇬🇧 !', ['done', 'and!']],
    ['<b>bold</b>', ['b bold b']],
    ['$$$$$$$$ ... ((((', ['dollars.']],
    ['😀 … — \u0000 !', []],
  ])('%s', (text, spoken) => {
    expect(spokenOf(text)).toEqual(spoken);
  });

  test.each(oddTexts)('is bounded, printable and in its place: %s', (_, text) => {
    let end = 0;
    for (const { from, to, spoken } of toSpokenTokens(text)) {
      expect(from).toBeGreaterThanOrEqual(end);
      expect(text.slice(from, to)).toMatch(/^\S{1,80}$/);
      expect(spoken).toMatch(/^[\x20-\x7e]{1,400}$/);
      expect(spoken).toMatch(/[a-z0-9]/i);
      expect(spoken).not.toMatch(/[^a-z0-9 ]{5}|[a-z0-9]{60}|[<>&\\`]/i);
      end = to;
    }
  });

  test('parts hold every token once, and no part is long', () => {
    const tokens = toSpokenTokens('one two three four, '.repeat(40));
    const parts = toParts(tokens);
    expect(parts.flat()).toEqual(tokens);
    for (const part of parts) expect(part.map(({ spoken }) => spoken).join(' ').length).toBeLessThanOrEqual(240);
    expect(toParts([])).toEqual([]);
  });
});

describe('word times', () => {
  const expected = (text: string, phones: string[]) =>
    toSpokenTokens(text).map((token, n) => ({ ...token, phones: phones[n]!.split(' ').filter(Boolean) }));
  const timesOf = (words: ReturnType<typeof expected>, line: string) =>
    timeWords(words, parsePhones(line)).map(({ from, startSeconds, endSeconds }) => [from, startSeconds, endSeconds]);

  test('fall on the phones of each word, pauses left out', () => {
    const words = expected('hello, my friend', ['hh ax l ow', 'm ay', 'f r eh n d']);
    const line = 'pau:0.1 hh:0.2 ax:0.3 l:0.4 ow:0.5 pau:0.7 m:0.8 ay:0.9 f:1.0 r:1.1 eh:1.2 n:1.3 d:1.4 pau:1.6';
    expect(timesOf(words, line)).toEqual([
      [0, 0.1, 0.5],
      [7, 0.7, 0.9],
      [10, 0.9, 1.4],
    ]);
  });

  test('bear phones that changed, came or went', () => {
    const words = expected('a bird sings', ['ey', 'b er d', 's ih ng z']);
    expect(timesOf(words, 'ax:0.1 b:0.2 er:0.3 s:0.4 ih:0.5 ng:0.6 g:0.7 z:0.8')).toEqual([
      [0, 0, 0.1],
      [2, 0.1, 0.3],
      [7, 0.3, 0.8],
    ]);
  });

  test('end with the utterance, at a word with a mark', () => {
    const words = expected('no. Yes, no? No', ['n ow', 'y eh s', 'n ow', 'n ow']);
    expect(timesOf(words, 'n:0.1 ow:0.2')).toHaveLength(1);
    expect(timesOf(words.slice(1), 'y:0.1 eh:0.2 s:0.3 n:0.4 ow:0.5')).toHaveLength(2);
    expect(timesOf(words.slice(3), 'n:0.1 ow:0.2')).toHaveLength(1);
  });

  test('are shared by words to which no phone fell', () => {
    const words = expected('x y z', ['eh k s', 'w ay', 'z iy']);
    expect(timesOf(words, 'eh:0.1 k:0.2 s:0.4')).toEqual([
      [0, 0, 0.4 / 3],
      [2, 0.4 / 3, 0.8 / 3],
      [4, 0.8 / 3, 0.4],
    ]);
  });
});
