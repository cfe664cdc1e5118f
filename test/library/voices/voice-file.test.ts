// Tests a voice as a file: an import elsewhere gives the same voice if the master key is the same; incomplete files are
// refused.
import { beforeEach, expect, test } from 'vitest';
import { operator, toRecordEntry } from '../../../src/accounts/keys/caller.ts';
import { createVault } from '../../../src/library/voices/clone-vault.ts';
import { exportVoice, importVoiceFile } from '../../../src/library/voices/voice-file.ts';
import { createVoiceRows, type VoiceRows } from '../../../src/library/voices/voice-rows.ts';
import { openSqliteInFolder } from '../../platform/store/open-test-store.ts';
import { voiceRow } from './voice-row.ts';

const vault = createVault(async () => 'a master key of thirty-two chars.');
const part = { voice_id: 'x', weight: 0 };
const secret = Buffer.from('what ada is made of');
let here: VoiceRows;
let there: VoiceRows;

async function openRows(): Promise<VoiceRows> {
  const { store } = await openSqliteInFolder();
  return createVoiceRows(store);
}

beforeEach(async () => {
  here = await openRows();
  there = await openRows();
  const sealed = await vault.seal(secret, 'cln_ada');
  const consent = {
    ...{ speakerName: 'Ada L.', statement: 'I agree.', languageCode: 'en-US', audioSha256: 'ab', givenAtMs: 1 },
    confirmedBy: 'key:key_1',
  };
  await here.change('ada', () => ({
    row: voiceRow('ada', {
      ...{ name: 'Ada', description: 'Calm.', kind: 'cloned', version: 3, updatedAtMs: 2 },
      ...{ languageCodes: 'en-US de', labels: '{"mood":"calm"}', consent: JSON.stringify(consent) },
      bindings: JSON.stringify([
        { engine: 'a', cloneId: 'cln_ada', gainDb: 2.5, languageCodes: ['en-US'] },
        { engine: 'b', speakerId: 'x' },
      ]),
      ...{ ownerId: 'key_1', access: 'private', lexiconIds: 'lex_1B lex_0A' },
    }),
    entry: toRecordEntry({ action: 'clone', voiceId: 'ada', atMs: 1, detail: {} }, operator),
    clones: [{ cloneId: 'cln_ada', sealed }],
  }));
});

test('goes there and is the same', async () => {
  const file = await exportVoice(here, 'ada');
  expect(file).not.toContain(secret.toString('base64').slice(0, 12));
  expect(await importVoiceFile(file, { rows: there, vault })).toBe('ada');
  const [before, after] = [(await here.find('ada'))!, (await there.find('ada'))!];
  for (const field of [
    'name',
    'description',
    'kind',
    'status',
    'languageCodes',
    'labels',
    'consent',
    'ownerId',
    'access',
    'lexiconIds',
  ] as const)
    expect(after[field]).toEqual(before[field]);
  const [clone] = await there.listClones('ada');
  expect(JSON.parse(after.bindings)).toEqual([
    { engine: 'a', cloneId: clone!.cloneId, gainDb: 2.5, languageCodes: ['en-US'] },
    { engine: 'b', speakerId: 'x' },
  ]);
  expect(Buffer.from(await vault.open(clone!.sealed, clone!.cloneId))).toEqual(secret);
  const [entry] = await Array.fromAsync(there.readRecord());
  expect(entry).toMatchObject({ action: 'import', voiceId: 'ada', actor: 'operator' });
});

test('without lexicons it comes back without any', async () => {
  const file = { ...JSON.parse(await exportVoice(here, 'ada')), voice_id: 'eve', lexicon_ids: [] };
  await importVoiceFile(JSON.stringify(file), { rows: there, vault });
  expect(await there.find('eve')).toMatchObject({ lexiconIds: null });
  expect(JSON.parse(await exportVoice(there, 'eve')).lexicon_ids).toEqual([]);
});

