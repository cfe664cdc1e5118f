// Tests SQLite: the contract, and faults that only a file has.
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { afterAll, expect, test } from 'vitest';
import { loadConfig } from '../../../src/app/config.ts';
import type { Failure } from '../../../src/platform/errors.ts';
import { schemaSteps } from '../../../src/platform/store/migrations.ts';
import { inspectStore } from '../../../src/platform/store/open-store.ts';
import type { Rows } from '../../../src/platform/store/row-store.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { rowStoreConformance } from '../../conformance/row-store.ts';
import { newFolder } from '../../new-folder.ts';

const folder = newFolder(afterAll);
let files = 0;
const newFile = () => join(folder, `${files++}`, 'sonant.db');
const program = join(import.meta.dirname, 'row-writer.ts');

rowStoreConformance('SQLite', { place: async () => newFile(), open: openSqlite });

async function refusalOf(file: string): Promise<string> {
  const failure = await openSqlite(file).catch((error: Failure) => error);
  expect(failure).toMatchObject({ reason: 'storage_unavailable' });
  expect((failure as Failure).message).not.toContain(folder);
  return String((failure as Failure).cause);
}

test('what is not a database of ours is refused, says why, and stays as it is', async () => {
  const text = join(folder, 'notes.txt');
  writeFileSync(text, 'These are notes. '.repeat(100));
  expect(await refusalOf(text)).toContain('not a database');
  expect(readFileSync(text, 'utf8')).toContain('These are notes.');

  const foreign = join(folder, 'foreign.db');
  const other = new Database(foreign);
  other.exec('create table recipes (name text)');
  other.close();
  const before = readFileSync(foreign);
  expect(await refusalOf(foreign)).toContain('another program');
  expect(before.equals(readFileSync(foreign))).toBe(true);

  expect(await refusalOf(folder)).toContain('unable to open');
  expect(await refusalOf(join(text, 'sonant.db'))).toMatch(/not a folder|file already exists/);
});

test('a database that lost its end is refused', async () => {
  const file = newFile();
  await (await openSqlite(file)).close();
  truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096);
  expect(await refusalOf(file)).toMatch(/malformed|disk/);
});

test('what doctor says of a file: whole, to be migrated, damaged, or of another program', async () => {
  const file = newFile();
  const dataDir = join(file, '..');
  const inspect = () => inspectStore({ ...loadConfig({ env: {}, folder, engines: [] }), dataDir });
  const inspectFault = () =>
    inspect().then(
      () => expect.fail('it is ready'),
      (error: Failure) => String(error.cause),
    );
  const change = (sql: string) => {
    const database = new Database(file);
    database.exec(sql);
    database.close();
  };
  expect(await inspect()).toMatchObject({ isReady: false, message: expect.stringContaining('will be created when') });
  const store = await openSqlite(file);
  const fill = 'insert into fingerprints (name, fingerprint) values ($1, $2)';
  for (let i = 0; i < 200; i++) await store.query(fill, `name ${i}`, 'x'.repeat(500));
  expect(await inspect()).toEqual({ isReady: true, message: `SQLite, ${file}` });
  await store.close();
  expect(await inspect()).toEqual({ isReady: true, message: `SQLite, ${file}` });
  const whole = readFileSync(file);

  const damaged = Buffer.from(whole);
  damaged.subarray(-40_000, -20_000).fill(0xab);
  writeFileSync(file, damaged);
  expect(await inspectFault()).toMatch(/sonant\.db: (it is damaged: |database disk image is malformed)/);
  expect(readFileSync(file).equals(damaged)).toBe(true);
  writeFileSync(file, whole.subarray(0, whole.length >> 1));
  expect(await inspectFault()).toMatch(/damaged|malformed/);
  writeFileSync(file, Buffer.concat([Buffer.from('These are notes.'), whole.subarray(16)]));
  expect(await inspectFault()).toContain('file is not a database');

  writeFileSync(file, whole);
  change('drop table tickets');
  expect(await inspectFault()).toContain('no such table: tickets');
  writeFileSync(file, whole);
  change(`delete from migrations where step = ${schemaSteps}`);
  expect(await inspect()).toMatchObject({ isReady: false, message: expect.stringContaining('migrates it') });
  writeFileSync(file, whole);
  change('drop table migrations');
  expect(await inspectFault()).toContain('another program');
});

test('nobody but its owner reads the file, nor those that SQLite puts beside it', async () => {
  const file = newFile();
  const store = await openSqlite(file);
  await store.query('create table t (id bigint)');
  const modes = ['', '-wal', '-shm'].map((end) => statSync(file + end).mode & 0o777);
  await store.close();
  expect(modes).toEqual([0o600, 0o600, 0o600]);
});

