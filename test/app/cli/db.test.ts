// Tests `sonant db`: an installation moves from SQLite to PostgreSQL completely, or not at all.
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type CommandLine, commandLine } from '../../../src/app/cli/command.ts';
import { configCommand } from '../../../src/app/cli/config.ts';
import { dbCommand } from '../../../src/app/cli/db.ts';
import { doctorCommand } from '../../../src/app/cli/doctor.ts';
import { loadConfig } from '../../../src/app/config.ts';
import { registry } from '../../../src/engines/registry.ts';
import { tables } from '../../../src/platform/store/copy-database.ts';
import { inspectStore } from '../../../src/platform/store/open-store.ts';
import { openPostgres } from '../../../src/platform/store/postgres.ts';
import type { RowStore } from '../../../src/platform/store/row-store.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { newFolder } from '../../new-folder.ts';
import { startPostgres } from '../../platform/store/postgres-server.ts';

const server = await startPostgres();
afterAll(() => server?.stop());
const there = test.skipIf(server === undefined);

/** A data folder, an empty database, and the command line with both. */
async function openTestServices() {
  const folder = newFolder();
  const file = join(folder, 'sonant.db');
  const url = await server!.createDatabase();
  const secrets = { SONANT_SECRET: 's'.repeat(32), SONANT_MASTER_KEY: 'm'.repeat(32) };
  const env = { SONANT_DATA_DIR: folder, SONANT_DATABASE_URL: url, ...secrets };
  const config = loadConfig({ env, folder, engines: registry });
  const run = async (command: typeof dbCommand, ...args: string[]) => {
    let said = '';
    const print = (text: string) => {
      said += text;
    };
    await command.run({ ...commandLine, args, loadConfig: () => config, print } as CommandLine);
    return said;
  };
  return { file, url, config, run };
}

/** Fills every table, most of them with more than a page of rows, with values of every kind. */
async function fill(store: RowStore): Promise<void> {
  for (const { name, pageRows = 210 } of tables) {
    const columns = await store.query<{ name: string; type: string; must: number }>(
      'select name, type, "notnull" + pk as must from pragma_table_info($1)',
      name,
    );
    const places = columns.map((_, i) => `$${i + 1}`).join(', ');
    const makeValue = (i: number) => (column: (typeof columns)[number]) => {
      if (column.must === 0 && i % 3 === 0) return null;
      if (column.type === 'bytea') return Buffer.from([i % 256, 0, 255]);
      if (column.type === 'double precision') return i / 7;
      return column.type === 'bigint' ? i * 2 ** 40 : `${i % 2 ? 'é' : 'Z'}_${i} '\n👋`;
    };
    await store.transaction(async (rows) => {
      for (let i = 0; i <= pageRows; i++)
        await rows.query(`insert into ${name} values (${places})`, ...columns.map(makeValue(i)));
    });
  }
}

const readAll = (store: RowStore) =>
  Promise.all(
    tables.map(async ({ name, key }) => {
      const rows = await store.query<Record<string, unknown>>(`select * from ${name} order by ${key.join(', ')}`);
      return rows.map((row) => Object.entries(row).map(([column, value]) => [column, plain(value)]));
    }),
  );
const plain = (value: unknown) => (value instanceof Uint8Array ? [...value] : value);

there('every row of every table arrives as it was, and comes only into an empty database', async () => {
  const { file, url, config, run } = await openTestServices();
  const sqlite = await openSqlite(file);
  await fill(sqlite);
  const before = await readAll(sqlite);
  const named = await sqlite.query<{ name: string }>(
    "select name from sqlite_master where type = 'table' and name <> 'migrations' order by name",
  );
  expect(tables.map(({ name }) => name).sort()).toEqual(named.map(({ name }) => name));

  // The service or another process has the database open.
  await expect(run(dbCommand, 'copy')).rejects.toMatchObject({
    cause: { message: expect.stringContaining('another process has it open') },
  });
  await sqlite.close();
  expect((await inspectStore(config)).isReady).toBe(false);

  const printed = JSON.parse(await run(dbCommand, 'copy', '--json'));
  expect(printed.map(({ table, rows }: { table: string; rows: number }) => [table, rows])).toEqual(
    tables.map(({ name, pageRows = 210 }) => [name, pageRows + 1]),
  );
  const postgres = await openPostgres({ url });
  expect(await readAll(postgres)).toEqual(before);

  await expect(run(dbCommand, 'copy')).rejects.toMatchObject({ message: expect.stringContaining('not empty') });
  expect(await readAll(postgres)).toEqual(before);
  await postgres.close();
});

there('fractions in columns of integers, which SQLite keeps, are rounded', async () => {
  const { file, url, run } = await openTestServices();
  const sqlite = await openSqlite(file);
  await fill(sqlite);
  await sqlite.query('update jobs set expires_at_ms = 1790000000000.6, seconds = 0.6');
  await sqlite.query('update job_chapters set not_before_ms = 1790000000000.4 where chapter > 0');
  const before = await readAll(sqlite);
  await sqlite.close();
  await run(dbCommand, 'copy');
  const postgres = await openPostgres({ url });
  const rounded = JSON.parse(
    JSON.stringify(before)
      .replaceAll('1790000000000.6', '1790000000001')
      .replaceAll('1790000000000.4', '1790000000000'),
  );
  expect(await readAll(postgres)).toEqual(rounded);
  expect(await postgres.query('select distinct expires_at_ms as ms, seconds from jobs')).toEqual([
    { ms: 1_790_000_000_001, seconds: 0.6 },
  ]);
  await postgres.close();
});

there('what cannot arrive as it is leaves nothing behind', async () => {
  const { file, url, run } = await openTestServices();
  const sqlite = await openSqlite(file);
  await fill(sqlite);
  await sqlite.query("update tickets set sealed = 'a' || char(0) || 'b'");
  await sqlite.close();
  await expect(run(dbCommand, 'copy')).rejects.toMatchObject({
    message: 'The copied rows of tickets differ from the original rows. Nothing was copied.',
  });
  const postgres = await openPostgres({ url });
  expect((await readAll(postgres)).flat()).toEqual([]);
  await postgres.close();
});

there('doctor looks, migrate makes the tables, and both tell what there is; nobody prints the address', async () => {
  const { url, config, run } = await openTestServices();
  expect(await inspectStore(config)).toEqual({
    isReady: false,
    message: expect.stringMatching(/^PostgreSQL, sonant_test\w+ at .*its schema is 0 of \d/),
  });
  expect(await run(doctorCommand)).toMatch(/^absent +database .*^absent +voices/ms);
  expect(await inspectStore(config)).toMatchObject({ isReady: false });
  expect(await run(dbCommand, 'migrate')).toMatch(/is current$/);
  expect(await inspectStore(config)).toMatchObject({ isReady: true });
  const store = await openPostgres({ url });
  await store.query('alter table tickets rename to other');
  await expect(inspectStore(config)).rejects.toMatchObject({ cause: { message: /"tickets" does not exist/ } });
  await store.query('alter table other rename to tickets');
  await store.close();
  expect(await run(configCommand)).not.toContain('sonant_test');
  await expect(run(dbCommand, 'copy')).rejects.toThrow('does not exist');
  await expect(run(dbCommand, 'drop')).rejects.toThrow('usage: ');
});
