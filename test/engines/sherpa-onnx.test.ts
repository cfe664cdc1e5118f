// Neural models of the operator's own, spoken with by the real library: it keeps the contract, and survives what ends the
// processes it runs in.
import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { join as joinSamples } from '../../src/audio/join.ts';
import { type Pcm, secondsOf } from '../../src/audio/pcm.ts';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { findLibrary } from '../../src/engines/sherpa-onnx/library.ts';
import { openSherpaOnnx, sherpaOnnx } from '../../src/engines/sherpa-onnx/sherpa-onnx.ts';
import { createEngineGuards } from '../../src/speech/engine-guard.ts';
import { dominantFrequencyHz, tone } from '../audio/measure-tone.ts';
import { engineConformance } from '../conformance/engine.ts';
import { float, node, writeOnnx } from './onnx-writer.ts';
import { humHz, makeTinyPocket } from './tiny-pocket.ts';
import { makeTinyVits, tinyTokens, toneHz, writeTinyVits } from './tiny-vits.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sonant-sherpa-'));
});
afterAll(() => rm(folder, { recursive: true }));

const newDataDir = () => mkdtemp(join(folder, 'data-'));
const settings = { threads: 1, modelsMax: 2 };
const { signal } = new AbortController();

engineConformance(
  'sherpa-onnx',
  async () => {
    const dataDir = await newDataDir();
    await makeTinyVits(join(dataDir, 'models/tiny'));
    return openSherpaOnnx({ dataDir, ...settings });
  },
  { needs: 'the package sherpa-onnx-node' },
);

