// Opens a SQLite database in a new folder, closed and removed after the test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openSqlite } from '../../src/store/sqlite.ts';

export async function openSqliteInFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-store-'));
  const store = await openSqlite(join(folder, 'sonant.db'));
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  return { folder, store };
}
