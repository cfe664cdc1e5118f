// Tests the key tables of any row store (src/accounts/keys/api-key-rows.ts).
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type ApiKeyRow,
  type ApiKeyRows,
  type AuditRow,
  createApiKeyRows,
  listAudit,
} from '../../src/accounts/keys/api-key-rows.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { flattenKeys, migrations } from '../../src/platform/store/migrations.ts';
import type { RowStore } from '../../src/platform/store/row-store.ts';

/** `open` returns a new empty store each time. */
export function tableConformance(name: string, open: () => Promise<RowStore>): void {
  describe(`${name} stores API keys`, () => {
    let store: RowStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    test('the first row ever, and only that, is added as the first', async () => {
      const rows = createApiKeyRows(store);
      expect(await rows.isEmpty()).toBe(true);
      const added = await Promise.all(
        [apiKeyRow(), apiKeyRow(), apiKeyRow()].map((row) => rows.addFirst(row, auditRow(row))),
      );
      expect(added.filter(Boolean)).toHaveLength(1);
      expect(await rows.isEmpty()).toBe(false);
    });

    test('a row is found by its id part, as it was added; no second gets the id part', async () => {
      const rows = createApiKeyRows(store);
      const row = apiKeyRow({ name: 'läptop', expiresAtMs: 2 ** 42 });
      expect(await rows.add(row, auditRow(row), unlimited)).toBe('added');
      const found = await rows.find(row.idPart);
      expect({ ...found, hash: [...found!.hash] }).toEqual({ ...row, hash: [...row.hash] });
      expect(await rows.add(apiKeyRow({ idPart: row.idPart }), auditRow(row), unlimited)).toBe('taken');
      expect((await rows.find(row.idPart))!.keyId).toBe(row.keyId);
      expect(await rows.find('0000000000')).toBeUndefined();
    });

    test('a list is the newest first and goes on where it ended', async () => {
      const rows = createApiKeyRows(store);
      for (let i = 0; i < 3; i++) await add(rows);
      const ids = (await rows.list(all, 100)).map(({ keyId }) => keyId);
      expect(ids).toEqual(ids.toSorted().toReversed());
      const [first, second] = await rows.list(all, 2);
      expect([first!.keyId, second!.keyId]).toEqual(ids.slice(0, 2));
      expect((await rows.list(all, 100, second!.keyId)).map(({ keyId }) => keyId)).toEqual(ids.slice(2));
    });

    test('a row is changed, with a record, for who may see it; what is not in the range is not there', async () => {
      const rows = createApiKeyRows(store);
      const row = await add(rows, { path: 'key_A/', name: 'before' });
      const audit = { ...auditRow(row), action: 'update' as const };
      const change = (path: string, ownKeyId?: string) =>
        rows.change(row.keyId, { path, ownKeyId }, ({ name }) => ({
          change: { name: `${name}+` },
          audit: next(audit),
        }));
      expect((await change('key_A/'))!.row.name).toBe('before+');
      expect((await change(''))!.row.name).toBe('before++');
      expect((await change('key_B/', row.keyId))!.row.name).toBe('before+++');
      for (const path of ['key_B/', 'key_A/key_B/']) expect(await change(path)).toBeUndefined();
      expect(await rows.change('key_unknown', all, () => ({ change: {}, audit }))).toBeUndefined();
      expect((await rows.find(row.idPart))!.name).toBe('before+++');
      expect((await listAudit(store, row.keyId)).map(({ action }) => action)).toEqual([
        'create',
        ...Array(3).fill('update'),
      ]);
      expect(await rows.findById(row.keyId, { path: 'key_B/' })).toBeUndefined();
      expect((await rows.findById(row.keyId, { path: 'key_A/' }))!.keyId).toBe(row.keyId);
      const below = await add(rows, { path: 'key_A/key_C/' });
      const listed = await rows.list({ path: 'key_A/' }, 100);
      expect(listed.map(({ keyId }) => keyId)).toEqual([below.keyId, row.keyId]);
      expect(await rows.list({ path: 'key_B/', ownKeyId: row.keyId }, 100)).toHaveLength(1);
    });

    test('if a change fails, neither the change nor its record is stored', async () => {
      const rows = createApiKeyRows(store);
      const row = await add(rows);
      const added = apiKeyRow({ idPart: row.idPart });
      const audit = { ...auditRow(row), action: 'rotate' as const };
      const change = { replacedBy: added.keyId };
      await expect(rows.change(row.keyId, all, () => ({ change, added, audit }))).rejects.toThrow('one id part');
      expect((await rows.find(row.idPart))!.replacedBy).toBeNull();
      expect(await listAudit(store, row.keyId)).toHaveLength(1);
    });

    test('valid keys of an account are limited; ended, expired and replaced ones do not count', async () => {
      const rows = createApiKeyRows(store);
      const addTo = (path: string) => {
        const row = apiKeyRow({ path });
        return rows.add(row, auditRow(row), { keysMax: 2, nowMs: 1_000 });
      };
      await add(rows, { path: 'key_FULL/', revokedAtMs: 1 });
      await add(rows, { path: 'key_FULL/', expiresAtMs: 1_000 });
      await add(rows, { path: 'key_FULL/', replacedBy: 'key_Y' });
      await add(rows, { path: 'key_FULLER/' });
      expect(await addTo('key_FULL/')).toBe('added');
      expect(await addTo('key_FULL/')).toBe('added');
      expect(await addTo('key_FULL/')).toBe('full');
      expect(await addTo('key_FULLER/')).toBe('added');
      expect(await addTo('')).toBe('added');
    });

    test('with an account its keys are revoked, each with a record; their rows stay', async () => {
      const rows = createApiKeyRows(store);
      const key = await add(rows);
      const path = `${key.keyId}/`;
      const [child, beside] = [await add(rows, { path }), await add(rows)];
      const deeper = await add(rows, { path, limitedBy: `${child.keyId}/` });
      const past = await add(rows, { path, revokedAtMs: 5 });
      const revoke = (keyId: string) => {
        const toAudit = (id: string) => ({ ...next(auditRow({ ...key, keyId: id })), action: 'revoke' as const });
        const ending = { atMs: 9, toAudit };
        return rows.change(keyId, all, () => ({ change: { revokedAtMs: 9 }, audit: toAudit(keyId), ending }));
      };
      expect(await revoke(child.keyId)).toMatchObject({ othersRevoked: [{ keyId: deeper.keyId }] });
      const second = await add(rows, { path });
      expect(await revoke(key.keyId)).toMatchObject({ othersRevoked: [{ keyId: second.keyId }] });
      const times = [key, child, deeper, second, past, beside].map(
        async ({ idPart }) => (await rows.find(idPart))!.revokedAtMs,
      );
      expect(await Promise.all(times)).toEqual([9, 9, 9, 9, 5, null]);
      expect((await listAudit(store, second.keyId)).map(({ action }) => action)).toEqual(['create', 'revoke']);
      expect(await revoke(key.keyId)).toMatchObject({ othersRevoked: [] });
    });

    test('with a key the keys of its owner are revoked that are in their grace, each with a record; no others', async () => {
      const rows = createApiKeyRows(store);
      const replaced = { ownerId: createId('key'), replacedBy: 'key_next' };
      const ofGrace = [await add(rows, { ...replaced, expiresAtMs: 10 }), await add(rows, replaced)];
      const over = await add(rows, { ...replaced, expiresAtMs: 9 });
      const past = await add(rows, { ...replaced, revokedAtMs: 5 });
      const other = await add(rows, { replacedBy: 'key_next' });
      const key = await add(rows, { ownerId: replaced.ownerId });
      const toAudit = (keyId: string) => ({ ...next(auditRow({ ...key, keyId })), action: 'revoke' as const });
      const ending = { atMs: 9, toAudit };
      const decide = () => ({ change: { revokedAtMs: 9 }, audit: toAudit(key.keyId), ending });
      const changed = (await rows.change(key.keyId, all, decide))!;
      expect(changed.othersRevoked.map(({ keyId }) => keyId).toSorted()).toEqual(
        ofGrace.map(({ keyId }) => keyId).toSorted(),
      );
      const times = [key, ...ofGrace, over, past, other].map(
        async ({ idPart }) => (await rows.find(idPart))!.revokedAtMs,
      );
      expect(await Promise.all(times)).toEqual([9, 9, 9, null, 5, null]);
      expect((await listAudit(store, ofGrace[0]!.keyId)).map(({ action }) => action)).toEqual(['create', 'revoke']);
      expect(await listAudit(store, over.keyId)).toHaveLength(1);
    });

    test('a key takes the place of those that were made as it is, once, and has their owner', async () => {
      const rows = createApiKeyRows(store);
      const toAudit = (row: ApiKeyRow) => ({ ...auditRow(row), detail: `{"made":"${former.keyId}"}` });
      const former = apiKeyRow();
      const other = await add(rows);
      await rows.add(former, toAudit(former), unlimited);
      const row = apiKeyRow();
      const toEndAudit = (keyId: string) => ({ ...next(auditRow({ ...row, keyId })), action: 'revoke' as const });
      const supersede = () => rows.supersede({ row, audit: { ...toAudit(row), atMs: 7 }, toEndAudit });
      expect((await supersede()).map(({ keyId }) => keyId)).toEqual([former.keyId]);
      expect(await rows.find(former.idPart)).toMatchObject({ revokedAtMs: 7, replacedBy: row.keyId });
      expect(await rows.find(row.idPart)).toMatchObject({ ownerId: former.keyId, revokedAtMs: null });
      expect((await rows.find(other.idPart))!.revokedAtMs).toBeNull();
      expect(await supersede()).toEqual([]);
    });

    test('keys of earlier versions get their creators from the audit', async () => {
      const rows = createApiKeyRows(store);
      const account = `usr_${'0'.repeat(32)}`;
      const make = async (actor: string, given: Partial<ApiKeyRow> = {}) => {
        const row = apiKeyRow(given);
        await rows.add(row, { ...auditRow(row), actor }, unlimited);
        return row;
      };
      const rotate = async ({ keyId }: ApiKeyRow, actor: string) => {
        const added = apiKeyRow({ path: `${account}/` });
        const audit = { ...auditRow(apiKeyRow({ keyId })), actor, action: 'rotate' as const };
        await rows.change(keyId, all, () => ({ change: { replacedBy: added.keyId }, added, audit }));
        return added;
      };
      const ofOperator = await make('operator');
      const ofPerson = await make('user:https://id.example|ada', { path: `${account}/` });
      const ofKey = await make(`key:${ofPerson.keyId}`, { path: `${account}/${ofPerson.keyId}/` });
      const ofItself = await rotate(ofPerson, `key:${ofPerson.keyId}`);
      const ofAdmin = await rotate(ofItself, 'user:https://id.example|ada');
      const { statements } = migrations.find(({ name }) => name === 'creators of keys')!;
      await store.query(statements.at(-1)!);
      const found = [ofOperator, ofPerson, ofKey, ofItself, ofAdmin].map(({ idPart }) => rows.find(idPart));
      expect((await Promise.all(found)).map((row) => row!.madeBy)).toEqual([
        'operator',
        account,
        ...[ofPerson.keyId, ofPerson.keyId],
        account,
      ]);
    });

    test('keys of earlier versions below another key become keys of its account, with no more rights', async () => {
      const rows = createApiKeyRows(store);
      const account = await add(rows, { scopes: 'keys:write' });
      const path = `${account.keyId}/`;
      const first = await add(rows, { path, replacedBy: 'key_next', scopes: 'admin', requestsPerMinute: 1 });
      const team = await add(rows, {
        ...{ path, ownerId: first.keyId, scopes: 'keys:write speech:stream', requestsPerMinute: 50, concurrency: 30 },
        ...{ voiceIds: '["far","near"]', allowedIps: '10.0.0.0/8 127.0.0.1', expiresAtMs: 9 },
      });
      const app = await add(rows, {
        ...{ path: `${path}${first.keyId}/`, voiceIds: '["near","wide"]', charactersPerMonth: 7, madeBy: team.keyId },
      });
      const below = { path: `${path}${first.keyId}/${app.keyId}/`, allowedIps: '127.0.0.0/8', concurrency: 5 };
      const lowest = await add(rows, { ...below, scopes: 'speech:stream admin', expiresAtMs: 12 });
      await flattenKeys(store);
      await flattenKeys(store);
      const common = { path, scopes: 'speech:stream', requestsPerMinute: 50, charactersPerMonth: 7, expiresAtMs: 9 };
      expect(await rows.find(app.idPart)).toMatchObject({
        ...{ ...common, voiceIds: '["near"]', allowedIps: '10.0.0.0/8 127.0.0.1', concurrency: null },
        ...{ limitedBy: `${first.keyId}/`, madeBy: team.keyId },
      });
      expect(await rows.find(lowest.idPart)).toMatchObject({
        ...{ ...common, voiceIds: '["near"]', allowedIps: '127.0.0.1', concurrency: 5 },
        ...{ limitedBy: `${first.keyId}/${app.keyId}/`, madeBy: app.keyId },
      });
      for (const { idPart, hash: _, ...kept } of [account, first, team])
        expect(await rows.find(idPart)).toMatchObject(kept);
    });

    test('the newest rotation stands for an owner, across owners too', async () => {
      const rows = createApiKeyRows(store);
      const newest = await add(rows);
      const other = await add(rows, { replacedBy: newest.keyId });
      const [old, successor] = [await add(rows, { replacedBy: 'key_next' }), await add(rows)];
      await store.query('update api_keys set owner_id = $1 where key_id = $2', old.keyId, successor.keyId);
      expect((await rows.findNewest(old.ownerId))!.keyId).toBe(successor.keyId);
      expect((await rows.findNewest(other.ownerId))!.keyId).toBe(newest.keyId);
      expect(await rows.findNewest('key_unknown')).toBeUndefined();
    });

    test('the time of last use only ever moves on', async () => {
      const rows = createApiKeyRows(store);
      const row = apiKeyRow();
      await rows.add(row, auditRow(row), unlimited);
      const { keyId } = row;
      await rows.noteUses([{ keyId, usedAtMs: 5_000 }]);
      await rows.noteUses([
        { keyId, usedAtMs: 4_000 },
        { keyId: 'key_unknown', usedAtMs: 9_000 },
      ]);
      expect((await rows.find(row.idPart))!.lastUsedAtMs).toBe(5_000);
    });
  });
}

