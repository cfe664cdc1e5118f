// Tests faults in PostgreSQL (killed, frozen), and the store's contract with PgBouncer in between.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { Failure } from '../../../src/platform/errors.ts';
import { openPostgres } from '../../../src/platform/store/postgres.ts';
import { isOutcomeUnknown, type RowStore } from '../../../src/platform/store/row-store.ts';
import { rowStoreConformance } from '../../conformance/row-store.ts';
import { startOwnPostgres, startPgBouncer } from './postgres-server.ts';

const server = await startOwnPostgres();
const pooler = server && (await startPgBouncer(server));
afterAll(async () => {
  await pooler?.stop();
  await server?.stop();
});

if (server && pooler) {
  rowStoreConformance('PostgreSQL behind PgBouncer', {
    place: async () => pooler.urlOf(await server.createDatabase()),
    open: (url) => openPostgres({ url, isPooled: true }),
  });
}

const there = test.skipIf(server === undefined);
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    ({ reason }: Failure) => reason,
  );
const pidOf = async (store: RowStore) => (await store.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]!.pid;

there('while the server is away all is unavailable at once, and all is well again when it is back', async () => {
  const store = await openPostgres({ url: await server!.createDatabase() });
  let calls = 0;
  store.listen('keys', () => calls++);
  while (calls === 0) await sleep(5);
  const add = `insert into audit values ($1, 1, '', '', '', '', '', '')`;
  await store.query(add, 'before');
  const caught = reasonOf(
    store.transaction(async (rows) => {
      await rows.query(add, 'caught');
      await server!.kill();
      await rows.query(add, 'caught, too');
    }),
  );
  expect(await caught).toBe('storage_unavailable');
  const away = [store.query('select 1 as one'), store.transaction((rows) => rows.query(add, 'away'))];
  expect(await Promise.all(away.map(reasonOf))).toEqual(Array(2).fill('storage_unavailable'));
  await server!.start();
  const calledBefore = calls;
  expect(await store.query('select audit_id as id from audit')).toEqual([{ id: 'before' }]);
  while (calls === calledBefore) await sleep(5);
  await store.close();
});

there('only a change that was sent and not answered may have been made', async () => {
  const store = await openPostgres({ url: await server!.createDatabase(), connectionsMax: 2 });
  const failureOf = (work: Promise<unknown>) => work.catch((failure: Failure) => failure) as Promise<Failure>;
  const pid = await pidOf(store);
  const slow = failureOf(store.query('select pg_sleep(30)'));
  await sleep(50);
  process.kill(pid, 'SIGKILL');
  expect(isOutcomeUnknown(await slow)).toBe(true);
  await server!.kill();
  const [refused, transaction] = [store.query('select 1 as one'), store.transaction((rows) => rows.query('select 1'))];
  for (const failure of [await failureOf(refused), await failureOf(transaction)])
    expect([failure.reason, isOutcomeUnknown(failure)]).toEqual(['storage_unavailable', false]);
  await server!.start();
  await store.close();
});

there('a frozen connection is given up after the time of a statement, and another is taken', async () => {
  const store = await openPostgres({ url: await server!.createDatabase(), statementMs: 500, connectionsMax: 1 });
  const frozen: number[] = [];
  const freeze = async () => {
    const pid = await pidOf(store);
    process.kill(pid, 'SIGSTOP');
    frozen.push(pid);
  };
  try {
    await freeze();
    expect(await reasonOf(store.transaction((rows) => rows.query('select 1 as one')))).toBe('storage_unavailable');
    expect(await store.query('select 1 as one')).toEqual([{ one: 1 }]);
    await freeze();
    const waiting = Array.from({ length: 3 }, () => reasonOf(store.query('select 1 as one')));
    const unavailable = 'storage_unavailable';
    // Calls that wait for a connection fail with the same reason.
    expect(await Promise.all(waiting)).toEqual([unavailable, unavailable, unavailable]);
    expect(await store.query('select 1 as one')).toEqual([{ one: 1 }]);
  } finally {
    for (const pid of frozen) process.kill(pid, 'SIGCONT');
  }
  await store.close();
});

there('a server that takes a connection and says nothing is given up', async () => {
  const url = await server!.createDatabase();
  const store = await openPostgres({ url, statementMs: 200 });
  process.kill(await pidOf(store), 'SIGTERM');
  process.kill(server!.pid, 'SIGSTOP');
  try {
    while ((await reasonOf(store.query('select 1 as one'))) === 'done') await sleep(5);
    expect(await reasonOf(store.query('select 1 as one'))).toBe('storage_unavailable');
    expect(await reasonOf(openPostgres({ url, statementMs: 200 }))).toBe('storage_unavailable');
  } finally {
    process.kill(server!.pid, 'SIGCONT');
  }
  while ((await reasonOf(store.query('select 1 as one'))) !== 'done') await sleep(20);
  await store.close();
});

there('one whose connections are ended by an administrator goes on with new ones', async () => {
  const url = await server!.createDatabase();
  const [store, administrator] = await Promise.all([openPostgres({ url }), openPostgres({ url })]);
  const pid = await pidOf(store);
  const open = store.transaction(async (rows) => {
    await rows.query('select 1 as one');
    await administrator.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()');
    await rows.query('select 1 as one');
  });
  expect(await reasonOf(open)).toBe('storage_unavailable');
  expect(await pidOf(store)).not.toBe(pid);
  await Promise.all([store.close(), administrator.close()]);
});
