// Tests the family VITS with a real voice of Piper, as published: import of the pair of files, the silence around the
// sound, loudness, word times, speeds, the same samples whoever asks, windows, cancellation, and damaged pairs.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { measureLoudness } from '../../src/audio/loudness.ts';
import type { Engine, Segment, SpokenPcm, WordTime } from '../../src/engines/engine.ts';
import { importVoice } from '../../src/engines/onnx/import-voice.ts';
import { openOnnx } from '../../src/engines/onnx/onnx.ts';
import { readOnnxModel } from '../../src/engines/onnx/onnx-file.ts';
import { compileRuntime, findRuntime, openRuntime } from '../../src/engines/onnx/onnx-runtime.ts';
import { vits } from '../../src/engines/onnx/vits.ts';
import { fetchPiperVoice } from './fetched-voice.ts';
import { joinPcm } from './open-guard.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sonant-piper-'));
const signal = new AbortController().signal;
const importMsMax = 600_000;
const sampleRateHz = 22_050;
const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0;
let folder: string;
let model: string;
let why: string | undefined;
let engine: Engine;

const bring = (path: string, to = dataDir) => importVoice({ path, dataDir: to, signal, print: () => {} });

beforeAll(async () => {
  const fetched = await fetchPiperVoice();
  ({ why } = fetched);
  if (fetched.folder === undefined) return;
  // The files as users have them, beside the packages of English pronunciations.
  folder = join(dataDir, 'files');
  mkdirSync(folder);
  cpSync(fetched.folder, folder, { recursive: true });
  model = join(folder, basename(fetched.model!));
  for (const ending of ['', '.json']) cpSync(`${fetched.model}${ending}`, `${model}${ending}`);
  expect(await bring(model)).toEqual(['en_US-joe-medium']);
  engine = (await openOnnx({ dataDir, workers: 2 }))!;
}, importMsMax);
afterAll(async () => {
  await engine?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

describe('a voice of Piper', { timeout: importMsMax }, () => {
  beforeEach((context) => context.skip(engine === undefined, why));

  const speak = (text: string, asked: Partial<Segment> = {}, by = signal): AsyncIterable<SpokenPcm> => {
    const voice = engine.voices[0]!;
    const segment = { voice, text, languageCode: 'en-US', speakingRate: 1, timings: true, urgent: true, ...asked };
    return engine.speak(segment, by);
  };
  const say = async (text: string, asked?: Partial<Segment>) => {
    const pieces = await Array.fromAsync(speak(text, asked));
    const samples = joinPcm(pieces);
    const words: WordTime[] = pieces.flatMap((piece) => piece.words ?? []);
    return { samples, words, pieces, sampleRateHz };
  };
  const sentence = 'The boat left the harbour early, long before the sun came up over the quiet little town.';
  const isLoud = (sample: number) => Math.abs(sample) * 10 ** (engine.voices[0]!.gainDb / 20) > 328;

  test('is described as its file says', () => {
    const described = { voiceId: 'en_US-joe-medium', name: 'Joe', languageCodes: ['en-US', 'en'] };
    expect(engine.voices).toMatchObject([described]);
  });

  test.each(['Yes.', sentence, 'She sells sea shells'])('has a short lead and a fixed tail: %s', async (text) => {
    const { samples } = await say(text);
    const ms = (count: number) => (1_000 * count) / sampleRateHz;
    expect(ms(samples.findIndex(isLoud))).toBeLessThanOrEqual(40);
    const tail = ms(samples.length - 1 - samples.findLastIndex(isLoud));
    expect(tail).toBeGreaterThanOrEqual(120);
    expect(tail).toBeLessThanOrEqual(150);
  });

  test('has the loudness of every voice', async () => {
    const said = [
      await say(sentence),
      await say('Please wait until the rain stops.'),
      await say('She counted the letters.'),
    ];
    const samples = joinPcm(said);
    const loudness = measureLoudness({ samples, sampleRateHz }) + engine.voices[0]!.gainDb;
    expect(Math.abs(loudness + 21)).toBeLessThan(1.5);
  });

  test('begins before the sentence is computed, and has the same samples in each worker', async () => {
    const [one, other, seeded] = await Promise.all([say(sentence), say(sentence), say(sentence, { seed: 7 })]);
    expect(one.pieces.length).toBeGreaterThan(3);
    expect(one.pieces[0]!.samples.length).toBeLessThan(sampleRateHz / 2);
    expect(other.samples).toEqual(one.samples);
    expect(seeded.samples).not.toEqual(one.samples);
  });

  test('has a time for each word, in order, within the sound', async () => {
    const { words, samples } = await say(sentence);
    expect(words.map(({ from, to }) => sentence.slice(from, to)).join(' ')).toBe(sentence.replace(/[,.]/g, ''));
    for (const [n, { startSeconds, endSeconds }] of words.entries()) {
      expect(startSeconds).toBeGreaterThanOrEqual(words[n - 1]?.endSeconds ?? 0);
      expect(endSeconds).toBeGreaterThan(startSeconds);
    }
    expect(words.at(-1)!.endSeconds).toBeLessThanOrEqual(samples.length / sampleRateHz);
  });

  test.each([0.5, 1.6])('keeps to the speed %d', async (speakingRate) => {
    const usual = await say(sentence);
    const other = await say(sentence, { speakingRate });
    expect(usual.samples.length / other.samples.length / speakingRate).toBeCloseTo(1, 1);
  });

  test('stops within a window when it is cancelled', async () => {
    const stopping = new AbortController();
    const pieces = speak(`${sentence} ${sentence}`, {}, stopping.signal)[Symbol.asyncIterator]();
    await pieces.next();
    stopping.abort(new Error('cancelled'));
    await expect(pieces.next()).rejects.toThrow('cancelled');
  });

  test('speaks stated phonemes', async () => {
    const phonemes = engine.toPhonemes!('təˈmɑːtoʊ', engine.voices[0]!, 'en-US')!;
    const usual = await say('I say tomato.');
    const stated = await say('I say tomato.', { phonemes: [{ from: 6, to: 12, phonemes }] });
    expect(stated.samples).not.toEqual(usual.samples);
  });

  test('windows have the samples of the whole', async () => {
    const { is, entry } = findRuntime()!;
    const start = is === 'native' ? { is, entry } : { is, entry, module: await compileRuntime(entry) };
    const opened = await vits.open(
      readOnnxModel(readFileSync(model)),
      await openRuntime(start),
      join(dataDir, 'models/en_US-joe-medium'),
      is,
    );
    const asked = { phonemes: [...'həlˈoʊ, ɪz ɛnibˌɑːdi hˈɪɹ?'], speakers: [], speed: 1, seed: 3 };
    const [whole, cut] = [await opened.begin(asked), await opened.begin(asked)];
    const all = (await whole.render(whole.frames)).slice();
    let at = 0;
    let largest = 0;
    for (let to = 20; at < all.length; to += 20)
      for (const sample of await cut.render(Math.min(to, cut.frames)))
        largest = Math.max(largest, Math.abs(sample - all[at++]!));
    expect(at).toBe(all.length);
    expect(largest).toBeLessThan(1e-4);
  });

  test('a pair without its second file, or with another kind of phonemes, is refused with the reason', async () => {
    const part = mkdtempSync(join(dataDir, 'part-'));
    cpSync(model, join(part, 'voice.onnx'));
    await expect(bring(join(part, 'voice.onnx'))).rejects.toThrow(/voice.onnx.json is missing/);
    const config = JSON.parse(readFileSync(`${model}.json`, 'utf8'));
    writeFileSync(join(part, 'voice.onnx.json'), JSON.stringify({ ...config, phoneme_type: 'pinyin' }));
    await expect(bring(part)).rejects.toThrow(/has the phoneme_type "pinyin"/);
    writeFileSync(join(part, 'other.onnx'), 'nothing');
    await expect(bring(join(part, 'other.onnx'))).rejects.toThrow(/damaged or incomplete/);
  });

  test('a folder with several voices: letters, and the phonemes of eSpeak NG', async (context) => {
    context.skip(!hasEspeak, 'espeak-ng is not installed');
    const pairs = mkdtempSync(join(dataDir, 'pairs-'));
    const other = mkdtempSync(join(dataDir, 'other-'));
    const config = JSON.parse(readFileSync(`${model}.json`, 'utf8'));
    const write = (name: string, changed: object) => {
      cpSync(model, join(pairs, `${name}.onnx`));
      writeFileSync(join(pairs, `${name}.onnx.json`), JSON.stringify({ ...config, ...changed }));
    };
    write('german', { espeak: { voice: 'de' }, language: { code: 'de_DE' } });
    write('letters', { phoneme_type: 'text' });
    expect(await bring(pairs, other)).toEqual(['german', 'letters']);
    const opened = (await openOnnx({ dataDir: other, workers: 1 }))!;
    expect(opened.voices.map(({ languageCodes }) => languageCodes[0])).toEqual(['de-DE', 'en-US']);
    for (const voice of opened.voices) {
      const segment = { voice, text: 'Guten Morgen, liebe Leute.', languageCode: 'de', speakingRate: 1 };
      const pieces = await Array.fromAsync(opened.speak({ ...segment, timings: true, urgent: true }, signal));
      expect(pieces.flatMap(({ words = [] }) => words)).toHaveLength(4);
    }
    await opened.close();
  });
});
