// Opens a SQLite database in a new folder, closed and removed after the test.
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { RowStore, Topic } from '../../../src/platform/store/row-store.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';
import { newFolder } from '../../new-folder.ts';

export async function openSqliteInFolder() {
  const folder = newFolder();
  const file = join(folder, 'sonant.db');
  const store = await openSqlite(file);
  onTestFinished(() => store.close());
  return { folder, file, store };
}

/** The store, and the topics that its transactions announce to other processes. Nobody hears of them. */
export function withNotices(store: RowStore) {
  const announced: Topic[] = [];
  const rows: RowStore = {
    query: (...asked) => store.query(...asked),
    now: () => store.now(),
    listen: (...asked) => store.listen(...asked),
    close: () => store.close(),
    transaction: (work, options) =>
      store.transaction(({ query }) => work({ query, notify: async (topic) => void announced.push(topic) }), options),
  };
  return { rows, announced };
}