test('a full disk is storage_full; what was there stays, and there is room again later', async () => {
  const store = await openSqlite(newFile());
  await store.query('create table t (bytes bytea)');
  await store.query('pragma max_page_count = 40');
  const fill = async () => {
    for (let i = 0; i < 100; i++) await store.query('insert into t values ($1)', new Uint8Array(4_000));
  };
  await expect(fill()).rejects.toMatchObject({ reason: 'storage_full' });
  const inTransaction = store.transaction((rows) => rows.query('insert into t values ($1)', new Uint8Array(40_000)));
  await expect(inTransaction).rejects.toMatchObject({ reason: 'storage_full' });
  const [kept] = await store.query<{ count: number }>('select count(*) as count from t');
  expect(kept!.count).toBeGreaterThan(0);
  await store.query('pragma max_page_count = 4000');
  await store.query('insert into t values ($1)', new Uint8Array(4_000));
  expect(await store.query('select count(*) as count from t')).toEqual([{ count: kept!.count + 1 }]);
  await store.close();
});

test('only durable transactions wait for the disk', async () => {
  const store = await openSqlite(newFile());
  const level = async (rows: Rows) =>
    Object.values((await rows.query<{ synchronous: number }>('pragma synchronous'))[0]!)[0];
  const [normal, full] = [1, 2];
  expect(await level(store)).toBe(normal);
  expect(await store.transaction(level, { durable: true })).toBe(full);
  expect(await level(store)).toBe(normal);
  await expect(store.transaction(() => Promise.reject(new Error('no')), { durable: true })).rejects.toThrow('no');
  expect(await store.transaction(level)).toBe(normal);
  await store.close();
});

test('a transaction that erases leaves nothing in the write-ahead log, others leave it as it is', async () => {
  const file = newFile();
  const store = await openSqlite(file);
  const logBytes = () => statSync(`${file}-wal`).size;
  await store.transaction(({ query }) => query('create table secrets (text text)'));
  await store.transaction(({ query }) => query("insert into secrets values ('a voice of mine')"));
  expect(logBytes()).toBeGreaterThan(0);
  await store.transaction(({ query }) => query('delete from secrets'), { erasing: ['secrets'] });
  expect(logBytes()).toBe(0);
  expect(readFileSync(file).includes('a voice of mine')).toBe(false);
  await store.close();
});

test('while another holds the write lock, rows are read, the event loop turns, and the write is done afterwards', async () => {
  const file = newFile();
  const store = await openSqlite(file);
  await store.query('create table t (id bigint)');
  const other = new Database(file);
  other.exec('begin immediate');
  let isWritten = false;
  const written = Promise.all([
    store.query('insert into t values (1)'),
    store.transaction((rows) => rows.query('insert into t values (2)')),
  ]).then(() => {
    isWritten = true;
  });
  // The lock is released on this event loop: if it were blocked, the writes would fail.
  for (let i = 0; i < 20; i++) {
    expect(await store.query('select id from t')).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(isWritten).toBe(false);
  other.exec('commit');
  other.close();
  await written;
  expect(await store.query('select id from t order by id')).toEqual([{ id: 1 }, { id: 2 }]);
  await store.close();
});

test('statements beyond the bound of the cache still work', async () => {
  const store = await openSqlite(newFile());
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 250; i++) expect(await store.query(`select ${i} as i`)).toEqual([{ i }]);
  }
  await store.close();
});

test('four processes make one database at once and write to it at once; no row is lost', async () => {
  const file = newFile();
  const run = promisify(execFile);
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => run(process.execPath, [program, file, name, '200'])));
  const store = await openSqlite(file);
  expect(
    await store.query('select owner_id as name, count(*) as count from clips group by owner_id order by 1'),
  ).toEqual(['a', 'b', 'c', 'd'].map((name) => ({ name, count: 200 })));
  const taken = await store.query('select step from migrations order by step');
  expect(taken).toEqual(Array.from({ length: schemaSteps }, (_, i) => ({ step: i + 1 })));
  expect(await store.query('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  await store.close();
});

test('a store may be opened while another process writes without pause', async () => {
  const file = newFile();
  const child = fork(program, [file, 'busy', '1000000'], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  try {
    await once(child.stdout!, 'data');
    const store = await openSqlite(file);
    for (let i = 0; i < 20; i++) await store.query(`create table t${i} (id bigint)`);
    await store.close();
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