test('of an earlier version it is the operator’s and everyone’s, if no access is asked for, and has no lexicons', async () => {
  const { owner: _, access: __, lexicon_ids: ___, ...earlier } = JSON.parse(await exportVoice(here, 'ada'));
  await importVoiceFile(JSON.stringify(earlier), { rows: there, vault });
  expect(await there.find('ada')).toMatchObject({ ownerId: null, access: 'everyone', lexiconIds: null });
  const renamed = JSON.stringify({ ...earlier, voice_id: 'eve' });
  await importVoiceFile(renamed, { rows: there, vault, access: 'private' });
  expect(await there.find('eve')).toMatchObject({ ownerId: null, access: 'private' });
});

test('not where the master key is another', async () => {
  const other = createVault(async () => 'another master key of 32 chars...');
  await expect(importVoiceFile(await exportVoice(here, 'ada'), { rows: there, vault: other })).rejects.toThrow(
    'SONANT_MASTER_KEY',
  );
  expect(await there.listChanged(0)).toEqual([]);
});

test('not over a voice that is there', async () => {
  await expect(importVoiceFile(await exportVoice(here, 'ada'), { rows: here, vault })).rejects.toThrow('already');
});

test('not after consent was withdrawn, though the file was written before and the voice is deleted', async () => {
  const file = await exportVoice(here, 'ada');
  for (const [action, status] of [
    ['revoke_consent', 'consent_revoked'],
    ['delete', 'deleted'],
  ] as const) {
    await here.change('ada', (row) => {
      const detail = { consent: JSON.parse(file).consent };
      const entry = toRecordEntry({ action, voiceId: 'ada', atMs: 3, detail }, operator);
      return { row: { ...row!, status, consent: null, bindings: '[]' }, entry, destroysClones: true };
    });
  }
  await expect(importVoiceFile(file, { rows: here, vault })).rejects.toThrow('withdrawn their consent');
  const renamed = JSON.stringify({ ...JSON.parse(file), voice_id: 'eve' });
  await expect(importVoiceFile(renamed, { rows: here, vault })).rejects.toThrow('withdrawn their consent');
});

test.each<[string, (file: Record<string, unknown>) => unknown, string]>([
  ['no voice at all', () => 'hello', 'not a voice'],
  ['another version', (file) => ({ ...file, sonant_voice: 2 }), 'not a voice'],
  ['a bad id', (file) => ({ ...file, voice_id: '../ada' }), 'voice_id'],
  ['a clone without consent', (file) => ({ ...file, consent: null }), 'consent'],
  ['a clone that says it is stock', (file) => ({ ...file, kind: 'stock' }), 'kind'],
  ['a clone whose consent was withdrawn', (file) => ({ ...file, status: 'consent_revoked' }), 'status'],
  ['no bindings', (file) => ({ ...file, bindings: [] }), 'bindings'],
  ['an access that there is not', (file) => ({ ...file, access: 'friends' }), 'access'],
  ['an owner that cannot be', (file) => ({ ...file, owner: 'nobody in particular' }), 'owner'],
  ['a lexicon that cannot be', (file) => ({ ...file, lexicon_ids: ['lex_1 lex_2'] }), 'lexicon_ids'],
  ['lexicons that are no list', (file) => ({ ...file, lexicon_ids: 'lex_1' }), 'lexicon_ids'],
  ['the same lexicon twice', (file) => ({ ...file, lexicon_ids: ['lex_1', 'lex_1'] }), 'lexicon_ids'],
  ['a blend of one', (file) => ({ ...file, bindings: [{ engine: 'a', blend: [part] }] }), 'bindings'],
  ['a blend of nothing', (file) => ({ ...file, bindings: [{ engine: 'a', blend: [part, part] }] }), 'bindings'],
  ['half a binding', (file) => ({ ...file, bindings: [{ engine: 'a', clone_id: 'x' }] }), 'bindings'],
])('%s is not taken in', async (_, spoil, word) => {
  const spoilt = spoil(JSON.parse(await exportVoice(here, 'ada')));
  await expect(importVoiceFile(JSON.stringify(spoilt), { rows: there, vault })).rejects.toThrow(word);
  expect(await there.listChanged(0)).toEqual([]);
});

test('there is nothing to export of a voice that is not kept here', async () => {
  await expect(exportVoice(here, 'nobody')).rejects.toMatchObject({ reason: 'voice_not_found' });
});
