// Tests the engine of natural voices with the real voice "heart": the contract of an engine, the silence around the
// sound, loudness, word times, the same samples whoever asks, and voices that cannot be used.
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { measureLoudness } from '../../src/audio/loudness.ts';
import type { Engine, Segment, SpokenPcm, WordTime } from '../../src/engines/engine.ts';
import { importVoice } from '../../src/engines/onnx/import-voice.ts';
import { onnx, openOnnx } from '../../src/engines/onnx/onnx.ts';
import { createSoundCheck } from '../../src/engines/sound-check.ts';
import { Failure } from '../../src/platform/errors.ts';
import { engineConformance } from '../conformance/engine.ts';
import { fetchVoice } from './fetched-voice.ts';
import { joinPcm } from './open-guard.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sonant-onnx-'));
const signal = new AbortController().signal;
const importMsMax = 300_000;
let folder: string | undefined;
let model: string | undefined;
let why: string | undefined;

const bring = (path: string) => importVoice({ path, dataDir, signal, print: () => {} });

beforeAll(async () => {
  ({ folder, model, why } = await fetchVoice());
  if (folder !== undefined) expect(await bring(folder)).toEqual(['hibari']);
}, importMsMax);
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

engineConformance('onnx', async () => (folder === undefined ? undefined : openOnnx({ dataDir, workers: 2 })), {
  needs: 'the files of a voice',
});

