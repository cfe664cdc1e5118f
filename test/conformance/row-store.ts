// Tests any row store against the contract in src/platform/store/row-store.ts. `place` names a new empty database, and `open`
// opens a database by name.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { toRecordEntry } from '../../src/accounts/keys/caller.ts';
import { toKeyHolder } from '../../src/accounts/sign-in/sign-in.ts';
import { createVoiceRows } from '../../src/library/voices/voice-rows.ts';
import { Failure } from '../../src/platform/errors.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { type Migration, migrate, migrations } from '../../src/platform/store/migrations.ts';
import type { RowStore } from '../../src/platform/store/row-store.ts';
import { voiceRow } from '../library/voices/voice-row.ts';
import { clipTableConformance } from './clip-tables.ts';
import { jobTableConformance } from './job-tables.ts';
import { tableConformance } from './tables.ts';

const statementsOf = (step: string) => migrations.find(({ name }) => name === step)!.statements;

/** `open` returns a new empty store. */
function voiceOwnerConformance(name: string, open: () => Promise<RowStore>): void {
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
      return rows.change(voiceId, () => ({
        row: voiceRow(voiceId, { status, createdAtMs: atMs, updatedAtMs: atMs }),
        entry,
      }));
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
      const row = { ...voiceRow(voiceId), access, ownerId, revision: i + 1 };
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

export interface RowStoreConformanceOptions {
  place(): Promise<string>;
  open(place: string): Promise<RowStore>;
}

const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error) => (error instanceof Failure ? error.reason : error),
  );

