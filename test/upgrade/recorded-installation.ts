// Records what leaveInstallation left, in an archive with the database as SQL, and unpacks such a record for a test:
// with all times moved to now, and webhooks to a receiver of the test. By then, leases of the killed process are over.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import pg from 'pg';
import type { Left } from './left-installation.ts';

interface Recorded extends Left {
  receiver: string;
  leftAtMs: number;
}

/** Longer than any lease. */
const leaseMsMax = 60_000;
const archiveOf = (name: string) => join(import.meta.dirname, `left-on-${name}.tar.gz`);
const names = { sql: 'database.sql', left: 'left.json', database: 'sonant.db' };

export function record(name: string, dataDir: string, left: Recorded, databaseUrl: string | undefined): void {
  const ofSqlite = (command: string) => execFileSync('sqlite3', [join(dataDir, names.database), command]).toString();
  const sql = databaseUrl
    ? execFileSync('pg_dump', ['--inserts', '--no-owner', '--no-privileges', databaseUrl]).toString()
    : `${ofSqlite('.dump')}pragma application_id = ${ofSqlite('pragma application_id')};`;
  // psql's own commands are no SQL.
  writeFileSync(join(dataDir, names.sql), sql.replace(/^\\.*\n/gm, ''));
  writeFileSync(join(dataDir, names.left), JSON.stringify(left, null, 2));
  for (const end of ['', '-wal', '-shm']) rmSync(join(dataDir, names.database + end), { force: true });
  execFileSync('tar', ['-czf', archiveOf(name), '--exclude=./models', '-C', dataDir, '.']);
}

/** Unpacks the record `name` into the folder and into the database, by default SQLite in the folder. */
export async function unpack(name: string, dataDir: string, receiver: string, databaseUrl?: string): Promise<Recorded> {
  execFileSync('tar', ['-xzf', archiveOf(name), '-C', dataDir]);
  const left: Recorded = JSON.parse(readFileSync(join(dataDir, names.left), 'utf8'));
  const [before, after] = [left.receiver, receiver].map((url) => new URL(url).host) as [string, string];
  const sql = readFileSync(join(dataDir, names.sql), 'utf8').replaceAll(before, after);
  const laterMs = Date.now() - leaseMsMax - left.leftAtMs;
  const shift = (table: string, column: string) =>
    `update ${table} set ${column} = ${column} + ${laterMs} where ${column} > 1000000000000`;
  if (databaseUrl === undefined) {
    const database = new Database(join(dataDir, names.database));
    database.exec(sql);
    const columns = `select m.name as "table", p.name as "column" from sqlite_master m, pragma_table_info(m.name) p
      where m.type = 'table' and ${isTime('p.name')}`;
    for (const { table, column } of database.prepare(columns).all() as { table: string; column: string }[])
      database.exec(shift(table, column));
    database.close();
    return left;
  }
  for (const run of [sql, ''].map((text) => async (client: pg.Client) => {
    if (text) return void (await client.query(text));
    const columns = `select table_name as "table", column_name as "column" from information_schema.columns
      where table_schema = 'public' and ${isTime('column_name')}`;
    for (const { table, column } of (await client.query(columns)).rows) await client.query(shift(table, column));
  })) {
    // A dump changes the settings of its connection.
    const client = new pg.Client(databaseUrl);
    await client.connect();
    await run(client);
    await client.end();
  }
  return left;
}

const isTime = (name: string) =>
  `(${['at', 'until', 'before'].map((end) => `${name} like '%${end}_ms'`).join(' or ')})`;
