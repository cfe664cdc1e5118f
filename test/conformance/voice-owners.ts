// Tests that voices from an earlier version, after migration, belong to the account of the key that created them, and
// stay public. Aliases of private voices become aliases of their accounts.
import { expect, onTestFinished, test } from 'vitest';
import { toRecordEntry } from '../../src/accounts/keys/caller.ts';
import { toKeyHolder } from '../../src/accounts/sign-in/sign-in-rules.ts';
import { createVoiceRows, noTexts, type VoiceRow } from '../../src/library/voices/voice-rows.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { migrations } from '../../src/platform/store/migrations.ts';
import type { RowStore } from '../../src/platform/store/row-store.ts';

const statementsOf = (step: string) => migrations.find(({ name }) => name === step)!.statements;

const voiceRow = (voiceId: string, status: VoiceRow['status'], atMs: number) => ({
  ...noTexts,
  ...{ voiceId, name: voiceId, description: '', kind: 'stock' as const, status, languageCodes: 'en', labels: '{}' },
  ...{ version: 1, bindings: '[]', consent: null, ownerId: null, access: 'everyone' as const, lexiconIds: null },
  ...{ createdAtMs: atMs, updatedAtMs: atMs },
});

/** `open` returns a new empty store. */
export function voiceOwnerConformance(name: string, open: () => Promise<RowStore>): void {
  test(`${name} gives the voices of an earlier version to the accounts that made them`, async () => {
    const store = await open();
    onTestFinished(() => store.close());
    const rows = createVoiceRows(store);
    const makeKey = async (path = '') => {
      const keyId = createId('key');
      await store.query(
        `insert into api_keys (key_id, id_part, hash, hash_kind, owner_id, path, name, scopes, created_at_ms)
          values ($1, $2, $3, 'sha256', $4, $5, '', '', 1)`,
        ...[keyId, keyId.slice(-10), new Uint8Array(32), keyId, path],
      );
      return keyId;
    };
    const person = toKeyHolder('user', 'ada', []).callerId;
    const root = await makeKey();
    const child = await makeKey(`${root}/${createId('key')}/`);
    const ofPerson = await makeKey(`${person}/`);
    let atMs = 0;
    const note = (voiceId: string, action: 'create' | 'clone' | 'import' | 'update' | 'delete', actor: string) => {
      const status = action === 'delete' ? 'deleted' : 'ready';
      const by = { name: actor, address: '', requestId: '', accountId: '', grant: { range: { path: '' }, scopes: [] } };
      const entry = toRecordEntry({ action, voiceId, atMs: ++atMs, detail: {} }, by);
      return rows.change(voiceId, () => ({ row: voiceRow(voiceId, status, atMs), entry }));
    };
    await note('of-root', 'create', `key:${root}`);
    await note('of-root', 'update', `key:${ofPerson}`);
    await note('of-child', 'clone', `key:${child}`);
    await note('of-person', 'create', `key:${ofPerson}`);
    await note('imported', 'import', 'operator');
    await note('changed', 'update', `key:${root}`);
    await note('again', 'create', `key:${root}`);
    await note('again', 'delete', `key:${root}`);
    await note('again', 'import', 'operator');
    await note('gone', 'create', `key:${root}`);
    await note('gone', 'delete', `key:${root}`);
    await note('unknown', 'create', 'key:key_nobody');

    expect(await rows.listReused(['of-root', 'imported', 'again', 'gone']), 'made and deleted').toEqual(
      new Set(['again', 'gone']),
    );
    await store.query('drop index voices_of_owner');
    await store.query('alter table voices drop column owner_id');
    await store.query('alter table voices drop column access');
    for (const statement of statementsOf('owners of voices')) await store.query(statement);
    const found = await rows.listChanged(0);
    expect(new Set(found.map(({ access }) => access))).toEqual(new Set(['everyone']));
    expect(Object.fromEntries(found.map(({ voiceId, ownerId }) => [voiceId, ownerId]))).toEqual({
      ...{ 'of-root': root, 'of-child': root, 'of-person': person },
      ...{ imported: null, changed: null, again: null, gone: null, unknown: null },
    });
    await store.query(statementsOf('voices of accounts').find((statement) => statement.startsWith('update voices'))!);
    const gone = await store.query("select owner_id from voices where voice_id = 'gone'");
    expect(gone, 'a deleted id stays with its account').toEqual([{ owner_id: root }]);
  });

  test(`${name} gives the aliases of private voices of an earlier version to their accounts`, async () => {
    const store = await open();
    onTestFinished(() => store.close());
    await store.query('drop table account_aliases');
    const voices = [
      ['mine', 'private', 'key_1'],
      ['shared', 'everyone', 'key_1'],
      ['hidden', 'private', null],
    ] as const;
    for (const [i, [voiceId, access, ownerId]] of voices.entries()) {
      const row = { ...voiceRow(voiceId, 'ready', 1), access, ownerId, revision: i + 1 };
      const names = Object.keys(row).map((key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
      const values = names.map((_, j) => `$${j + 1}`);
      await store.query(`insert into voices (${names}) values (${values})`, ...Object.values(row));
    }
    const before = { alloy: 'mine', nova: 'shared', onyx: 'hidden', echo: 'clara', removed: '', '': 'mine' };
    for (const [i, [alias, voiceId]] of Object.entries(before).entries())
      await store.query('insert into voice_aliases values ($1, $2, $3)', alias, voiceId, i + 1);
    for (const statement of statementsOf('voices of accounts').filter((each) => each.includes('account_aliases')))
      await store.query(statement);
    const found = await createVoiceRows(store).listChangedAliases(0);
    expect(found.map(({ alias, ownerId, voiceId }) => `${alias}|${ownerId}|${voiceId}`)).toEqual([
      ...['alloy|key_1|mine', 'nova||shared', 'onyx||hidden', 'echo||clara', 'removed||', '||mine'],
    ]);
  });
}
