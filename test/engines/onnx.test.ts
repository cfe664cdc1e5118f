// Tests the engine of natural voices with the real voice "heart": the contract of an engine and of a natural voice,
// and voices that cannot be used.
import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { importVoice } from '../../src/engines/onnx/import-voice.ts';
import { onnx, openOnnx } from '../../src/engines/onnx/onnx.ts';
import { createSoundCheck } from '../../src/engines/sound-check.ts';
import { Failure } from '../../src/platform/errors.ts';
import { engineConformance } from '../conformance/engine.ts';
import { isLoud, naturalConformance, openSpeaking, sentence } from '../conformance/natural-voice.ts';
import { newFolder } from '../new-folder.ts';
import { fetchVoice } from './fetched-voice.ts';
import { segmentOf } from './open-guard.ts';

const dataDir = newFolder(afterAll);
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

  const natural = () => ({ engine, voice: engine.voices[0]!, sampleRateHz: 24_000 });
  const { say } = openSpeaking(natural);
  naturalConformance(natural);

  test('is described as it is', () => {
    expect(engine.voices).toHaveLength(1);
    expect(engine.voices[0]).toMatchObject({ voiceId: 'hibari', name: 'Heart', labels: { model: 'hibari' } });
    expect(engine.capabilities.isSynthetic).toBeUndefined();
  });

  test('its first audible piece passes the guard before the next piece is computed', async () => {
    const check = createSoundCheck({ text: sentence, speakingRate: 1 } as Segment);
    const { pieces } = await say(sentence);
    const first = pieces.findIndex(({ samples }) => samples.some((sample) => isLoud(sample, engine.voices[0]!)));
    expect(pieces.slice(0, first + 1).map((piece) => check.add(piece).length)).toEqual([
      ...Array(first).fill(0),
      first + 1,
    ]);
  });

  test('is as long with another seed', async () => {
    const [one, seeded] = [await say(sentence), await say(sentence, { seed: 7 })];
    expect(seeded.samples).toHaveLength(one.samples.length);
  });

  test('pauses at a comma', async () => {
    // The comma is between "early" and "long".
    const { words } = await say(sentence);
    expect(words[6]!.startSeconds - words[5]!.endSeconds).toBeGreaterThan(0.1);
  });

  test('speaks a word of 300 letters, and 300 letters that are words', async () => {
    expect((await say('a'.repeat(300))).samples.length).toBeGreaterThan(24_000);
    const { words } = await say('W '.repeat(150).trim());
    expect(words).toHaveLength(150);
  });

  test('takes phonemes that it has, and no others', () => {
    const [voice] = engine.voices;
    expect(engine.toPhonemes!('təˈmɑːtoʊ', voice!, 'en-US')).toBe('təmˈɑtO');
    expect(engine.toPhonemes!('ʀøy', voice!, 'en-US')).toBeUndefined();
  });

  test('is not imported twice, and not without the files that it needs', async () => {
    await expect(bring(folder!)).rejects.toThrow(/already exists/);
    const part = newFolder();
    cpSync(model!, join(part, 'other.onnx'));
    await expect(bring(part)).rejects.toThrow(/also needs vocabulary.json/);
  });

  test('a folder without its model, and a file of another kind, are left to other engines', async () => {
    const empty = newFolder();
    writeFileSync(join(empty, 'readme.txt'), 'nothing');
    expect(await bring(empty)).toBeUndefined();
    expect(await bring(join(empty, 'readme.txt'))).toBeUndefined();
  });

  test('a model that was damaged later fails its requests, and nothing else', async () => {
    const other = newFolder();
    cpSync(join(dataDir, 'models'), join(other, 'models'), { recursive: true });
    truncateSync(join(other, 'models/hibari/model.onnx'), 1_000_000);
    const damaged = (await openOnnx({ dataDir: other, workers: 1 }))!;
    await expect(Array.fromAsync(damaged.speak(segmentOf(damaged), signal))).rejects.toBeInstanceOf(Failure);
    await damaged.close();
    const report = await onnx.inspect({}, other);
    expect(report).toMatchObject({ state: 'broken' });
    expect(report.message).toMatch(/damaged or incomplete/);
    writeFileSync(join(other, 'models/hibari/sonant-voice.json'), '{');
    expect(await onnx.inspect({}, other)).toMatchObject({ state: 'broken' });
  });

  test('is ready for the doctor', async () => {
    expect(await onnx.inspect({}, dataDir)).toMatchObject({ state: 'ready' });
    expect(JSON.parse(readFileSync(join(dataDir, 'models/hibari/sonant-voice.json'), 'utf8')).family).toBe('hibari');
  });
});
