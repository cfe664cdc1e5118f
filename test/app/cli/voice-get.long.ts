// Tests `sonant voice get`, killed at thirty random moments: nothing is partly installed, and a retry continues.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readModel } from '../../../src/engines/sherpa-onnx/model-folder.ts';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { tinyVoiceFiles } from '../../engines/tiny-supertonic.ts';
import { openMirror, sha256Of } from '../../library/models/model-mirror.ts';
import { newFolder } from '../../new-folder.ts';
import { bzip2, tarOf } from '../../platform/archives/archive-writer.ts';
import { main, runSonant } from './sonant-program.ts';

const kills = 30;
const pinOf = (bytes: Uint8Array) => ({ bytes: bytes.length, sha256: sha256Of(bytes) });

test('killed at 30 random moments: nothing half-installed, and each try goes on where the one before was', {
  timeout: 1_200_000,
}, async (context) => {
  context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found');
  const place = newFolder();
  const archive = bzip2(tarOf('amy', { ...tinyVoiceFiles(), noise: randomBytes(300_000) }));
  const part = randomBytes(2_000_000);
  await using mirror = await openMirror({ 'tts-models/amy.tar.bz2': archive, 'vocoder-models/part.bin': part });
  mirror.pace = { bytes: 20_000, ms: 20 };
  const url = 'https://models.invalid/releases/download';
  const parts = [{ url: `${url}/vocoder-models/part.bin`, as: 'part.bin', ...pinOf(part) }];
  const models = [{ name: 'amy', url: `${url}/tts-models/amy.tar.bz2`, ...pinOf(archive), parts }];
  await writeFile(join(place, 'models.json'), JSON.stringify({ models }));
  const env = { SONANT_MODELS: 'models.json', SONANT_MODELS_URL: mirror.url, NO_PROXY: '127.0.0.1' };
  const folder = join(place, 'data/models');

  const startMs = performance.now();
  expect(await runSonant(place, ['voice', 'get', 'amy'], '', env)).toMatchObject({ code: 0 });
  const wholeMs = performance.now() - startMs;
  const names = (await readdir(join(folder, 'amy'))).sort();
  await runSonant(place, ['voice', 'remove', 'amy'], '', env);

  const found = { whole: 0, none: 0, resumed: 0 };
  for (let kill = 0; kill < kills; kill++) {
    const child = spawn(process.execPath, [main, 'voice', 'get', 'amy'], {
      cwd: place,
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await sleep(Math.random() * wholeMs);
    child.kill('SIGKILL');
    await ended;
    const there = (await readdir(folder)).filter((name) => !name.startsWith('.'));
    if (there.length === 0) {
      found.none++;
      continue;
    }
    found.whole++;
    expect(there).toEqual(['amy']);
    expect((await readdir(join(folder, 'amy'))).sort()).toEqual(names);
    expect((await readModel(join(folder, 'amy'))).faults).toEqual([]);
    expect((await readFile(join(folder, 'amy/part.bin'))).equals(part)).toBe(true);
    await runSonant(place, ['voice', 'remove', 'amy'], '', env);
  }
  found.resumed = mirror.requests.filter(({ range }) => range !== undefined).length;
  console.log(`voice get takes ${Math.round(wholeMs)} ms; after ${kills} kills:`, found);
  expect(found.resumed).toBeGreaterThan(0);

  const got = await runSonant(place, ['voice', 'get', 'amy', '--json'], '', env);
  expect(JSON.parse(got.out)).toMatchObject({ model: 'amy', voice_ids: ['amy'] });
  const left = (await readdir(folder)).filter((name) => name.startsWith('.') && name !== '.locks');
  expect(left).toEqual(['.downloads']);
  expect(await readdir(join(folder, '.downloads'))).toEqual([]);
});