describe('models of one\u2019s own', { timeout: 60_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(folder), 'not found here'));

  const open = async (dataDir: string): Promise<Engine> => {
    const engine = (await openSherpaOnnx({ dataDir, ...settings }))!;
    onTestFinished(() => engine.close());
    return engine;
  };
  const segment = (engine: Engine, text: string, options: Partial<Segment> = {}): Segment => ({
    voice: engine.voices[0]!,
    text,
    languageCode: 'en',
    speakingRate: 1,
    timings: false,
    urgent: true,
    ...options,
  });
  const guards = createEngineGuards();
  const speak = (engine: Engine, text: string, options?: Partial<Segment>) =>
    guards(engine).speak(segment(engine, text, options), 'caller', signal);
  const hear = async (engine: Engine, text: string, options?: Partial<Segment>): Promise<Pcm> => {
    const pieces = await Array.fromAsync(speak(engine, text, options));
    const samples = pieces.map((piece) => piece.samples);
    return { samples: joinSamples(Int16Array, samples), sampleRateHz: pieces[0]?.sampleRateHz ?? 0 };
  };
  const hzOf = ({ samples, sampleRateHz }: Pcm) => dominantFrequencyHz(samples, sampleRateHz);
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => expect.fail('it went well'),
      (error: unknown) => error,
    );

  test('speak with each of their speakers, in the configured order and by the configured names', async () => {
    const dataDir = await newDataDir();
    const choir = await makeTinyVits(join(dataDir, 'models/choir'), { speakers: 3, sampleRateHz: 22_050 });
    const speakers = [
      { name: 'Bass', labels: { gender: 'male' } },
      { name: 'Alto', language_codes: ['en-GB'] },
    ];
    await writeFile(join(choir, 'sonant-model.json'), JSON.stringify({ name: 'Choir', speakers }));
    const engine = await open(dataDir);
    expect(engine.voices).toMatchObject([
      { voiceId: 'choir-Bass', name: 'Choir Bass', languageCodes: ['en'], labels: { gender: 'male', model: 'vits' } },
      { voiceId: 'choir-Alto', languageCodes: ['en-GB'] },
      { voiceId: 'choir-2', name: 'Choir 2' },
    ]);
    for (const [sid, voice] of engine.voices.entries()) {
      const heard = await hear(engine, 'mmmmmmmm', { voice });
      expect(heard.sampleRateHz).toBe(22_050);
      expect(Math.abs(hzOf(heard) / toneHz('m', sid) - 1)).toBeLessThan(0.02);
    }
  });

  test('are measured once: the result is stored beside them until they change', async () => {
    const dataDir = await newDataDir();
    const model = await makeTinyVits(join(dataDir, 'models/tiny'));
    const [voice] = (await open(dataDir)).voices;
    const kept = join(model, 'sonant-gain.json');
    const { version, gains_db } = JSON.parse(await readFile(kept, 'utf8'));
    expect({ version, gains_db }).toEqual({ version: voice!.version, gains_db: [voice!.gainDb] });
    await writeFile(kept, JSON.stringify({ version, gains_db: [3.5] }));
    expect((await open(dataDir)).voices[0]).toMatchObject({ gainDb: 3.5, version });
    await makeTinyVits(model, { metadata: { language: 'German' } });
    const [changed] = (await open(dataDir)).voices;
    expect(changed).toMatchObject({ gainDb: expect.closeTo(voice!.gainDb, 0), languageCodes: ['de'] });
    expect(changed!.version).not.toBe(version);
  });

  test('are given no text that they have no token for', async () => {
    const dataDir = await newDataDir();
    await makeTinyVits(join(dataDir, 'models/tiny'));
    const engine = await open(dataDir);
    expect((await hear(engine, '\u{1f600} \u2026')).samples).toHaveLength(0);
    expect(await hear(engine, 'caf\u00e9 ol\u00e9')).toEqual(await hear(engine, 'cafe ole'));
    const letterless = await makeTinyVits(join(dataDir, 'models/letterless'));
    await writeFile(join(letterless, 'tokens.txt'), tinyTokens.replace(/^[x-z] .*\n/gm, ''));
    const poorer = await open(dataDir);
    expect(secondsOf(await hear(poorer, 'lazy'))).toBeGreaterThan(0);
    expect(await failureOf(hear(poorer, 'one zyx two'))).toMatchObject({
      reason: 'engine_error',
      cause: { message: 'the model has no token for "zyx"' },
    });
  });

  test('that end their process at a text fail it, what was heard of it stays, and all others are spoken', async () => {
    const dataDir = await newDataDir();
    const model = await makeTinyVits(join(dataDir, 'models/fragile'));
    await writeFile(join(model, 'tokens.txt'), tinyTokens.replace(/^7 .*$/m, '7 9999'));
    const engine = await open(dataDir);
    const before = await hear(engine, 'all is well.');
    const heard: number[] = [];
    const dying = (async () => {
      for await (const { samples } of speak(engine, 'all is well. 7 up.')) {
        heard.push(samples.length);
      }
    })();
    const others = Promise.all([hear(engine, 'all is well.'), hear(engine, 'all is well.')]);
    expect(await failureOf(dying)).toMatchObject({ reason: 'engine_error', facts: { retryAfterSeconds: 0 } });
    expect(heard).toEqual([before.samples.length]);
    expect(await others).toEqual([before, before]);
  });

  test('that cannot be used are left out and reported, and the others speak', async () => {
    const dataDir = await newDataDir();
    await makeTinyVits(join(dataDir, 'models/tiny'));
    expect(await sherpaOnnx.inspect(settings, dataDir)).toEqual({ state: 'ready', message: '1 models, 1 voices' });
    const torn = await makeTinyVits(join(dataDir, 'models/torn'));
    await writeFile(join(torn, 'model.onnx'), writeTinyVits().subarray(0, 900));
    const unknown = await makeTinyVits(join(dataDir, 'models/unknown'));
    await writeFile(join(unknown, 'model.onnx'), writeUnknownOperation());
    const engine = await open(dataDir);
    expect(engine.voices.map(({ voiceId }) => voiceId)).toEqual(['tiny']);
    expect(secondsOf(await hear(engine, 'hello'))).toBeGreaterThan(0.3);
    const { state, message } = await sherpaOnnx.inspect(settings, dataDir);
    expect(state).toBe('broken');
    expect(message).toMatch(/torn: model.onnx is damaged or cut short/);
    expect(message).toMatch(/unknown cannot be loaded or does not speak: .*NoSuchOperation/s);
  });

  test('are absent where there are none, and where none of them can be used', async () => {
    const dataDir = await newDataDir();
    expect(await openSherpaOnnx({ dataDir, ...settings })).toBeUndefined();
    expect(await sherpaOnnx.inspect(settings, dataDir)).toMatchObject({ state: 'absent' });
    await writeFile(join(await makeTinyVits(join(dataDir, 'models/none')), 'tokens.txt'), '');
    expect(await openSherpaOnnx({ dataDir, ...settings })).toBeUndefined();
  });

  test('of Piper\u2019s shape say what eSpeak NG makes of the text, numbers too', async (context) => {
    const data = globSync('/usr/{lib/*,share,lib64}/espeak-ng-data')[0];
    context.skip(data === undefined, 'the data of espeak-ng was not found here');
    const dataDir = await newDataDir();
    const model = await makeTinyVits(join(dataDir, 'models/piper'), { isPiper: true, sampleRateHz: 22_050 });
    await symlink(data!, join(model, 'espeak-ng-data'));
    const engine = await open(dataDir);
    expect(engine.voices).toMatchObject([{ voiceId: 'piper', languageCodes: ['en-US', 'en'] }]);
    const pieces = await Array.fromAsync(engine.speak(segment(engine, 'Good morning. How are you?'), signal));
    expect(pieces).toHaveLength(2);
    expect(await hear(engine, 'Room 12.')).toEqual(await hear(engine, 'Room twelve.'));
    for (const foreign of ['早上好', 'Доброе утро', '\u0001\u0000[[x]]', 'x'.repeat(240)]) {
      const failure = await hear(engine, foreign).catch((error: unknown) => error);
      if (failure instanceof Error) expect(failure).toMatchObject({ name: 'Failure' });
    }
    expect(secondsOf(await hear(engine, 'Good night.'))).toBeGreaterThan(0.5);
  });

  test('of the cloning kind speak with the voice of a reference', async () => {
    const dataDir = await newDataDir();
    await makeTinyPocket(join(dataDir, 'models/hum'));
    const engine = await open(dataDir);
    expect(engine.voices).toEqual([]);
    const { make, sampleRateHz, ...cloning } = engine.cloning!;
    expect(cloning).toMatchObject({ sampleLanguageCodes: ['en'], needsReferenceText: false, consentScripts: {} });
    for (const amplitude of [0.3, 0.7]) {
      const sung = tone({ frequencyHz: 440, sampleRateHz, seconds: 4, amplitude });
      const reference = { samples: Int16Array.from(sung, (sample) => sample * 32_767), sampleRateHz };
      const consent = { consent: reference, consentScript: '', languageCode: 'en' };
      const clone = await make({ reference, referenceText: '', ...consent }, signal);
      const voice = { ...tiny, voiceId: 'someone' };
      const heard = await hear(engine, 'Good morning to you.', { voice, clone });
      expect(heard.sampleRateHz).toBe(24_000);
      expect(Math.abs(hzOf(heard) / humHz((amplitude * 2) / Math.PI) - 1)).toBeLessThan(0.02);
    }
    const foreign = { clone: new Uint8Array([1, 2, 3]) };
    expect(await failureOf(hear(engine, 'Hello.', { voice: tiny, ...foreign }))).toMatchObject({
      reason: 'engine_error',
    });
  });
});

const tiny = {
  voiceId: 'tiny',
  name: 'Tiny',
  description: '',
  kind: 'cloned',
  engine: 'sherpa-onnx',
  languageCodes: ['en'],
  labels: {},
  version: '1',
  gainDb: 0,
} as const;

/** Looks like a model in every way that can be checked from without, and cannot be loaded. */
function writeUnknownOperation(): Uint8Array {
  return writeOnnx({
    inputs: [
      ['x', 7, [1, 'length']],
      ['x_length', 7, [1]],
      ...['noise_scale', 'length_scale', 'noise_scale_w'].map((name) => [name, float, [1]] as const),
    ],
    outputs: [['y', float, [1, 1, 'samples']]],
    constants: {},
    nodes: [node('NoSuchOperation', ['x'], ['y'])],
    metadata: { sample_rate: '16000', n_speakers: '1', language: 'English', comment: 'x', frontend: 'characters' },
  });
}
