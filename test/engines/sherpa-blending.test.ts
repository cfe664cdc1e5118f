// Tests blended voices with the real library: a blend sounds according to its weights, and blends are added and removed while other voices are in use.
import { mkdtemp, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Blend, Engine, Segment, Voice } from '../../src/engines/engine.ts';
import { readModel } from '../../src/engines/sherpa-onnx/model-folder.ts';
import type { ModelLink } from '../../src/engines/sherpa-onnx/model-pool.ts';
import { openSherpaEngine, type SherpaOnnxOptions } from '../../src/engines/sherpa-onnx/sherpa-engine.ts';
import { findLibrary } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { importModel } from '../../src/engines/sherpa-onnx/sherpa-onnx.ts';
import { dominantFrequencyHz } from '../audio/measure-tone.ts';
import { engineConformance } from '../conformance/engine.ts';
import { newFolder } from '../new-folder.ts';
import { joinPcm, openGuards, segmentOf } from './open-guard.ts';
import { hummed, makeTinySupertonic } from './tiny-supertonic.ts';

const folder = newFolder(afterAll);

engineConformance(
  'sherpa-onnx, with styles,',
  async () => {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    if (!findLibrary('')) return undefined;
    const path = await makeTinySupertonic(join(dataDir, 'tiny'), { speakers: 3 });
    await importModel({ path, dataDir, signal: new AbortController().signal, print: () => {} });
    const settings = { threads: 1, processesMax: 3, modelProcessesMax: 1, idleSeconds: 600, steps: 0 };
    return openSherpaEngine({ dataDir, ...settings });
  },
  { needs: 'the package sherpa-onnx-node' },
);

const patience = { timeout: 60_000 };
const text = 'Good morning to all of you.';

