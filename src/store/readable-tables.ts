// Checks that every table of the present schema is there and can be read. Nothing is changed.
import { tables } from './copy-database.ts';
import type { Rows } from './row-store.ts';

export async function checkTables(rows: Rows): Promise<void> {
  for (const { name } of tables) await rows.query(`select * from ${name} limit 1`);
}
