// Looks at a SQLite file without changing it: SQLite's own check of its pages, and that its schema can be read. The check
// reads the whole file and takes a second for some hundred megabytes.
import Database from 'better-sqlite3';
import { checkNewer, readSteps, schemaSteps } from './migrations.ts';
import { checkTables } from './readable-tables.ts';
import type { Rows } from './row-store.ts';

/** How long to wait for a process that migrates the file. */
const busyMsMax = 5_000;

/** The number of steps of its schema. Throws if it is damaged, or not a database of Sonant. */
export async function inspectSqlite(file: string): Promise<number> {
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: busyMsMax });
  try {
    const fault = database.pragma('quick_check(1)', { simple: true });
    if (fault !== 'ok') throw new Error(`it is damaged: ${String(fault).trim()}`);
    const rows: Rows = { query: async <Row extends object>(sql: string) => database.prepare(sql).all() as Row[] };
    const names = await rows.query<{ name: string }>("select name from sqlite_master where type = 'table'");
    // What a start that was killed left behind.
    if (names.length === 0) return 0;
    if (!names.some(({ name }) => name === 'migrations')) throw new Error('it is the database of another program');
    const steps = await readSteps(rows);
    if (steps > schemaSteps) await checkNewer(rows);
    if (steps >= schemaSteps) await checkTables(rows);
    return steps;
  } finally {
    database.close();
  }
}
