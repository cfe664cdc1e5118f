// Tests that deleted voices and their links are gone at once, even while the files of their audio cannot be removed.
import { expect, onTestFinished, test } from 'vitest';
import { operator, toRecordEntry } from '../../../src/accounts/keys/caller.ts';
import { createClipRows } from '../../../src/clips/clip-rows.ts';
import { createVoicePurge, openClipSweep } from '../../../src/clips/clip-sweep.ts';
import { createJobRows } from '../../../src/clips/jobs/job-rows.ts';
import type { ClipStore } from '../../../src/clips/stores/clip-store.ts';
import { createVault } from '../../../src/library/voices/clone-vault.ts';
import { openVoiceCache } from '../../../src/library/voices/voice-cache.ts';
import { createVoiceRows, type VoiceRow } from '../../../src/library/voices/voice-rows.ts';
import { openSqliteInFolder } from '../../platform/store/open-test-store.ts';
import { clipRow } from '../../platform/store/stored-clip.ts';
import { voiceRow } from './voice-row.ts';

const vault = createVault(async () => 'a master key of thirty-two chars.');

async function openStuck() {
  const { store } = await openSqliteInFolder();
  const [rows, index, segments] = [createVoiceRows(store), createClipRows(store), createJobRows(store)];
  const removed: string[] = [];
  const faults: unknown[] = [];
  const stuck = Promise.withResolvers<void>();
  const trouble = { isAway: false };
  const remove = async (key: string) => {
    await stuck.promise;
    if (trouble.isAway) throw new Error('the store is away');
    removed.push(key);
  };
  const clips = { remove, sweep: async () => 0 } as Partial<ClipStore> as ClipStore;
  let sweeps = 0;
  const restore = async () => ++sweeps > 0;
  const onFault = (fault: unknown) => void faults.push(fault);
  const open = async () => {
    const sweep = openClipSweep({ clips, index, room: { noteRemoved() {}, restore }, onFault });
    onTestFinished(() => sweep.close());
    const purge = createVoicePurge({ index, segments, memory: { clear() {} }, sweep });
    const voiceCache = await openVoiceCache({ rows, vault, purge, onFault });
    onTestFinished(() => voiceCache.close());
    return { voiceCache, sweep };
  };
  const put = (voiceId: string, status: VoiceRow['status']) =>
    rows.change(voiceId, () => ({
      row: voiceRow(voiceId, { kind: 'cloned', status, updatedAtMs: Date.now() }),
      entry: toRecordEntry({ action: 'update', voiceId, atMs: 1, detail: {} }, operator),
    }));
  const addClip = (clipId: string, voiceId: string, expiresAtMs = Date.now() + 3_600_000) =>
    index.add(
      clipRow({ clipId, voiceId, ownerId: 'key', accountId: 'key', byteCount: 1, createdAtMs: 1, expiresAtMs }),
    );
  const areAlive = () => Promise.all(['aud_ada', 'aud_bob'].map((clipId) => index.isAlive(clipId)));
  return { store, put, addClip, areAlive, open, stuck, trouble, removed, faults, sweeps: () => sweeps };
}

test('two withdraw one after the other: both end at once, and their files go when they can', async () => {
  const { put, addClip, areAlive, open, stuck, removed } = await openStuck();
  for (const voiceId of ['ada', 'bob']) {
    await put(voiceId, 'ready');
    await addClip(`aud_${voiceId}`, voiceId);
  }
  const { voiceCache } = await open();
  for (const voiceId of ['ada', 'bob']) {
    await put(voiceId, 'consent_revoked');
    await voiceCache.refresh();
  }
  const ended = [...voiceCache.stored.all.values()].map(({ status, ended: { aborted } }) => [status, aborted]);
  expect(ended).toEqual(Array(2).fill(['consent_revoked', true]));
  expect([await areAlive(), removed]).toEqual([[false, false], []]);
  stuck.resolve();
  await expect.poll(() => removed).toEqual(expect.arrayContaining(['aud_ada', 'rec_ada', 'aud_bob', 'rec_bob']));
});

test('at the start, voices that have ended are purged before it has ended, and one sweep removes all files', async () => {
  const { put, addClip, areAlive, open, stuck, removed, sweeps } = await openStuck();
  await addClip('aud_old', 'other', 2);
  for (const voiceId of ['ada', 'bob']) {
    await put(voiceId, 'consent_revoked');
    await addClip(`aud_${voiceId}`, voiceId);
  }
  const { voiceCache, sweep } = await open();
  expect([await areAlive(), removed]).toEqual([[false, false], []]);
  await put('eve', 'deleted');
  await voiceCache.refresh();
  stuck.resolve();
  await sweep.run();
  expect(removed).toEqual(expect.arrayContaining(['aud_old', 'aud_ada', 'aud_bob']));
  expect(sweeps(), 'the first, and that of all who ended during it').toBe(2);
});

test('segments of jobs that a voice spoke are forgotten at once; a file that cannot be removed is tried again', async () => {
  const { store, put, open, stuck, trouble, removed, faults } = await openStuck();
  await store.query(
    `insert into job_segments (job_key, chapter, segment, fingerprint, voice_id, clip_key, sample_rate_hz, words)
      values ('job', 0, 0, '', 'ada', 'seg_ada', 24000, '[]')`,
  );
  const { voiceCache, sweep } = await open();
  await put('ada', 'consent_revoked');
  await voiceCache.refresh();
  expect([await store.query('select 1 from job_segments'), removed]).toEqual([[], []]);
  trouble.isAway = true;
  stuck.resolve();
  await expect.poll(() => faults).toMatchObject([{ message: expect.stringMatching(/^1 /) }]);
  expect(removed).toEqual([]);
  trouble.isAway = false;
  await sweep.run();
  expect(removed).toEqual(['seg_ada']);
});
