// Tests the operator's neural models with the real library: the engine contract holds, and the service survives crashes
// of the model processes.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { openSherpaEngine, type SherpaOnnxOptions } from '../../src/engines/sherpa-onnx/sherpa-engine.ts';
import { findLibrary } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { importModel, sherpaOnnx } from '../../src/engines/sherpa-onnx/sherpa-onnx.ts';
import { join as joinSamples, type Pcm, secondsOf } from '../../src/platform/pcm.ts';
import { dominantFrequencyHz, tone } from '../audio/measure-tone.ts';
import { engineConformance } from '../conformance/engine.ts';
import { newFolder } from '../new-folder.ts';
import { float, node, writeOnnx } from './onnx-writer.ts';
import { openGuards, segmentOf } from './open-guard.ts';
import { rejection } from './rejection.ts';
import { humHz, makeTinyPocket } from './tiny-pocket.ts';
import { hummed, makeTinyVoice, tinyVoiceFiles } from './tiny-supertonic.ts';

const folder = newFolder(afterAll);

const newDataDir = () => mkdtemp(join(folder, 'data-'));
const settings = { threads: 1, processesMax: 2, modelProcessesMax: 1, idleSeconds: 600, steps: 0 };
const { signal } = new AbortController();
const patience = { timeout: 30_000 };
/** Replaces each regular expression with a text matcher. */
const toMatcher = (facts: object): object =>
  Object.fromEntries(
    Object.entries(facts).map(([key, value]) => {
      const each = (item: unknown) => (item instanceof RegExp ? expect.stringMatching(item) : item);
      return [key, Array.isArray(value) ? value.map(each) : each(value)];
    }),
  );

engineConformance(
  'sherpa-onnx',
  async () => {
    const dataDir = await newDataDir();
    if (!findLibrary('')) return undefined;
    const path = await makeTinyVoice(join(dataDir, 'tiny'));
    await importModel({ path, dataDir, signal, print: () => {} });
    return openSherpaEngine({ dataDir, ...settings });
  },
  { needs: 'the package sherpa-onnx-node' },
);

