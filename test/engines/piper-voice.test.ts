// Tests the family VITS with a real voice of Piper, as published: import of the pair of files, the contract of a
// natural voice, windows, and damaged pairs.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { importVoice } from '../../src/engines/onnx/import-voice.ts';
import { openOnnx } from '../../src/engines/onnx/onnx.ts';
import { readOnnxModel } from '../../src/engines/onnx/onnx-file.ts';
import { compileRuntime, findRuntime, openRuntime } from '../../src/engines/onnx/onnx-runtime.ts';
import { piper } from '../../src/engines/onnx/piper.ts';
import { naturalConformance } from '../conformance/natural-voice.ts';
import { newFolder } from '../new-folder.ts';
import { fetchPiperVoice } from './fetched-voice.ts';

const dataDir = newFolder(afterAll);
const signal = new AbortController().signal;
const importMsMax = 600_000;
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
afterAll(() => engine?.close());

describe('a voice of Piper', { timeout: importMsMax }, () => {
  beforeEach((context) => context.skip(engine === undefined, why));

  naturalConformance(() => ({ engine, voice: engine.voices[0]!, sampleRateHz: 22_050 }));

  test('is described as its file says', () => {
    const described = { voiceId: 'en_US-joe-medium', name: 'Joe', languageCodes: ['en-US', 'en'] };
    expect(engine.voices).toMatchObject([described]);
  });

  test('windows have the samples of the whole', async () => {
    const { is, entry } = findRuntime()!;
    const start = is === 'native' ? { is, entry } : { is, entry, module: await compileRuntime(entry) };
    const opened = await piper.open(
      readOnnxModel(readFileSync(model)),
      await openRuntime(start),
      join(dataDir, 'models/en_US-joe-medium'),
      is,
    );
    const asked = { phonemes: [...'həlˈoʊ, ɪz ɛnibˌɑːdi hˈɪɹ?'], speakers: [], speed: 1, seed: 3 };
    const [whole, cut] = [await opened.begin(asked), await opened.begin(asked)];
    const all = (await whole.render(0, whole.frames)).slice();
    let at = 0;
    let largest = 0;
    for (let to = 20; at < all.length; to += 20)
      for (const sample of await cut.render(to - 20, Math.min(to, cut.frames)))
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