const all = { path: '' };
const unlimited = { keysMax: 1_000_000, nowMs: 0 };

async function add(rows: ApiKeyRows, given: Partial<ApiKeyRow> = {}): Promise<ApiKeyRow> {
  const row = apiKeyRow(given);
  await rows.add(row, auditRow(row), unlimited);
  return row;
}

const auditRow = ({ keyId }: ApiKeyRow): AuditRow => ({
  ...{ auditId: createId('adt'), atMs: 1, actor: 'operator', action: 'create', keyId, address: '', requestId: '' },
  detail: '{}',
});

const next = (audit: AuditRow): AuditRow => ({ ...audit, auditId: createId('adt'), atMs: audit.atMs + 1 });

function apiKeyRow(given: Partial<ApiKeyRow> = {}): ApiKeyRow {
  const keyId = createId('key');
  return {
    keyId,
    idPart: keyId.slice(-10),
    hash: crypto.getRandomValues(new Uint8Array(32)),
    hashKind: 'sha256',
    ownerId: keyId,
    path: '',
    limitedBy: '',
    name: 'a key',
    scopes: 'speech:stream voices:read',
    voiceIds: null,
    allowedIps: null,
    requestsPerMinute: null,
    concurrency: null,
    charactersPerMonth: null,
    createdAtMs: Date.now(),
    expiresAtMs: null,
    revokedAtMs: null,
    lastUsedAtMs: null,
    replacedBy: null,
    madeBy: null,
    ...given,
  };
}
