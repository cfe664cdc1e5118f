// Tests PostgreSQL: the contract, and faults that only concurrent processes cause.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { Failure } from '../../../src/platform/errors.ts';
import { schemaSteps } from '../../../src/platform/store/migrations.ts';
import { openPostgres } from '../../../src/platform/store/postgres.ts';
import type { RowStore, Rows } from '../../../src/platform/store/row-store.ts';
import { rowStoreConformance } from '../../conformance/row-store.ts';
import { startPostgres } from './postgres-server.ts';

const server = await startPostgres();
afterAll(() => server?.stop());
if (server) rowStoreConformance('PostgreSQL', { place: server.createDatabase, open: (url) => openPostgres({ url }) });

const there = test.skipIf(server === undefined);

async function open(count: number): Promise<RowStore[]> {
  const url = await server!.createDatabase();
  const stores = await Promise.all(Array.from({ length: count }, () => openPostgres({ url, connectionsMax: 4 })));
  onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
  return stores;
}

there('8 processes that start at once on an empty database make its tables once', async () => {
  const url = await server!.createDatabase();
  const run = promisify(execFile);
  const opener = join(import.meta.dirname, 'postgres-opener.ts');
  const said = await Promise.all(Array.from({ length: 8 }, () => run(process.execPath, [opener, url])));
  const steps = Array.from({ length: schemaSteps }, (_, i) => i + 1);
  expect(said.map(({ stdout }) => JSON.parse(stdout))).toEqual(Array(8).fill(steps));
});

there('transactions that overtake each other, from several processes, are done again until all are done', async () => {
  const stores = await open(3);
  const [first] = stores;
  await first!.query('create table counts (id bigint primary key, count bigint not null)');
  await first!.query('insert into counts values (1, 0)');
  let runs = 0;
  const addOne = async (rows: Rows) => {
    runs++;
    const [row] = await rows.query<{ count: number }>('select count from counts where id = 1');
    await rows.query('update counts set count = $1 where id = 1', row!.count + 1);
  };
  await Promise.all(Array.from({ length: 90 }, (_, i) => stores[i % 3]!.transaction(addOne)));
  expect(await first!.query('select count from counts')).toEqual([{ count: 90 }]);
  expect(runs).toBeGreaterThan(90);
});

there('no two transactions decide on what the other is about to change', async () => {
  const [store] = await open(1);
  await store!.query('create table duty (name text primary key, is_on bigint not null)');
  await store!.query("insert into duty values ('a', 1), ('b', 1)");
  const leave = (name: string) => async (rows: Rows) => {
    const [on] = await rows.query<{ count: number }>('select count(*) as count from duty where is_on = 1');
    await sleep(20);
    if (on!.count > 1) await rows.query('update duty set is_on = 0 where name = $1', name);
  };
  await Promise.all([store!.transaction(leave('a')), store!.transaction(leave('b'))]);
  expect(await store!.query('select count(*) as count from duty where is_on = 1')).toEqual([{ count: 1 }]);
});

there('what the server says is told as the contract has it, and what is a bug stays one', async () => {
  const [store] = await open(1);
  const raise = (state: string) => store!.query(`do $$ begin raise exception using errcode = '${state}'; end $$`);
  const reasonOf = async (state: string) => {
    const error = await raise(state).catch((thrown: unknown) => thrown);
    return error instanceof Failure ? error.reason : (error as { code: string }).code;
  };
  expect(await reasonOf('53100')).toBe('storage_full');
  const unavailable = ['08006', '25006', '28000', '42501', '53200', '53300', '57014', '57P01', '58030', 'XX001'];
  for (const state of unavailable) expect(await reasonOf(state)).toBe('storage_unavailable');
  for (const state of ['22003', '23505', '42601', '42P01']) expect(await reasonOf(state)).toBe(state);
  expect(await store!.query('select 1 as one')).toEqual([{ one: 1 }]);
});