describe('blended voices', { timeout: 120_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found'));

  async function open(make: (folder: string) => Promise<string>, options: Partial<SherpaOnnxOptions> = {}) {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    const model = await make(join(dataDir, 'models/m'));
    const started: ModelLink[] = [];
    const engine = await openSherpaEngine({
      ...{ dataDir, threads: 1, processesMax: 4, modelProcessesMax: 2, idleSeconds: 600, steps: 0 },
      onStart: (link) => started.push(link),
      ...options,
    });
    onTestFinished(() => engine.close());
    const guard = openGuards()(engine);
    const say = async (voice: Voice, more: Partial<Segment> = {}) => {
      const segment = segmentOf(engine, { voice, text, ...more });
      const pieces = await Array.fromAsync(guard.speak(segment, 'caller', new AbortController().signal));
      return joinPcm(pieces);
    };
    const own = (name: string) => engine.voices.find(({ voiceId }) => voiceId === `m-${name}`)!;
    return { engine, model, started, say, own };
  }

  const blendOf = (...parts: readonly [name: string, weight: number][]): Blend =>
    parts.map(([name, weight]) => ({ voiceId: `m-${name}`, weight }));
  const blendAll = (engine: Engine, ...blends: Blend[]) => engine.blending!.blend(blends) as Voice[];
  const hzOf = (samples: Int16Array, sampleRateHz = 24_000) => dominantFrequencyHz(samples, sampleRateHz);
  const isSame = (one: Int16Array, other: Int16Array) => Buffer.from(one.buffer).equals(Buffer.from(other.buffer));
  const makeSupertonic = (path: string) => makeTinySupertonic(path);

  test('a blend of Supertonic has the sound and the rhythm of its parts', async () => {
    const { engine, say, own } = await open((path) => makeTinySupertonic(path, { paces: [1, 1, 2] }));
    const [alone, half] = blendAll(engine, blendOf(['F3', 1], ['M1', 0]), blendOf(['F1', 0.5], ['F3', 0.5]));
    const said = { text: 'Good morning.' };
    expect(isSame(await say(alone!, said), await say(own('F3'), said))).toBe(true);
    const all = await say(half!, said);
    expect(all.length / (await say(own('F1'), said)).length).toBeCloseTo(1.5, 1);
    const heard = all.subarray(4_410, 22_050);
    expect(Math.abs(hzOf(heard, 44_100) / hummed('en', 1).hz - 1)).toBeLessThan(0.02);
  });

  test('blends beyond the places of one process have another; a model of one speaker has no blends', async () => {
    const { engine, say, started } = await open(makeSupertonic);
    const blends = Array.from({ length: 11 }, (_, n) => blendOf(['F1', 1 - 0.09 * n], ['F3', 0.09 * n]));
    const voices = blendAll(engine, ...blends);
    for (const [n, voice] of voices.entries()) {
      const heard = (await say(voice, { text: 'Good morning.' })).subarray(4_410, 22_050);
      expect(Math.abs(hzOf(heard, 44_100) / hummed('en', 0).hz / (1 + 0.09 * n) - 1)).toBeLessThan(0.02);
    }
    expect(new Set(voices.map(({ voiceId }) => voiceId)).size).toBe(11);
    expect(started).toHaveLength(2);
    expect(engine.blending!.groupOf('m-F1')).toBe('m');
    expect(engine.blending!.groupOf(voices[0]!.voiceId)).toBeUndefined();
    const single = await open((path) => makeTinySupertonic(path, { speakers: 1 }));
    expect(single.engine.blending).toBeUndefined();
  });

  test('while blends come and go, no stream notices, and voices that are no blends keep their process', async () => {
    const { engine, say, own, started } = await open(makeSupertonic);
    const first = blendOf(['F1', 0.5], ['F3', 0.5]);
    const second = blendOf(['F2', 0.5], ['M1', 0.5]);
    const [voice] = blendAll(engine, first);
    const long = { text: 'good morning all of you. '.repeat(8) };
    const whole = { blend: await say(voice!, long), own: await say(own('F1'), long) };
    const before = started.length;
    const kept = engine.keep!(voice!);
    const streams = Array.from({ length: 12 }, (_, n) => say(n % 2 === 0 ? voice! : own('F1'), long));
    const [still, added] = blendAll(engine, first, second);
    const sounds = [await say(still!, long), await say(added!, long)];
    blendAll(engine, second);
    const heard = await Promise.all(streams);
    for (const [n, each] of heard.entries()) expect(isSame(each, n % 2 === 0 ? whole.blend : whole.own)).toBe(true);
    expect(isSame(sounds[0]!, whole.blend)).toBe(true);
    expect(isSame(sounds[1]!, whole.blend)).toBe(false);
    expect(isSame(await say(voice!, long), whole.blend)).toBe(true);
    // Processes for the first set of blends exit after the last request that began with that set.
    const gone = () => started.filter(({ isGone }) => isGone).length;
    kept();
    await expect.poll(gone, patience).toBeGreaterThan(0);
    expect(started.length).toBeGreaterThan(before);
  });

  test('a blend is as loud as its parts together', async () => {
    const gains = JSON.stringify({ gains_db: [1, 2, 5] });
    const makeMeasured = async (path: string) => {
      await makeTinySupertonic(path, { speakers: 3 });
      const { version } = (await readModel(path)).model!;
      await writeFile(join(path, 'sonant-gain.json'), gains.replace('{', `{"version":"${version}",`));
      return path;
    };
    const { engine } = await open(makeMeasured);
    const [one, , three] = engine.voices.map(({ voiceId }) => voiceId);
    const parts = [
      { voiceId: one!, weight: 0.25 },
      { voiceId: three!, weight: 0.75 },
    ];
    expect(blendAll(engine, parts)[0]!.gainDb).toBe(4);
  });

  test('a blend goes and comes back with its model', async () => {
    const { engine, model, say } = await open(makeSupertonic);
    const blend = blendOf(['F1', 0.5], ['F3', 0.5]);
    const before = await say(blendAll(engine, blend)[0]!);
    await rename(model, join(model, '../../away'));
    await expect.poll(() => engine.blending, patience).toBeUndefined();
    await rename(join(model, '../../away'), model);
    await expect.poll(() => engine.blending?.blend([blend])[0]?.voiceId, patience).toBeDefined();
    expect(isSame(await say(blendAll(engine, blend)[0]!), before)).toBe(true);
  });
});
