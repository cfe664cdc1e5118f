// Tests the memory cache of stored audio, over files: when clips enter and leave, its size limit, and that it never
// returns the audio of another clip.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type ClipMemoryOptions, createClipMemory, type ReadClip } from '../../src/clips/clip-memory.ts';
import { openLocalClips } from '../../src/clips/stores/local-clips.ts';
import { createId } from '../../src/platform/runtime/id.ts';

async function openMemory(options?: ClipMemoryOptions) {
  const dir = mkdtempSync(join(tmpdir(), 'sonant-memory-'));
  const local = await openLocalClips({ dir });
  let opened = 0;
  const open: typeof local.open = (...asked) => {
    opened++;
    return local.open(...asked);
  };
  const create: typeof local.create = (...asked) => local.create(...asked);
  const store = { hasReceipts: true, create, open, remove: (key: string) => local.remove(key), sweep: async () => 0 };
  const memory = createClipMemory(
    { ...store, disk: async () => undefined, close: () => local.close() },
    { ...options },
  );
  onTestFinished(async () => {
    await local.close();
    rmSync(dir, { recursive: true });
  });
  const add = async (byteCount: number) => {
    const clipId = createId('aud');
    const bytes = Buffer.alloc(byteCount, clipId);
    const draft = await memory.clips.create(clipId, 'audio/wav');
    await draft.write(bytes);
    await draft.commit();
    return { clipId, byteCount, bytes };
  };
  return { memory, add, opened: () => opened, path: (id: string) => join(dir, id.slice(-2), id) };
}

const bytesOf = async (clip: ReadClip | undefined) => clip && Buffer.concat(await Array.fromAsync(clip.pieces));

test.each([1, 1000, 256 * 1024, 600_000])('%i bytes are the same from memory, whole and in part', async (byteCount) => {
  const { memory, add, opened } = await openMemory();
  const clip = await add(byteCount);
  for (let n = 0; n < 3; n++) expect((await bytesOf(await memory.read(clip)))?.equals(clip.bytes)).toBe(true);
  expect([memory.isHeld(clip.clipId), opened()]).toEqual([true, 2]);
  for (const [first, last] of [
    [0, 0],
    [byteCount - 1, byteCount + 9],
    [Math.floor(byteCount / 3), Math.floor((2 * byteCount) / 3)],
  ] as const) {
    const part = await bytesOf(await memory.read(clip, { first, last }));
    expect(part?.equals(clip.bytes.subarray(first, last + 1))).toBe(true);
  }
  expect(await bytesOf(await memory.read(clip, { first: 0, last: -1 }))).toHaveLength(0);
  expect(opened()).toBe(2);
});

test('a clip that is removed leaves at once, also while it is loaded', async () => {
  const { memory, add } = await openMemory();
  const clip = await add(5000);
  await bytesOf(await memory.read(clip));
  const loading = memory.read(clip);
  await memory.clips.remove(clip.clipId);
  await loading.then((read) => read?.close());
  expect(memory.isHeld(clip.clipId)).toBe(false);
  expect(await memory.read(clip)).toBeUndefined();
  expect(await memory.read(clip)).toBeUndefined();
});

test('a file that was removed by hand is found no more once its time in memory is over', async () => {
  const { memory, add, path } = await openMemory({ heldMsMax: 20 });
  const clip = await add(5000);
  for (let n = 0; n < 2; n++) await bytesOf(await memory.read(clip));
  rmSync(path(clip.clipId));
  while (memory.isHeld(clip.clipId)) await sleep(5);
  expect(await memory.read(clip)).toBeUndefined();
});

test('no more is held than its limit, slow readers included, and they get their sound', async () => {
  const { memory, add } = await openMemory({ heldBytesMax: 2_000_000 });
  const clips = await Promise.all([1, 2, 3, 4].map(() => add(900_000)));
  for (const clip of clips) for (let n = 0; n < 2; n++) await bytesOf(await memory.read(clip));
  const isHeld = () => clips.map(({ clipId }) => memory.isHeld(clipId));
  expect(isHeld()).toEqual([false, false, true, true]);
  const slow = await Promise.all(clips.slice(2).map((clip) => memory.read(clip)));
  const readers = slow.map((clip) => (clip!.pieces as Iterable<Uint8Array>)[Symbol.iterator]());
  const begun = readers.map((reader) => reader.next().value as Uint8Array);
  memory.clear();
  for (let n = 0; n < 2; n++) await bytesOf(await memory.read(clips[0]!));
  expect(isHeld()).toEqual([false, false, false, false]);
  for (const [n, reader] of readers.entries()) {
    const rest: Uint8Array[] = [begun[n]!];
    for (let next = reader.next(); !next.done; next = reader.next()) rest.push(next.value);
    expect(Buffer.concat(rest).equals(clips[n + 2]!.bytes)).toBe(true);
  }
  for (let n = 0; n < 2; n++) await bytesOf(await memory.read(clips[0]!));
  expect(isHeld()).toEqual([true, false, false, false]);
});

test('a clip larger than the largest that is held, or of another size than its row says, comes from the store', async () => {
  const { memory, add } = await openMemory();
  const large = await add(5_000_000);
  const odd = { ...(await add(5000)), byteCount: 4000 };
  for (let n = 0; n < 3; n++) {
    expect((await bytesOf(await memory.read(large)))?.equals(large.bytes)).toBe(true);
    expect((await bytesOf(await memory.read(odd)))?.equals(odd.bytes)).toBe(true);
  }
  expect([memory.isHeld(large.clipId), memory.isHeld(odd.clipId)]).toEqual([false, false]);
});
