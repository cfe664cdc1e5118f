// Tests that commands for stored voices work without an engine, so that consent can always be withdrawn.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { operator, toRecordEntry } from '../../../src/accounts/keys/caller.ts';
import { createVault } from '../../../src/library/voices/clone-vault.ts';
import { createVoiceRows, noTexts, type SealedClone } from '../../../src/library/voices/voice-rows.ts';
import { readSecretFile } from '../../../src/platform/store/secret-file.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { newFolder } from '../../new-folder.ts';
import { type Ended, runSonant } from './sonant-program.ts';

const folder = newFolder(afterAll);

const env = { SONANT_GOOGLE_CREDENTIALS: '/nowhere.json', SONANT_DATA_DIR: 'data' };
const voice = (...args: string[]) => runSonant(folder, ['voice', ...args], '', env);
const inStore = async (work: (store: Awaited<ReturnType<typeof openSqlite>>) => Promise<unknown>) => {
  const store = await openSqlite(join(folder, 'data', 'sonant.db'));
  await work(store).finally(() => store.close());
};
const storeClone = (voiceId: string, clones: SealedClone[] = []) =>
  inStore((store) =>
    createVoiceRows(store).change(voiceId, () => ({
      row: {
        ...noTexts,
        ...{ voiceId, name: 'Ada', description: '', kind: 'cloned', status: 'ready', version: 1, labels: '{}' },
        ...{ languageCodes: 'en', bindings: '[]', consent: '{"givenAtMs":1}', createdAtMs: 1, updatedAtMs: 1 },
        ...{ ownerId: 'key_1', access: 'private', lexiconIds: null },
      },
      entry: toRecordEntry({ action: 'clone', voiceId, atMs: 1, detail: {} }, operator),
      clones,
    })),
  );

const bound = {
  ...{ name: 'Reader', description: '', kind: 'stock' as const, status: 'ready' as const, version: 1, labels: '{}' },
  ...{ languageCodes: 'en', bindings: '[{"engine":"flite","speakerId":"clara"}]', consent: null },
  ...{ createdAtMs: 1, updatedAtMs: 1, ownerId: 'key_2', access: 'everyone' as const, lexiconIds: null },
};

test('a voice is exported, disabled, deleted and described though its engine is broken', async () => {
  await storeClone('ada');
  expect(await voice('export', 'ada')).toMatchObject({ code: 0, out: expect.stringContaining('"name": "Ada"') });
  expect(await voice('revoke', 'ada')).toMatchObject({ code: 0, out: expect.stringContaining('can no longer speak') });
  expect(await voice('delete', 'ada')).toMatchObject({ code: 0, out: 'ada is deleted.\n' });
  expect((await voice('record')).out).toMatch(/^1 .* clone .*\n2 .* revoke_consent .*\n3 .* delete /m);
  const again = await Promise.all([voice('revoke', 'ada'), voice('delete', 'ada')]);
  for (const ended of again) expect(ended).toMatchObject({ code: 1, err: 'sonant: No stored voice ada exists.\n' });
});

test('whose a stored voice is and who may use it is listed, set, exported and imported', async () => {
  await storeClone('joy');
  const listed = async () => {
    const { out } = await runSonant(folder, ['voice', 'list', '--json'], '', { SONANT_DATA_DIR: 'data' });
    const voices = JSON.parse(out) as { voice_id: string; owner: string | null; access: string }[];
    return { first: voices[0]!.voice_id, joy: voices.find(({ voice_id }) => voice_id === 'joy') };
  };
  expect(await voice('access', 'joy', 'everyone')).toMatchObject({ code: 0, out: 'joy can be used by every key.\n' });
  expect(await listed()).toMatchObject({ first: 'arthur', joy: { owner: 'key_1', access: 'everyone' } });
  await inStore((store) =>
    createVoiceRows(store).change('reader', () => ({
      row: {
        ...noTexts,
        ...bound,
        voiceId: 'reader',
      },
      entry: toRecordEntry({ action: 'create', voiceId: 'reader', atMs: 1, detail: {} }, operator),
    })),
  );
  expect(await voice('export', 'reader', '-o', 'reader.json')).toMatchObject({ code: 0 });
  await inStore((store) => store.query("delete from voices where voice_id = 'reader'"));
  expect(await voice('import', 'reader.json', '--access', 'private')).toMatchObject({ code: 0 });
  await inStore(async (store) => {
    expect(await createVoiceRows(store).find('reader')).toMatchObject({ ownerId: 'key_2', access: 'private' });
    await store.query("delete from voices where voice_id in ('joy', 'reader')");
  });
});

test('the master key is readable only by its owner and never shown, and doctor reports a wrong key', async () => {
  const vault = createVault(() => readSecretFile(join(folder, 'data'), 'master-key'));
  await storeClone('eve', [{ cloneId: 'cln_eve', sealed: await vault.seal(Buffer.from('eve'), 'cln_eve') }]);
  expect(statSync(join(folder, 'data', 'master-key')).mode & 0o777).toBe(0o600);
  const sonant = (command: string, more: Record<string, string> = {}) =>
    runSonant(folder, [command], '', { SONANT_DATA_DIR: 'data', ...more });
  const other = { SONANT_MASTER_KEY: 'another master key of 32 chars...' };
  const runs = [sonant('doctor'), sonant('doctor', other), sonant('config', other)];
  const [known, strange, config] = (await Promise.all(runs)) as [Ended, Ended, Ended];
  expect(known.out).toMatch(/^ready +voices +.* 1 stored, and their audit log of 8 entries is valid$/m);
  expect(strange.out).toMatch(/^broken +voices +voice eve cannot be decrypted: SONANT_MASTER_KEY has changed/m);
  expect(config.out).toMatch(/^SONANT_MASTER_KEY .*environment/m);
  expect(config.out).not.toContain(other.SONANT_MASTER_KEY);
});

test('a record that was tampered with is reported', async () => {
  await inStore((store) => store.query("update voice_record set actor = 'nobody' where entry = 2"));
  const err = 'sonant: entry 2 of the audit log of voices is missing or was changed\n';
  expect(await voice('record')).toMatchObject({ code: 1, out: '', err });
});
