// Tests the processes of models: their number, when they exit, and callers that wait for a process that dies.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { SpokenPcm } from '../../src/engines/engine.ts';
import type { Model } from '../../src/engines/sherpa-onnx/model.ts';
import { readModel } from '../../src/engines/sherpa-onnx/model-folder.ts';
import { type ModelLink, ModelPool, type ModelPoolOptions } from '../../src/engines/sherpa-onnx/model-pool.ts';
import type { SpokenBy } from '../../src/engines/sherpa-onnx/model-request.ts';
import { findLibrary } from '../../src/engines/sherpa-onnx/sherpa-library.ts';
import { newFolder } from '../new-folder.ts';
import { guardWork } from './guarded-work.ts';
import { makeTinyVoice } from './tiny-supertonic.ts';

const folder = newFolder(afterAll);

describe('the processes of models', { timeout: 60_000 }, () => {
  beforeEach((context) => context.skip(!findLibrary(folder), 'the package sherpa-onnx-node was not found'));

  const { signal } = new AbortController();
  const makeModel = async (name: string): Promise<Model> =>
    (await readModel(await makeTinyVoice(join(folder, name)))).model!;

  /** A pool, and the processes that it starts. */
  function open(options: Partial<ModelPoolOptions> = {}) {
    const started: ModelLink[] = [];
    const pool = new ModelPool({
      findLibrary: () => findLibrary(folder),
      processesMax: 2,
      threadsPerProcess: 1,
      onStart: (link) => started.push(link),
      ...options,
    });
    onTestFinished(() => pool.close());
    const work = guardWork<SpokenBy, SpokenPcm>({
      run: (spokenBy, by) => pool.speak(spokenBy, by),
      resourceOf: ({ model }) => model.folder,
      capabilities: { segmentsSpokenMax: options.processesMax ?? 2 },
    });
    const speak = (model: Model, text = 'hello there.', by = signal) => work({ model, text }, by);
    const hear = async (model: Model, text?: string) => {
      const pieces = await Array.fromAsync(speak(model, text));
      return pieces.reduce((sum, { samples }) => sum + samples.length, 0);
    };
    return { pool, started, speak, hear, alive: () => started.filter(({ isGone }) => !isGone).length };
  }

  test('are one a model, started when needed, and no more than are allowed', async () => {
    const [one, two] = [await makeModel('one'), await makeModel('two')];
    const { started, hear, alive } = open({ processesMax: 1 });
    expect(started).toHaveLength(0);
    const alone = await hear(one);
    expect(await Promise.all([hear(one), hear(one), hear(one)])).toEqual([alone, alone, alone]);
    expect(started).toHaveLength(1);
    expect(await Promise.all([hear(two), hear(one), hear(two)])).toEqual([alone, alone, alone]);
    expect(alive()).toBe(1);
  });

  test('are no more once the model is removed: the next speaks when the first is free', async () => {
    const model = await makeModel('removed');
    const { pool, started } = open();
    pool.setModels([model]);
    onTestFinished(pool.keep(model));
    const text = 'all is well here. the boat left early. '.repeat(40);
    const both = [pool.speak({ model, text }, signal), pool.speak({ model, text }, signal)] as const;
    const first = await both[0].next();
    await rm(model.folder, { recursive: true });
    pool.setModels([]);
    const [rest, second] = await Promise.all(both.map((each) => Array.fromAsync(each)));
    expect([first.value!, ...rest!].flatMap(({ samples }) => [...samples])).toEqual(
      second!.flatMap(({ samples }) => [...samples]),
    );
    expect(started).toHaveLength(1);
  });

  test('are no more than memory allows: the next speaks when the first is free', async () => {
    const model = await makeModel('large');
    let freeBytes = 0;
    const { pool, started } = open({ freeBytes: () => freeBytes });
    const speak = () => Array.fromAsync(pool.speak({ model, text: 'hello there.' }, signal));
    await Promise.all([speak(), speak(), speak()]);
    expect(started).toHaveLength(1);
    const leaving = new AbortController();
    const first = speak();
    const left = Array.fromAsync(pool.speak({ model, text: 'hello there.' }, leaving.signal));
    leaving.abort('left');
    await expect(left).rejects.toBe('left');
    await first;
    freeBytes = Infinity;
    await Promise.all([speak(), speak()]);
    expect(started).toHaveLength(2);
  });

  test('that are killed fail what they were speaking, as something that may go well again, and the next is spoken', async () => {
    const model = await makeModel('killed');
    const { hear, speak, started } = open();
    const before = await hear(model);
    // The audio is so long that it is not complete when its first piece is read.
    const speaking = speak(model, 'go on. '.repeat(2_000));
    expect((await speaking.next()).done).toBe(false);
    const waiting = hear(model);
    started[0]!.kill();
    await started[0]!.exited;
    const rest = (async () => {
      for await (const _ of speaking);
    })();
    await expect(rest).rejects.toMatchObject({
      reason: 'engine_error',
      facts: { retryAfterSeconds: 0 },
      cause: { message: expect.stringContaining('SIGKILL') },
    });
    expect(await waiting).toBe(before);
    expect(started).toHaveLength(2);
  });

  test('are left at once by a reader who leaves, and speak on when they have stopped', async () => {
    const model = await makeModel('left');
    // On a busy machine a process may need seconds to stop.
    const { hear, speak, started } = open({ stopMsMax: 60_000 });
    const before = await hear(model);
    const leaving = new AbortController();
    const speaking = speak(model, 'go on. '.repeat(2_000), leaving.signal);
    await speaking.next();
    leaving.abort('left');
    await expect(speaking.next()).rejects.toBe('left');
    expect(await hear(model)).toBe(before);
    expect(started).toHaveLength(1);
  });

  test('are ended where they do not stop soon', async () => {
    const model = await makeModel('stubborn');
    const { hear, speak, started } = open({ stopMsMax: 1 });
    const before = await hear(model);
    const leaving = new AbortController();
    const speaking = speak(model, 'one long sentence '.repeat(300), leaving.signal).next();
    setTimeout(() => leaving.abort('left'), 5);
    await expect(speaking).rejects.toBe('left');
    expect(await hear(model)).toBe(before);
    expect(started).toHaveLength(2);
  });

  test('speak for the next when they are done, not when they have been heard', async () => {
    const model = await makeModel('slow');
    const { hear, speak } = open();
    // The library speaks at most 300 characters at once.
    const slowReader = speak(model, 'one two three four five. '.repeat(30));
    await slowReader.next();
    expect(await hear(model)).toBeGreaterThan(0);
    expect((await Array.fromAsync(slowReader)).length).toBe(2);
  });

  test('that die again and again while they load are not started in a loop', async () => {
    const model = await makeModel('dying');
    await writeFile(join(model.folder, 'vocoder.int8.onnx'), 'no model any more');
    const { hear, started } = open();
    const died = { reason: 'engine_unavailable', facts: { retryAfterSeconds: 0 } };
    for (let n = 0; n < 2; n++) await expect(hear(model)).rejects.toMatchObject(died);
    // The breaker of the guard is now open.
    for (let n = 0; n < 5; n++) {
      const { reason, facts } = await hear(model).catch((error) => error);
      expect(reason).toBe('engine_unavailable');
      expect(facts.retryAfterSeconds).toBeGreaterThan(0);
    }
    expect(started).toHaveLength(5);
  });
});
