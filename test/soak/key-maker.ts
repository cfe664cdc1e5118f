// Runs as a process that creates API keys in a data folder, like `sonant key create`, until it is killed, and prints
// each when it is acknowledged: node key-maker.ts FOLDER
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiKeyRows } from '../../src/accounts/keys/api-key-rows.ts';
import { openSqlite } from '../../src/platform/store/sqlite.ts';
import { openKeys } from '../accounts/keys/open-keys.ts';

const store = await openSqlite(join(process.argv[2]!, 'sonant.db'));
const keyVerifier = openKeys({ rows: createApiKeyRows(store) });
for (;;) {
  writeSync(1, `${(await keyVerifier.create({})).key}\n`);
  await sleep(10);
}