there('a statement that takes too long ends; one that cannot be had a connection for is told so', async () => {
  const url = await server!.createDatabase();
  const store = await openPostgres({ url, statementMs: 200, connectionsMax: 1 });
  await expect(store.query('select pg_sleep(60)')).rejects.toMatchObject({ reason: 'storage_unavailable' });
  const slow = store.transaction((rows) => rows.query('select pg_sleep(60)'));
  await expect(slow).rejects.toMatchObject({ reason: 'storage_unavailable' });
  expect(await store.query('select 1 as one')).toEqual([{ one: 1 }]);
  await store.close();
});

there(
  'what is announced is heard by every process when it is done, and everything after a connection is lost',
  async () => {
    const [one, other] = (await open(2)) as [RowStore, RowStore];
    let keys = 0;
    let voices = 0;
    let onCall = () => {};
    const heard = async (isSo: () => boolean) => {
      while (!isSo()) await new Promise<void>((resolve) => (onCall = resolve));
    };
    const stop = other.listen('keys', () => {
      keys++;
      onCall();
    });
    other.listen('voices', () => {
      voices++;
      onCall();
    });
    await heard(() => keys === 1 && voices === 1);

    await one.transaction((rows) => rows.notify('keys'));
    await heard(() => keys === 2);
    const undone = one.transaction(async (rows) => {
      await rows.notify('keys');
      throw new Error('undo');
    });
    await expect(undone).rejects.toThrow('undo');
    await one.transaction((rows) => rows.notify('voices'));
    await heard(() => voices === 2);
    expect(keys).toBe(2);

    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query = 'listen sonant'`;
    await one.query(cut);
    await heard(() => keys === 3 && voices === 3);
    await one.transaction((rows) => rows.notify('voices'));
    await heard(() => voices === 4);

    stop();
    await one.transaction(async (rows) => {
      await rows.notify('keys');
      await rows.notify('voices');
    });
    await heard(() => voices === 5);
    expect(keys).toBe(3);
  },
);

there('a durable transaction waits for the disk even where the database does not', async () => {
  const [store] = await open(1);
  const level = async (rows: Rows) => (await rows.query('show synchronous_commit'))[0];
  const [own] = await store!.query<{ name: string }>('select current_database() as name');
  await store!.query(`alter database ${own!.name} set synchronous_commit = off`);
  await store!
    .query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', own!.name)
    .catch(() => {});
  expect(await store!.transaction(level)).toEqual({ synchronous_commit: 'off' });
  expect(await store!.transaction(level, { durable: true })).toEqual({ synchronous_commit: 'on' });
  expect(await store!.transaction(level)).toEqual({ synchronous_commit: 'off' });
});

there('of what an erasing transaction removed, no dead row is left', async () => {
  const [store] = await open(1);
  await store!.query("insert into clones (clone_id, voice_id, sealed) values ('c', 'v', $1)", new Uint8Array(9_000));
  const size = async () => (await store!.query("select pg_relation_size('clones') as size"))[0];
  await store!.transaction((rows) => rows.query('delete from clones'));
  expect(await size()).not.toEqual({ size: 0 });
  await store!.transaction((rows) => rows.query('delete from clones'), { erasing: ['clones'] });
  expect(await size()).toEqual({ size: 0 });
});

test('a connection failure is reported without the password', async () => {
  const refused = await openPostgres({ url: 'postgres://me:hush-hush@127.0.0.1:1/rows' }).catch((error) => error);
  expect(refused).toMatchObject({ reason: 'storage_unavailable' });
  expect(String(refused.cause)).toContain('rows at 127.0.0.1:1: the connection was refused');
  const nonsense = await openPostgres({ url: 'postgres://me:hush-hush@[::/rows' }).catch((error) => error);
  for (const error of [refused, nonsense]) expect(`${error.stack} ${error.cause.stack}`).not.toContain('hush');
});