export function rowStoreConformance(name: string, { place, open }: RowStoreConformanceOptions): void {
  describe(`${name} meets the contract of a row store`, () => {
    let where: string;
    let store: RowStore;

    beforeAll(async () => {
      where = await place();
      store = await open(where);
      await store.query('create table things (id bigint primary key, words text, bytes bytea, part double precision)');
    });
    afterAll(() => store.close());

    const add = (id: number, words = '') => store.query('insert into things (id, words) values ($1, $2)', id, words);
    const idsLike = async (words: string) =>
      (await store.query<{ id: number }>('select id from things where words = $1 order by id', words)).map(
        ({ id }) => id,
      );

    test('values come back as they went in', async () => {
      const bytes = Uint8Array.of(0, 1, 254, 255);
      const words = "Grüße, 世界 👋🏽 '; drop table things; --";
      await store.query('insert into things values ($1, $2, $3, $4)', 2 ** 50, words, bytes, 0.1);
      await store.query('insert into things values ($1, $2, $3, $4)', -3, null, null, null);
      const rows = await store.query<{ id: number; bytes: Uint8Array | null }>(
        'select id, words as "theWords", bytes, part from things where id in ($1, $2) order by id',
        2 ** 50,
        -3,
      );
      expect(rows.map((row) => ({ ...row, bytes: row.bytes && [...row.bytes] }))).toEqual([
        { id: -3, theWords: null, bytes: null, part: null },
        { id: 2 ** 50, theWords: words, bytes: [...bytes], part: 0.1 },
      ]);
    });

    test('counts and sums are numbers; texts come in the order of their bytes, and one with a NUL is nowhere', async () => {
      const [sum] = await store.query(
        'select count(*) as count, sum(n) as sum from (select 2 as n union select 3) as t',
      );
      expect(sum).toEqual({ count: 2, sum: 5 });
      const names = ['a', 'B', '_', '~', 'ä', '0', 'key_A/', 'key_A'];
      const add = 'insert into migrations (step, name, taken_at_ms) values ($1, $2, 0)';
      for (const [i, each] of names.entries()) await store.query(add, 1_000 + i, each);
      const sql = 'delete from migrations where step >= 1000 returning name';
      const inOrder = await store.query<{ name: string }>(
        'select name from migrations where step >= 1000 order by name',
      );
      expect(inOrder.map((row) => row.name)).toEqual(names.toSorted());
      expect(await store.query('select step from migrations where name = $1', 'a\0')).toEqual([]);
      expect(await store.query(sql)).toHaveLength(names.length);
    });

    test('a change answers no rows, unless it returns some', async () => {
      expect(await add(10, 'change')).toEqual([]);
      const sql = 'update things set words = $2 where words = $1 returning id';
      expect(await store.query(sql, 'change', 'changed')).toEqual([{ id: 10 }]);
      expect(await store.query(sql, 'change', 'changed')).toEqual([]);
    });

    test('a value left undefined is a bug, not null', async () => {
      const nothing = undefined as unknown as string;
      await expect(store.query('select $1 as x', nothing)).rejects.toThrow(TypeError);
    });

    test('wrong SQL and constraint violations are bugs, not failures of the store', async () => {
      await add(20);
      expect(await reasonOf(store.query('selekt'))).not.toBeTypeOf('string');
      expect(await reasonOf(add(20))).not.toBeTypeOf('string');
    });

    test('a transaction is all or nothing, and rethrows', async () => {
      const answer = await store.transaction(async (rows) => {
        await rows.query('insert into things (id, words) values (30, $1)', 'all');
        return rows.query('insert into things (id, words) values (31, $1) returning id', 'all');
      });
      expect(answer).toEqual([{ id: 31 }]);
      const thrown = new Error('no');
      const nothing = store.transaction(async (rows) => {
        await rows.query('insert into things (id, words) values (32, $1)', 'all');
        throw thrown;
      });
      await expect(nothing).rejects.toBe(thrown);
      const broken = store.transaction(async (rows) => {
        await rows.query('insert into things (id, words) values (33, $1)', 'all');
        await rows.query('insert into things (id, words) values (33, $1)', 'all');
      });
      await expect(broken).rejects.toThrow();
      const stubborn = store.transaction(async (rows) => {
        await rows.query('insert into things (id, words) values (34, $1)', 'all');
        await rows.query('insert into things (id, words) values (34, $1)', 'all').catch(() => {});
        return 'as if nothing had happened';
      });
      await expect(stubborn).rejects.toThrow();
      expect(await idsLike('all')).toEqual([30, 31]);
    });

    test('statements outside a transaction are no part of it', async () => {
      const undone = Array.from({ length: 10 }, (_, i) =>
        store
          .transaction(async (rows) => {
            await rows.query('insert into things (id, words) values ($1, $2)', 400 + i, 'beside');
            for (let pause = 0; pause < i; pause++) await rows.query('select 1 as one');
            throw new Error('undo');
          })
          .catch((error: Error) => error.message),
      );
      const beside = Array.from({ length: 10 }, (_, i) => add(440 + i, 'beside'));
      expect(await Promise.all(undone)).toEqual(Array(10).fill('undo'));
      await Promise.all(beside);
      expect(await idsLike('beside')).toEqual(Array.from({ length: 10 }, (_, i) => 440 + i));
    });

    test('transactions are serializable, durable ones too', async () => {
      await store.query('insert into things (id, part) values (50, 0)');
      const addOne = (_: unknown, i: number) =>
        store.transaction(
          async (rows) => {
            const [row] = await rows.query<{ part: number }>('select part from things where id = 50');
            await rows.query('update things set part = $1 where id = 50', row!.part + 1);
          },
          { durable: i % 10 === 0 },
        );
      await Promise.all(Array.from({ length: 40 }, addOne));
      expect(await store.query('select part from things where id = 50')).toEqual([{ part: 40 }]);
    });

    test('blind transactions are all or nothing too, and a topic may be announced in any', async () => {
      const sql = `insert into things (id, words) values ($1, 'blind')
        on conflict (id) do update set part = coalesce(things.part, 0) + 1`;
      const addBoth = (_: unknown, i: number) =>
        store.transaction(
          async (rows) => {
            await rows.query(sql, 70);
            await rows.query(sql, 71);
            if (i % 4 === 0) throw new Error('undo');
            await rows.notify('keys');
          },
          { blind: true },
        );
      await Promise.allSettled(Array.from({ length: 20 }, addBoth));
      expect(await store.query('select id, part from things where words = $1 order by id', 'blind')).toEqual([
        { id: 70, part: 14 },
        { id: 71, part: 14 },
      ]);
    });

    test('the rows of a transaction end with it', async () => {
      const rows = await store.transaction(async (inside) => inside);
      await expect(rows.query('select 1 as one')).rejects.toThrow('over');
    });

    test('a store opened again has its rows; a closed one is unavailable', async () => {
      const other = await open(where);
      await add(60, 'again');
      expect(await other.query('select id from things where words = $1', 'again')).toEqual([{ id: 60 }]);
      await other.close();
      expect(await reasonOf(other.query('select 1 as one'))).toBe('storage_unavailable');
      expect(await reasonOf(other.transaction(async () => {}))).toBe('storage_unavailable');
      await other.close();
    });

    test('a migration that fails leaves nothing; each migration runs once', async () => {
      const taken = await store.query<{ step: number }>('select step from migrations order by step');
      const known = taken.map(({ step }) => ({ name: `step ${step}`, statements: ['selekt'] }));
      await store.transaction((rows) => migrate(rows, known));
      const broken = { name: 'broken', statements: ['create table half (id bigint)', 'selekt'] };
      await expect(store.transaction((rows) => migrate(rows, [...known, broken]))).rejects.toThrow();
      await expect(store.query('select * from half')).rejects.toThrow();
      expect(await store.query('select step from migrations order by step')).toEqual(taken);
    });

    test('a database that a newer version has added to is used; one that is not for older versions is refused', async () => {
      const newer = await place();
      const made = await open(newer);
      const taken = await made.query<{ step: number }>('select step from migrations');
      const known: Migration[] = taken.map(({ step }) => ({ name: `step ${step}`, statements: [] }));
      const added = { name: 'more', statements: ['create table more (id bigint)'] };
      await made.transaction((rows) => migrate(rows, [...known, added]));
      const beside = await open(newer);
      expect(await beside.query('select * from more')).toEqual([]);
      await beside.close();
      const breaking = { name: 'other', statements: ['drop table more'], stepsKnownMin: known.length + 1 };
      await made.transaction((rows) => migrate(rows, [...known, added, breaking]));
      // A process may know the migration that creates the table, but not the migration that drops it.
      await made.transaction((rows) => migrate(rows, [...known, added]));
      await made.close();
      const refused = await open(newer).catch((error: Failure) => error);
      expect(refused).toMatchObject({ reason: 'storage_unavailable' });
      expect(String((refused as Failure).cause)).toContain('newer than this version');
    });
  });

  tableConformance(name, async () => open(await place()));
  clipTableConformance(name, async () => open(await place()));
  voiceOwnerConformance(name, async () => open(await place()));
  jobTableConformance(name, async () => open(await place()));
}
