// Tests that the properties of eSpeak NG's library are cached in the data folder, and used until something changes.
import { access, cp, mkdtemp, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openEspeakNg } from '../../src/engines/espeak-ng/espeak-ng.ts';

describe('the library of eSpeak NG, as it was found', { timeout: 60_000 }, () => {
  const opened: Engine[] = [];
  let hasLibrary = false;

  beforeAll(async () => {
    const engine = await openEspeakNg();
    hasLibrary = engine !== undefined;
    await engine?.close();
  });
  beforeEach((context) => context.skip(!hasLibrary, 'the library of eSpeak NG was not found'));
  afterAll(() => Promise.all(opened.map((engine) => engine.close())));

  /** Opens the engine. Also returns the ids of the started processes. */
  const open = async (options: { dataDir: string }) => {
    const pids: number[] = [];
    const engine = (await openEspeakNg({ ...options, onStart: (pid) => pids.push(pid!) }))!;
    opened.push(engine);
    return { engine, pids };
  };
  /** Number of samples in the audio of a sentence. */
  const hear = async (engine: Engine): Promise<number> => {
    const voice = engine.voices.find(({ voiceId }) => voiceId === 'espeak-en-us')!;
    const segment = { voice, text: 'Good morning.', languageCode: 'en-US', speakingRate: 1, timings: false };
    let size = 0;
    for await (const { samples } of engine.speak({ ...segment, urgent: false }, new AbortController().signal))
      size += samples.length;
    return size;
  };

  test('what the library is, is found out once: later starts begin no process before something is spoken', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sonant-espeak-found-'));
    const first = await open({ dataDir });
    const again = await open({ dataDir });
    expect([first.pids.length, again.pids.length]).toEqual([1, 0]);
    const { speak: _, close: __, toPhonemes: ___, ...told } = again.engine;
    expect(first.engine).toMatchObject(told);
    const heard = await hear(again.engine);
    expect(heard).toBe(await hear(first.engine));
    expect(again.pids.length).toBe(1);
    await writeFile(join(dataDir, 'espeak-ng.json'), '{"key":');
    expect((await open({ dataDir })).pids.length).toBe(1);
    expect((await open({ dataDir })).pids.length).toBe(0);
    await rm(dataDir, { recursive: true });
  });

  test('the library is looked at again after its data has changed, and after it did not start', async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'sonant-espeak-found-'));
    context.onTestFinished(() => {
      delete process.env.ESPEAK_DATA_PATH;
      return rm(folder, { recursive: true });
    });
    const found = join(folder, 'espeak-ng.json');
    await open({ dataDir: folder });
    const { files } = JSON.parse(await readFile(found, 'utf8')).facts;
    const data = join(folder, 'espeak-ng-data');
    await cp(files[1], data, { recursive: true });
    process.env.ESPEAK_DATA_PATH = folder;
    const options = { dataDir: folder };
    expect((await open(options)).pids.length).toBe(1);
    expect((await open(options)).pids.length).toBe(0);
    await utimes(join(data, 'lang/gmw/en-US'), 1, 1);
    expect((await open(options)).pids.length).toBe(1);
    const { engine } = await open(options);
    await rename(data, `${data}-away`);
    await expect(hear(engine)).rejects.toMatchObject({ reason: 'engine_unavailable' });
    await expect(access(found)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a library that is missing is looked for once', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'sonant-espeak-found-'));
    const pids: unknown[] = [];
    for (let n = 0; n < 2; n++) {
      const options = { library: 'libnone-such.so', dataDir, onStart: (pid: unknown) => pids.push(pid) };
      await expect(openEspeakNg(options)).rejects.toMatchObject({ reason: 'engine_unavailable' });
    }
    expect(pids.length).toBe(1);
    await rm(dataDir, { recursive: true });
  });
});
