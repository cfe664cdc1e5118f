// Tests the cache of stored voices: a deleted voice is removed from the cache, even if the change was missed, and its
// audio is deleted.
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { operator, toRecordEntry } from '../../../src/accounts/keys/caller.ts';
import { createVault } from '../../../src/library/voices/clone-vault.ts';
import { openVoiceCache } from '../../../src/library/voices/voice-cache.ts';
import type { VoiceRecordEntry } from '../../../src/library/voices/voice-rows.ts';
import { createVoiceRows, type VoiceRow, type VoiceRows } from '../../../src/library/voices/voice-rows.ts';
import { ofEveryone, type StoredVoices } from '../../../src/speech/stored-voices.ts';
import { openSqliteInFolder } from '../../platform/store/open-test-store.ts';
import { voiceRow } from './voice-row.ts';

const vault = createVault(async () => 'a master key of thirty-two chars.');
let rows: VoiceRows;
let purges: [string, number][];
let purge: (due: ReadonlyMap<string, number>) => Promise<void>;

beforeEach(async () => {
  const { store } = await openSqliteInFolder();
  rows = createVoiceRows(store);
  purges = [];
  purge = async (due) => void purges.push(...due);
});

const open = async () => {
  const voiceCache = await openVoiceCache({ rows, vault, purge: (due) => purge(due), onFault: () => {} });
  onTestFinished(() => voiceCache.close());
  return voiceCache;
};
const listOf = ({ stored }: { stored: StoredVoices }) => [...stored.all.values()];
const toRow = (more: Partial<VoiceRow>) =>
  voiceRow('ada', { name: 'Ada', kind: 'cloned', updatedAtMs: Date.now(), ...more });
const put = (more: Partial<VoiceRow>, version = 1, action: VoiceRecordEntry['action'] = 'update') => {
  const row = toRow({ version, ...more });
  const entry = toRecordEntry({ action, voiceId: 'ada', atMs: row.updatedAtMs, detail: {} }, operator);
  return rows.change('ada', () => ({ row, entry }));
};

test('a purge that fails is done again until it has gone well', async () => {
  await put({});
  const voiceCache = await open();
  let failures = 2;
  purge = async (due) => {
    if (failures-- > 0) throw new Error('the store is away');
    purges.push(...due);
  };
  await put({ status: 'consent_revoked' });
  await expect(voiceCache.refresh()).rejects.toThrow('away');
  await expect.poll(() => purges).toEqual([['ada', Infinity]]);
});

test('voices that ended while no replica ran are purged at the start', async () => {
  await put({ status: 'deleted' });
  const voiceCache = await open();
  expect([purges, listOf(voiceCache)]).toEqual([[['ada', Infinity]], []]);
});

test('deleted and made again between two looks: the old one ends, and only what it said is purged', async () => {
  await put({});
  const voiceCache = await open();
  const [old] = listOf(voiceCache);
  await put({ status: 'deleted' }, 2, 'delete');
  await put({ createdAtMs: 5 }, 3, 'create');
  await voiceCache.refresh();
  expect(old!.ended.reason).toMatchObject({ reason: 'voice_not_ready' });
  expect(listOf(voiceCache)[0]!.ended.aborted).toBe(false);
  expect(purges).toEqual([['ada', 5]]);
});

test.each([
  ['one whose bindings were changed', ['create', 'update'], false],
  ["an engine's own that was changed, restored and changed", ['update', 'delete', 'update'], false],
  ['one that was made anew', ['create', 'delete', 'create'], true],
  ['one that was made anew and changed', ['clone', 'delete', 'import', 'update'], true],
  ["an engine's own with the id of one that was made and deleted", ['create', 'delete', 'update'], true],
] as const)('%s: whether audio from before it is purged at the start', async (_, actions, isPurged) => {
  for (const [i, action] of actions.entries()) {
    const status = action === 'delete' ? 'deleted' : 'ready';
    await put({ kind: 'stock', status, createdAtMs: 5 }, i + 1, action);
  }
  await open();
  expect(purges).toEqual(isPurged ? [['ada', 5]] : []);
});

test("an engine's own voice keeps its audio when it is first stored, and when it is stored anew", async () => {
  const voiceCache = await open();
  await put({ kind: 'stock', createdAtMs: 5 }, 2);
  await voiceCache.refresh();
  await put({ kind: 'stock', status: 'deleted', createdAtMs: 5 }, 3, 'delete');
  await put({ kind: 'stock', createdAtMs: 9 }, 4);
  await voiceCache.refresh();
  expect(purges).toEqual([]);
});