describe('a natural voice', { timeout: importMsMax }, () => {
  let engine: Engine;
  beforeAll(async () => {
    if (folder !== undefined) engine = (await openOnnx({ dataDir, workers: 2 }))!;
  });
  beforeEach((context) => context.skip(folder === undefined, why));
  afterAll(() => engine?.close());

  const speak = (text: string, asked: Partial<Segment> = {}, by = signal): AsyncIterable<SpokenPcm> => {
    const voice = engine.voices[0]!;
    const segment = { voice, text, languageCode: 'en-US', speakingRate: 1, timings: true, urgent: true, ...asked };
    return engine.speak(segment, by);
  };
  const say = async (text: string, asked?: Partial<Segment>) => {
    const pieces = await Array.fromAsync(speak(text, asked));
    const samples = joinPcm(pieces);
    const words: WordTime[] = pieces.flatMap((piece) => piece.words ?? []);
    return { samples, words, pieces, sampleRateHz: 24_000 };
  };
  const sentence = 'The boat left the harbour early, long before the sun came up over the quiet little town.';
  const gain = () => 10 ** (engine.voices[0]!.gainDb / 20);
  const isLoud = (sample: number) => Math.abs(sample) * gain() > 328;

  test('is described as it is', () => {
    expect(engine.voices).toHaveLength(1);
    expect(engine.voices[0]).toMatchObject({ voiceId: 'hibari', name: 'Heart', labels: { model: 'hibari' } });
    expect(engine.capabilities.isSynthetic).toBeUndefined();
  });

  test.each(['Yes.', sentence, 'She sells sea shells'])('has a short lead and a fixed tail: %s', async (text) => {
    const { samples } = await say(text);
    const ms = (count: number) => count / 24;
    expect(ms(samples.findIndex(isLoud))).toBeLessThanOrEqual(40);
    const tail = ms(samples.length - 1 - samples.findLastIndex(isLoud));
    expect(tail).toBeGreaterThanOrEqual(120);
    expect(tail).toBeLessThanOrEqual(150);
  });

  test('has the loudness of every voice', async () => {
    const said = await say(`${sentence} ${sentence}`);
    const loudness = measureLoudness(said) + engine.voices[0]!.gainDb;
    expect(Math.abs(loudness + 21)).toBeLessThan(1.5);
  });

  test('its first audible piece passes the guard before the next piece is computed', async () => {
    const check = createSoundCheck({ text: sentence, speakingRate: 1 } as Segment);
    const { pieces } = await say(sentence);
    const first = pieces.findIndex(({ samples }) => samples.some(isLoud));
    expect(pieces.slice(0, first + 1).map((piece) => check.add(piece).length)).toEqual([
      ...Array(first).fill(0),
      first + 1,
    ]);
  });

  test('begins before the sentence is computed', async () => {
    const { pieces } = await say(sentence);
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces[0]!.samples.length).toBeLessThan(12_000);
  });

  test('has the same samples in each worker, and others with another seed', async () => {
    const [one, other, seeded] = await Promise.all([say(sentence), say(sentence), say(sentence, { seed: 7 })]);
    expect(Buffer.from(one.samples.buffer).equals(Buffer.from(other.samples.buffer))).toBe(true);
    expect(seeded.samples).toHaveLength(one.samples.length);
    expect(Buffer.from(one.samples.buffer).equals(Buffer.from(seeded.samples.buffer))).toBe(false);
  });

  test('has a time for each word, in order, within the sound', async () => {
    const { words, samples } = await say(sentence);
    expect(words.map(({ from, to }) => sentence.slice(from, to)).join(' ')).toBe(sentence.replace(/[,.]/g, ''));
    for (const [n, { startSeconds, endSeconds }] of words.entries()) {
      expect(startSeconds).toBeGreaterThanOrEqual(words[n - 1]?.endSeconds ?? 0);
      expect(endSeconds).toBeGreaterThan(startSeconds);
    }
    expect(words.at(-1)!.endSeconds).toBeLessThanOrEqual(samples.length / 24_000);
    // The comma is a pause between "early" and "long".
    const [early, long] = [words[5]!, words[6]!];
    expect(long.startSeconds - early.endSeconds).toBeGreaterThan(0.1);
  });

  test('speaks a word of 300 letters, and 300 letters that are words', async () => {
    expect((await say('a'.repeat(300))).samples.length).toBeGreaterThan(24_000);
    const { words } = await say('W '.repeat(150).trim());
    expect(words).toHaveLength(150);
  });

  test('speaks stated phonemes', async () => {
    const phonemes = engine.toPhonemes!('təˈmɑːtoʊ', engine.voices[0]!, 'en-US');
    expect(phonemes).toBe('təmˈɑtO');
    expect(engine.toPhonemes!('ʀøy', engine.voices[0]!, 'en-US')).toBeUndefined();
    const usual = await say('I say tomato.');
    const stated = await say('I say tomato.', { phonemes: [{ from: 6, to: 12, phonemes: phonemes! }] });
    expect(stated.samples).not.toEqual(usual.samples);
  });

  test('is not imported twice, and not without the files that it needs', async () => {
    await expect(bring(folder!)).rejects.toThrow(/already exists/);
    const part = mkdtempSync(join(tmpdir(), 'sonant-part-'));
    cpSync(model!, join(part, 'other.onnx'));
    await expect(bring(part)).rejects.toThrow(/also needs vocabulary.json/);
    rmSync(part, { recursive: true });
  });

  test('a folder without its model, and a file of another kind, are left to other engines', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'sonant-empty-'));
    writeFileSync(join(empty, 'readme.txt'), 'nothing');
    expect(await bring(empty)).toBeUndefined();
    expect(await bring(join(empty, 'readme.txt'))).toBeUndefined();
    rmSync(empty, { recursive: true });
  });

  test('a model that was damaged later fails its requests, and nothing else', async () => {
    const other = mkdtempSync(join(tmpdir(), 'sonant-damaged-'));
    cpSync(join(dataDir, 'models'), join(other, 'models'), { recursive: true });
    truncateSync(join(other, 'models/hibari/model.onnx'), 1_000_000);
    const damaged = (await openOnnx({ dataDir: other, workers: 1 }))!;
    const voice = damaged.voices[0]!;
    const segment = { voice, text: 'One.', languageCode: 'en-US', speakingRate: 1, timings: false, urgent: true };
    await expect(Array.fromAsync(damaged.speak(segment, signal))).rejects.toBeInstanceOf(Failure);
    await damaged.close();
    const report = await onnx.inspect({}, other);
    expect(report).toMatchObject({ state: 'broken' });
    expect(report.message).toMatch(/damaged or incomplete/);
    writeFileSync(join(other, 'models/hibari/sonant-voice.json'), '{');
    expect(await onnx.inspect({}, other)).toMatchObject({ state: 'broken' });
    rmSync(other, { recursive: true });
  });

  test('is ready for the doctor', async () => {
    expect(await onnx.inspect({}, dataDir)).toMatchObject({ state: 'ready' });
    expect(JSON.parse(readFileSync(join(dataDir, 'models/hibari/sonant-voice.json'), 'utf8')).family).toBe('hibari');
  });
});
