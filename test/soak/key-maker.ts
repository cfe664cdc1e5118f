// A process of its own that makes API keys in a data folder, as `sonant key create` does, until it is killed, and says
// each on standard output when it is acknowledged:
//     node key-maker.ts FOLDER
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiKeyRows } from '../../src/store/api-key-rows.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { openKeys } from '../access/open-keys.ts';

const store = await openSqlite(join(process.argv[2]!, 'sonant.db'));
const keyVerifier = openKeys({ rows: createApiKeyRows(store) });
for (;;) {
  writeSync(1, `${(await keyVerifier.create({})).key}\n`);
  await sleep(10);
}