test('one that is only changed does not end, and keeps its signal', async () => {
  await put({});
  const voiceCache = await open();
  const [before] = listOf(voiceCache);
  await put({ name: 'Bea', status: 'disabled' }, 2);
  await voiceCache.refresh();
  const [after] = listOf(voiceCache);
  expect([after!.name, after!.status, after!.ended === before!.ended, purges]).toEqual(['Bea', 'disabled', true, []]);
});

test('a change of access arrives where another process made it, ends nothing and purges nothing', async () => {
  await put({ ownerId: 'key_1', access: 'everyone' });
  const voiceCache = await open();
  const [before] = listOf(voiceCache);
  await put({ ownerId: 'key_1', access: 'private' });
  await expect.poll(() => listOf(voiceCache)[0]!.access).toBe('private');
  const [after] = listOf(voiceCache);
  expect([after!.ownerId, after!.ended === before!.ended, after!.ended.aborted]).toEqual(['key_1', true, false]);
  expect(purges).toEqual([]);
});

test('an access that only a newer version knows is private', async () => {
  await put({ ownerId: 'key_1', access: 'friends' as 'private' });
  const voiceCache = await open();
  expect(listOf(voiceCache)[0]!.access).toBe('private');
});

const entryOf = (action: 'update' | 'create' | 'delete') =>
  toRecordEntry({ action, voiceId: 'ada', atMs: 1, detail: {} }, operator);
const name = (voiceId: string, names: readonly string[], check = () => {}, ownerId = ofEveryone) =>
  rows.change(voiceId, () => ({ entry: { ...entryOf('update'), voiceId }, aliases: { names, ownerId, check } }));

test('aliases and the choice of the default voice arrive where another process made them, and go likewise', async () => {
  const voiceCache = await open();
  const seenBy = ({ stored }: { stored: StoredVoices }) => [
    Object.fromEntries(['alloy', 'nova'].map((alias) => [alias, stored.findNamed(alias)])),
    stored.chosen,
  ];
  const seen = () => seenBy(voiceCache);
  await name('clara', ['alloy', 'nova']);
  await rows.changeDefault('clara', { ...entryOf('update'), action: 'set_default' });
  await expect.poll(seen).toEqual([{ alloy: 'clara', nova: 'clara' }, 'clara']);
  const later = await open();
  expect(seenBy(later)).toEqual(seen());
  await name('clara', ['nova']);
  await name('arthur', ['alloy']);
  await rows.changeDefault('', { ...entryOf('update'), action: 'set_default' });
  await expect.poll(seen).toEqual([{ alloy: 'arthur', nova: 'clara' }, undefined]);
  const told: string[] = [];
  voiceCache.stored.onChange((voiceId) => told.push(voiceId));
  await voiceCache.refresh();
  expect(told).toEqual([]);
});

test('a voice that ends, or is made under an id that had aliases, has none and is not the default', async () => {
  const voiceCache = await open();
  for (const action of ['delete', 'create'] as const) {
    await name('ada', ['alloy']);
    await rows.changeDefault('ada', { ...entryOf('update'), action: 'set_default' });
    await rows.change('ada', () => ({ entry: entryOf(action) }));
    await voiceCache.refresh();
    const { stored } = voiceCache;
    expect([stored.findNamed('alloy'), stored.aliasesOf('ada'), stored.chosen]).toEqual([undefined, [], undefined]);
  }
});

test('two that give one alias to two voices at once: one of them is told of the other', async () => {
  const told: unknown[] = [];
  const check = (held: unknown) => void told.push(held);
  await Promise.all([name('clara', ['alloy'], check as never), name('arthur', ['alloy'], check as never)]);
  expect(told).toContainEqual([]);
  expect(told.flat()).toMatchObject([{ alias: 'alloy', voiceId: expect.stringMatching(/clara|arthur/) }]);
});

test('a change reads the row that changed, whatever else is stored and was recorded', async () => {
  const store = { ...rows };
  for (let n = 0; n < 30; n++) {
    const voiceId = `voice-${n}`;
    const entry = { ...entryOf('create'), voiceId };
    await rows.change(voiceId, () => ({ row: { ...toRow({ version: n % 2 }), voiceId }, entry }));
  }
  const read: number[] = [];
  rows.listChanged = async (...given) => {
    const changed = await store.listChanged(...given);
    if (changed.length > 0) read.push(changed.length);
    return changed;
  };
  rows.listReused = async (voiceIds) => {
    read.push(voiceIds.length);
    return store.listReused(voiceIds);
  };
  const voiceCache = await open();
  read.length = 0;
  await rows.change('voice-7', () => ({
    row: { ...toRow({ version: 2 }), voiceId: 'voice-7' },
    entry: entryOf('update'),
  }));
  await put({}, 2);
  await voiceCache.refresh();
  expect(read).toEqual([2, 1]);
});
