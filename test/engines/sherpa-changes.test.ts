// Tests models that appear and disappear while the service runs: they are offered and dropped without a restart,
// running requests finish unchanged, and unused models leave memory.
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { ModelLink } from '../../src/engines/sherpa-onnx/model-pool.ts';
import { openSherpaEngine, type SherpaOnnxOptions } from '../../src/engines/sherpa-onnx/sherpa-engine.ts';
import { findLibrary } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { newFolder } from '../new-folder.ts';
import { callerOf, joined, speechOf } from '../speech/open-speech.ts';
import { makeTinyPocket } from './tiny-pocket.ts';
import { makeTinyVoice } from './tiny-supertonic.ts';

const folder = newFolder(afterAll);

const patience = { timeout: 60_000 };
const streamCount = 24;
const text = 'all is well here. the boat left early. nobody had seen it go. '.repeat(4);

describe('models that come and go', { timeout: 240_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found'));

  async function open(options: Partial<SherpaOnnxOptions> = {}) {
    const dataDir = await mkdtemp(join(folder, 'data-'));
    const models = (name: string) => join(dataDir, 'models', name);
    const started: ModelLink[] = [];
    /** Installs a model like an import: complete, and in one step. */
    const install = async (name: string, make: (folder: string) => Promise<string>) => {
      await make(models(`.import-${name}`));
      await rename(models(`.import-${name}`), models(name));
    };
    await install('stays', (path) => makeTinyVoice(path));
    await install('goes', (path) => makeTinyVoice(path, { sampleRateHz: 22_050 }));
    const engine = await openSherpaEngine({
      ...{ dataDir, threads: 1, processesMax: 4, modelProcessesMax: 2, idleSeconds: 600, steps: 0 },
      onStart: (link) => started.push(link),
      ...options,
    });
    onTestFinished(() => engine.close());
    const { voices, stream: speak } = speechOf([engine]);
    const stream = (voice_id: string, said: string, n = 0) => {
      const fields = { voice_id, language_code: 'en', text: said, output_format: 'pcm', return_format: 'buffer' };
      return speak(fields, undefined, callerOf(`caller ${n}`));
    };
    const ids = () => voices.list().map(({ voice }) => voice.voiceId);
    return { engine, models, install, started, stream, ids };
  }

  test(`none of ${streamCount} streams notices; who asks afterwards finds what is there`, async () => {
    const { models, install, started, stream, ids } = await open();
    const voiceOf = (n: number) => (n % 2 === 0 ? 'stays' : 'goes');
    const whole = new Map<string, Buffer>();
    for (const id of ['stays', 'goes']) whole.set(id, joined(await Array.fromAsync(stream(id, text))));
    const streams = Array.from({ length: streamCount }, (_, n) => stream(voiceOf(n), text, n));
    // Every stream has begun, and none has finished.
    const heard = await Promise.all(streams.map(async (each) => [(await each.next()).value!]));

    await install('comes', (path) => makeTinyVoice(path, { sampleRateHz: 24_000 }));
    await expect.poll(ids, patience).toEqual(['comes', 'goes', 'stays']);
    const ofNew = joined(await Array.fromAsync(stream('comes', 'all is well here.')));
    await rm(models('goes'), { recursive: true });
    await expect.poll(ids, patience).toEqual(['comes', 'stays']);
    await expect(stream('goes', text).next()).rejects.toMatchObject({
      reason: 'voice_not_found',
    });

    await Promise.all(
      streams.map(async (each, n) => {
        for await (const event of each) heard[n]!.push(event);
      }),
    );
    const isSame = heard.map((events, n) => joined(events).equals(whole.get(voiceOf(n))!));
    expect(isSame.filter((same) => same)).toHaveLength(streamCount);
    expect(ofNew.length).toBeGreaterThan(10_000);
    // The processes of the removed model exit after its last request.
    const left = started.filter((process) => !process.isGone).length;
    await expect.poll(() => started.filter((process) => process.isGone).length, patience).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(4);
  });

  test('a folder that is being copied is offered when it is whole, and a changed model is another', async () => {
    const { models, install, ids, engine, stream } = await open();
    await install('.draft', (path) => makeTinyVoice(path));
    await cp(join(models('.draft'), 'tts.json'), join(models('copied'), 'tts.json'), { recursive: true });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(ids()).toEqual(['goes', 'stays']);
    await cp(models('.draft'), models('copied'), { recursive: true });
    await expect.poll(ids, patience).toEqual(['copied', 'goes', 'stays']);

    const before = engine.voices.find(({ voiceId }) => voiceId === 'goes')!;
    const old = joined(await Array.fromAsync(stream('goes', text)));
    const running = stream('goes', text);
    const heard = [(await running.next()).value!];
    await makeTinyVoice(models('goes'), { sampleRateHz: 16_000 });
    await expect
      .poll(() => engine.voices.find(({ voiceId }) => voiceId === 'goes')?.version, patience)
      .not.toBe(before.version);
    for await (const event of running) heard.push(event);
    expect(joined(heard).equals(old)).toBe(true);
    expect(joined(await Array.fromAsync(stream('goes', text))).equals(old)).toBe(false);
  });

  test('cloning is offered while there is a model for it', async () => {
    const { engine, models, install, ids } = await open();
    expect(engine.cloning).toBeUndefined();
    await install('hum', makeTinyPocket);
    await expect.poll(() => engine.cloning?.sampleLanguageCodes, patience).toEqual(['en']);
    expect(ids()).toEqual(['goes', 'stays']);
    await rm(models('hum'), { recursive: true });
    await expect.poll(() => engine.cloning, patience).toBeUndefined();
  });

  test('a model is loaded once for each that speaks at once, as far as memory allows, and leaves when it is idle', async () => {
    const { engine, started, stream } = await open({ idleSeconds: 1 });
    const speakBoth = () => Promise.all([1, 2].map((n) => Array.fromAsync(stream('stays', text, n))));
    await speakBoth();
    expect(started).toHaveLength(2);
    await expect.poll(() => started.every((process) => process.isGone), patience).toBe(true);
    await speakBoth();
    expect(started).toHaveLength(4);
    expect(engine.capabilities).toMatchObject({ segmentsPerResource: 2, segmentsSpokenMax: 4 });
  });
});
