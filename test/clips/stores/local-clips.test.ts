// Tests clips in a folder: the contract, and faults that only a folder has.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, expect, test } from 'vitest';
import { openLocalClips } from '../../../src/clips/stores/local-clips.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { badKeys, clipStoreConformance } from '../../conformance/clip-store.ts';
import { patternBytes } from '../../conformance/pattern-bytes.ts';
import { newFolder } from '../../new-folder.ts';

const folder = newFolder(afterAll);
let folders = 0;
const newDir = () => join(folder, String(folders++), 'clips');

clipStoreConformance('a folder', () => openLocalClips({ dir: newDir() }));

const newKey = () => createId('aud', 128);
const twoHoursAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
const age = (path: string) => utimesSync(path, twoHoursAgo, twoHoursAgo);

test('bad keys touch nothing outside the folder', async () => {
  const dir = newDir();
  const clips = await openLocalClips({ dir });
  const beside = join(dir, '..', 'secret');
  writeFileSync(beside, 'secret');
  for (const key of [...badKeys, '../secret', '../../secret', 'aud_/../../../secret']) {
    expect(await clips.open(key)).toBeUndefined();
    await clips.remove(key);
    await expect(clips.create(key, 'audio/wav')).rejects.toThrow(TypeError);
  }
  expect(existsSync(beside)).toBe(true);
  expect(readdirSync(dir)).toEqual(['drafts']);
});

test('drafts and clips are readable by their owner only, and a committed clip leaves no draft', async () => {
  const dir = newDir();
  const clips = await openLocalClips({ dir });
  const key = newKey();
  const draft = await clips.create(key, 'audio/wav');
  await draft.write(patternBytes(10));
  await draft.commit();
  expect(readdirSync(join(dir, 'drafts'))).toEqual([]);
  expect(statSync(join(dir, key.slice(-2), key)).mode & 0o777).toBe(0o600);
  expect(statSync(join(dir, key.slice(-2))).mode & 0o777).toBe(0o700);
});

test('old drafts are swept when the folder is opened; young ones may be those of another process', async () => {
  const dir = newDir();
  const crashed = await openLocalClips({ dir });
  await crashed.create(newKey(), 'audio/wav');
  age(join(dir, 'drafts', readdirSync(join(dir, 'drafts'))[0]!));
  const young = await crashed.create(newKey(), 'audio/wav');
  const next = await openLocalClips({ dir });
  expect(readdirSync(join(dir, 'drafts'))).toHaveLength(1);
  await young.commit();
  await next.close();
  await crashed.close();
});

test('the sweep removes old clips without a row, and nothing else', async () => {
  const dir = newDir();
  const clips = await openLocalClips({ dir });
  const keys = [newKey(), newKey(), newKey()] as const;
  for (const key of keys) await (await clips.create(key, 'audio/wav')).commit();
  const [known, lost, young] = keys;
  for (const key of [known, lost]) age(join(dir, key.slice(-2), key));
  await clips.create(newKey(), 'audio/wav');
  age(join(dir, 'drafts', readdirSync(join(dir, 'drafts'))[0]!));
  expect(await clips.sweep(async (key) => key === known)).toBe(2);
  const isThere = (key: string) => existsSync(join(dir, key.slice(-2), key));
  expect([known, lost, young].map(isThere)).toEqual([true, false, true]);
  expect(await clips.sweep(async (key) => key === known)).toBe(0);
  await clips.close();
});

test('a folder that cannot be used is storage_unavailable', async () => {
  const dir = newDir();
  mkdirSync(join(dir, '..'));
  writeFileSync(dir, 'a file');
  const unavailable = { reason: 'storage_unavailable' };
  await expect(openLocalClips({ dir })).rejects.toMatchObject(unavailable);

  const lost = newDir();
  const clips = await openLocalClips({ dir: lost });
  const draft = await clips.create(newKey(), 'audio/wav');
  rmSync(lost, { recursive: true });
  await expect(draft.commit()).rejects.toMatchObject(unavailable);
  await clips.close();
});

test('a folder that was removed is made again: what was in it is gone, and new clips are stored', async () => {
  const dir = newDir();
  const clips = await openLocalClips({ dir });
  const keep = async () => {
    const key = newKey();
    const draft = await clips.create(key, 'audio/wav');
    await draft.write(patternBytes(10));
    await draft.commit();
    return key;
  };
  const gone = await keep();
  rmSync(dir, { recursive: true });
  expect(await clips.open(gone)).toBeUndefined();
  expect(await clips.sweep(async () => true)).toBe(0);
  await clips.remove(gone);
  const { sizeBytes, freeBytes } = (await clips.disk())!;
  expect(sizeBytes).toBeGreaterThan(freeBytes);
  rmSync(dir, { recursive: true });
  expect(await buffer((await clips.open(await keep()))!.body)).toHaveLength(10);
  await clips.close();
});

test.skipIf(!existsSync('/proc/self/fd'))('every file that was opened is closed again', async () => {
  const clips = await openLocalClips({ dir: newDir() });
  const openFiles = () => readdirSync('/proc/self/fd').length;
  const before = openFiles();
  for (let i = 0; i < 20; i++) {
    const key = newKey();
    const draft = await clips.create(key, 'audio/wav');
    await draft.write(patternBytes(300_000));
    if (i % 2) {
      await draft.discard();
      continue;
    }
    await draft.commit();
    await buffer((await clips.open(key))!.body);
    await buffer((await clips.open(key, { first: 400_000, last: 500_000 }))!.body);
    const left = (await clips.open(key))!.body;
    left.read(1);
    left.destroy();
  }
  await expect.poll(openFiles).toBeLessThanOrEqual(before);
  await clips.close();
});

test('a hundred readers that read nothing hold one piece each, and do not keep another waiting', async () => {
  const clips = await openLocalClips({ dir: newDir() });
  const key = newKey();
  const draft = await clips.create(key, 'audio/wav');
  await draft.write(patternBytes(1_000_000));
  await draft.commit();
  const readers = await Promise.all(Array.from({ length: 100 }, async () => (await clips.open(key))!.body));
  for (const body of readers) body.read(0);
  await expect.poll(() => readers.every(({ readableLength }) => readableLength > 0)).toBe(true);
  expect(Math.max(...readers.map(({ readableLength }) => readableLength))).toBeLessThanOrEqual(64 * 1024);
  expect(await buffer((await clips.open(key))!.body)).toHaveLength(1_000_000);
  for (const body of readers) body.destroy();
  await clips.close();
});

test('a full disk is storage_full, and leaves no draft', () => {
  const disk = join(folder, 'small-disk');
  mkdirSync(disk);
  const mount = `mount -t tmpfs -o size=1m none '${disk}'`;
  if (spawnSync('unshare', ['-rm', 'sh', '-c', mount]).status !== 0) {
    return console.log('a full disk: skipped, for no small disk can be mounted here (unshare -rm)');
  }
  const writer = join(import.meta.dirname, 'disk-filler.ts');
  const { stdout, stderr } = spawnSync('unshare', [
    '-rm',
    'sh',
    '-c',
    `${mount} && exec "$0" "$1" "$2"`,
    process.execPath,
    writer,
    disk,
  ]);
  expect(String(stderr)).toBe('');
  expect(JSON.parse(String(stdout))).toEqual({
    kept: 3,
    reasons: ['storage_full', 'storage_full'],
    drafts: 0,
    after: 'done',
  });
});