describe('models of one\u2019s own', { timeout: 60_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found'));

  const open = async (dataDir: string, options: Partial<SherpaOnnxOptions> = {}): Promise<Engine> => {
    const engine = await openSherpaEngine({ dataDir, ...settings, ...options });
    onTestFinished(() => engine.close());
    return engine;
  };
  const guards = openGuards();
  const speak = (engine: Engine, text: string, options?: Partial<Segment>) =>
    guards(engine).speak(segmentOf(engine, { text, ...options }), 'caller', signal);
  const hear = async (engine: Engine, text: string, options?: Partial<Segment>): Promise<Pcm> => {
    const pieces = await Array.fromAsync(speak(engine, text, options));
    const samples = pieces.map((piece) => piece.samples);
    return { samples: joinSamples(Int16Array, samples), sampleRateHz: pieces[0]?.sampleRateHz ?? 0 };
  };
  const hzOf = ({ samples, sampleRateHz }: Pcm) => dominantFrequencyHz(samples, sampleRateHz);

  test('speak with each of their speakers, in the configured order and by the configured names', async () => {
    const dataDir = await newDataDir();
    const choir = await makeTinyVoice(join(dataDir, 'models/choir'), { speakers: 3, sampleRateHz: 22_050 });
    const speakers = [
      { name: 'Bass', labels: { gender: 'male' } },
      { name: 'Alto', language_codes: ['en-GB'] },
    ];
    await writeFile(
      join(choir, 'sonant-model.json'),
      JSON.stringify({ name: 'Choir', language_codes: ['en'], speakers }),
    );
    const engine = await open(dataDir);
    expect(engine.voices).toMatchObject([
      {
        voiceId: 'choir-Bass',
        name: 'Choir Bass',
        languageCodes: ['en'],
        labels: { gender: 'male', model: 'supertonic' },
      },
      { voiceId: 'choir-Alto', languageCodes: ['en-GB'] },
      { voiceId: 'choir-2', name: 'Choir 2' },
    ]);
    for (const [sid, voice] of engine.voices.entries()) {
      const heard = await hear(engine, 'mmmmmmmm', { voice });
      expect(heard.sampleRateHz).toBe(22_050);
      expect(Math.abs(hzOf(heard) / hummed('en', sid).hz - 1)).toBeLessThan(0.02);
    }
  });

  test('have the loudness that their import measured, or the mean of the speakers that it measured', async () => {
    const dataDir = await newDataDir();
    const model = await makeTinyVoice(join(dataDir, 'models/choir'), { speakers: 6 });
    const gainsNow = async () => {
      const engine = await open(dataDir);
      const gains = engine.voices.map(({ gainDb }) => gainDb);
      const { version } = engine.voices[0]!;
      await engine.close();
      return { gains, version };
    };
    const { gains, version } = await gainsNow();
    expect(gains).toEqual([0, 0, 0, 0, 0, 0]);
    await writeFile(join(model, 'sonant-gain.json'), JSON.stringify({ version, gains_db: [3, 4] }));
    expect(await gainsNow()).toEqual({ version, gains: [3, 4, 3.5, 3.5, 3.5, 3.5] });
    // Gains of other files are not used.
    await writeFile(join(model, 'sonant-model.json'), '{"language_codes":["de"]}');
    expect((await gainsNow()).gains).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test('are given no text that they have no token for', async () => {
    const dataDir = await newDataDir();
    await makeTinyVoice(join(dataDir, 'models/tiny'), { lacking: 'é\u0301xyz' });
    const engine = await open(dataDir);
    expect((await hear(engine, '\u{1f600} \u2026')).samples).toHaveLength(0);
    expect(await hear(engine, 'caf\u00e9 ol\u00e9')).toEqual(await hear(engine, 'cafe ole'));
    expect(secondsOf(await hear(engine, 'lazy'))).toBeGreaterThan(0);
    expect(await rejection(hear(engine, 'one zyx two'))).toMatchObject({
      reason: 'engine_error',
      cause: { message: 'the model has no token for "zyx"' },
    });
  });

  test('that end their process at a text fail it, and all others are spoken', async () => {
    const dataDir = await newDataDir();
    await makeTinyVoice(join(dataDir, 'models/fragile'), { deadly: '7' });
    const engine = await open(dataDir);
    const before = await hear(engine, 'all is well.');
    const dying = Array.fromAsync(speak(engine, 'all is well. 7 up.'));
    const others = Promise.all([hear(engine, 'all is well.'), hear(engine, 'all is well.')]);
    expect(await rejection(dying)).toMatchObject({ reason: 'engine_error', facts: { retryAfterSeconds: 0 } });
    expect(await others).toEqual([before, before]);
  });

  test('that cannot be used are left out and reported, and the others speak', async () => {
    const dataDir = await newDataDir();
    await makeTinyVoice(join(dataDir, 'models/tiny'));
    const one = {
      state: 'ready',
      message: expect.stringMatching(/^1 models, 1 voices; in memory about: tiny \d+ MB$/),
    };
    expect(await sherpaOnnx.inspect(settings, dataDir)).toEqual(one);
    const torn = await makeTinyVoice(join(dataDir, 'models/torn'));
    await writeFile(join(torn, 'vocoder.int8.onnx'), tinyVoiceFiles()['vocoder.int8.onnx']!.subarray(0, 900));
    const unknown = await makeTinyVoice(join(dataDir, 'models/unknown'));
    await writeFile(join(unknown, 'vocoder.int8.onnx'), writeUnknownOperation());
    const logged: unknown[] = [];
    const log = (_: string, message: string, facts: object) => logged.push({ message, ...facts });
    const engine = await open(dataDir, { log });
    expect(engine.voices.map(({ voiceId }) => voiceId)).toEqual(['tiny', 'unknown']);
    expect(secondsOf(await hear(engine, 'hello'))).toBeGreaterThan(0.3);
    expect(logged).toMatchObject(
      [
        { message: 'model offered', model: 'tiny', voices: 1, memory_bytes: expect.any(Number) },
        { message: 'model offered', model: 'unknown' },
        { message: 'model not offered, because it cannot be used', model: 'torn', faults: [/damaged/] },
        { message: 'model loaded', model: 'tiny', processes: 1 },
      ].map((each) => toMatcher(each)),
    );
    const { state, message } = await sherpaOnnx.inspect(settings, dataDir);
    expect(state).toBe('broken');
    expect(message).toMatch(/torn: vocoder.int8.onnx is damaged or incomplete/);
    expect(message).toMatch(/unknown cannot be loaded or does not speak: .*NoSuchOperation/s);
  });

  test('are none where there are none, or none can be used, until one comes', async () => {
    const dataDir = await newDataDir();
    const engine = await open(dataDir);
    expect(engine.voices).toEqual([]);
    expect(await sherpaOnnx.inspect(settings, dataDir)).toMatchObject({ state: 'absent' });
    await writeFile(join(await makeTinyVoice(join(dataDir, 'models/none')), 'voice.bin'), '');
    expect((await open(dataDir)).voices).toEqual([]);
    await makeTinyVoice(join(dataDir, 'models/tiny'));
    await expect.poll(() => engine.voices.map(({ voiceId }) => voiceId), patience).toEqual(['tiny']);
  });

  test('whose weights are not numbers are silenced before anything is heard', async () => {
    const dataDir = await newDataDir();
    const folder = await makeTinyVoice(join(dataDir, 'models/broken'));
    const whole = Buffer.from(tinyVoiceFiles()['vector_estimator.int8.onnx']!);
    // The amplitude.
    const weight = Buffer.from(Float32Array.of(0.05).buffer);
    const broken = Buffer.from(Float32Array.of(Number.NaN).buffer);
    for (let at = whole.indexOf(weight); at >= 0; at = whole.indexOf(weight, at + 1)) broken.copy(whole, at);
    await writeFile(join(folder, 'vector_estimator.int8.onnx'), whole);
    const engine = await open(dataDir);
    const heard: Pcm[] = [];
    const hearing = (async () => {
      for await (const piece of speak(engine, 'all is well.')) heard.push(piece);
    })();
    expect(await rejection(hearing)).toMatchObject({
      reason: 'engine_error',
      cause: { message: 'the model generated samples that are not numbers' },
    });
    expect(heard).toEqual([]);
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
    expect(await rejection(hear(engine, 'Hello.', { voice: tiny, ...foreign }))).toMatchObject({
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

/** Looks like a valid model in all static checks, but cannot be loaded. */
function writeUnknownOperation(): Uint8Array {
  return writeOnnx({
    inputs: [['latent', float, [1, 2, 'frames']]],
    outputs: [['wav', float, [1, 'samples']]],
    constants: {},
    nodes: [node('NoSuchOperation', ['latent'], ['wav'])],
    metadata: {},
  });
}
