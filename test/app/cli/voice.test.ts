// Tests that commands for stored voices work without an engine, so that consent can always be withdrawn. Also tests blends,
// with the real library: they are created from speakers by the suffixes of their ids, used for speech, exported, deleted
// and imported; an error for an invalid blend names the faulty argument.
import { statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { operator, toRecordEntry } from '../../../src/accounts/keys/caller.ts';
import { findLibrary } from '../../../src/engines/sherpa-onnx/sherpa-library.ts';
import { createVault } from '../../../src/library/voices/clone-vault.ts';
import { createVoiceRows, type SealedClone } from '../../../src/library/voices/voice-rows.ts';
import { readSecretFile } from '../../../src/platform/store/secret-file.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { dominantFrequencyHz } from '../../audio/measure-tone.ts';
import { hummed, makeTinySupertonic } from '../../engines/tiny-supertonic.ts';
import { voiceRow } from '../../library/voices/voice-row.ts';
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
      row: voiceRow(voiceId, {
        ...{ name: 'Ada', kind: 'cloned', consent: '{"givenAtMs":1}', ownerId: 'key_1', access: 'private' },
      }),
      entry: toRecordEntry({ action: 'clone', voiceId, atMs: 1, detail: {} }, operator),
      clones,
    })),
  );

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
      row: voiceRow('reader', { bindings: '[{"engine":"flite","speakerId":"clara"}]', ownerId: 'key_2' }),
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

const sonant = (...args: string[]) => runSonant(folder, args, '', { SONANT_DATA_DIR: 'data' });

describe('sonant voice blend', { timeout: 240_000 }, () => {
  beforeAll(async () => {
    const model = await makeTinySupertonic(join(folder, 'data/models/hum'), { speakers: 4 });
    const speakers = [{ name: 'Ada' }, { name: 'Bea' }, { name: 'Cleo', language_codes: ['de'] }, { name: 'Dot' }];
    await writeFile(join(model, 'sonant-model.json'), JSON.stringify({ language_codes: ['en'], speakers }));
    await makeTinySupertonic(join(folder, 'data/models/other'), { speakers: 2 });
    await writeFile(
      join(folder, 'data/models/other/sonant-model.json'),
      '{"speakers":[{"name":"Ada"},{"name":"Eve"}]}',
    );
  });
  beforeEach((context) => context.skip(!findLibrary(''), 'the package sherpa-onnx-node was not found'));

  test('makes a voice of speakers, which is spoken with, exported, deleted and imported', async () => {
    const made = await sonant('voice', 'blend', 'warm', 'hum-Ada:3', 'Dot:1');
    expect(made).toMatchObject({ code: 0, err: '', out: 'warm is a blend of hum-Ada 0.75, hum-Dot 0.25.\n' });
    const say = () => sonant('say', 'Good morning.', '--voice', 'warm', '--format', 'wav', '-o', 'warm.wav');
    expect(await say()).toMatchObject({ code: 0 });
    const wav = await readFile(join(folder, 'warm.wav'));
    const rate = wav.readUInt32LE(24);
    const samples = new Int16Array(wav.buffer.slice(wav.byteOffset + 44 + rate / 5, wav.byteOffset + 44 + rate));
    // The fourth speaker hums two and a half times as high as the first.
    expect(Math.abs(dominantFrequencyHz(samples, rate) / hummed('en', 0).hz / 1.375 - 1)).toBeLessThan(0.02);

    expect(await sonant('voice', 'export', 'warm', '-o', 'warm.json')).toMatchObject({ code: 0 });
    expect(await sonant('voice', 'delete', 'warm')).toMatchObject({ code: 0 });
    expect(await sonant('voice', 'import', 'warm.json')).toMatchObject({ code: 0 });
    const voices = JSON.parse((await sonant('voice', 'list', '--json')).out) as { voice_id: string }[];
    expect(voices.find(({ voice_id }) => voice_id === 'warm')).toMatchObject({
      ...{ name: 'warm', owner: null, access: 'everyone', language_codes: ['en'], engine: 'sherpa-onnx' },
      blend: [
        { voice_id: 'hum-Ada', weight: 0.75 },
        { voice_id: 'hum-Dot', weight: 0.25 },
      ],
    });
    const named = await sonant('voice', 'blend', 'A warm one', 'Bea:1', 'Dot:.5', '--voice-id', 'warmer', '--json');
    expect(JSON.parse(named.out)).toMatchObject({ voice_id: 'warmer', name: 'A warm one' });
  });

  test.each<[parts: string[], said: RegExp]>([
    [['hum-Ada:1', 'Cleo:1'], /PART: must be voices that share a language; they speak: hum-Ada en; hum-Cleo de/],
    [['hum-Ada:1', 'Eve:1'], /Eve:1: must belong to the same model as hum-Ada/],
    [['Ada:1', 'Dot:1'], /Ada is ambiguous: it can be hum-Ada or other-Ada/],
    [['hum-Ada:1', 'nobody:1'], /nobody: no such voice can be blended/],
    [['hum-Ada:1', 'clara:1'], /clara:1: must be a voice of a model with styles/],
    [['hum-Ada:-1', 'Dot:1'], /hum-Ada:-1: must be a voice and its weight, such as af_heart:0.6/],
    [['hum-Ada:0', 'Dot:0'], /PART: must have weights that add up to more than 0/],
    [['hum-Ada:1'], /PART: must be 2 to 8 items/],
    [[], /usage: sonant voice blend NAME PART:WEIGHT/],
  ])('refuses %j', async (parts, said) => {
    expect(await sonant('voice', 'blend', 'x', ...parts)).toMatchObject({ code: 2, err: expect.stringMatching(said) });
  });
});
