// Runs as a process that records usage as fast as it can, and prints acknowledged usage: node usage-writer.ts FILE
import { writeSync } from 'node:fs';
import { createUsageLedger, createUsageRows } from '../../../src/accounts/limits/usage-ledger.ts';
import { openSqlite } from '../../../src/platform/store/sqlite.ts';

const ledger = createUsageLedger(createUsageRows(await openSqlite(process.argv[2]!)), { onFault: console.error });
const spoken = { day: '2026-11-21', keyId: 'k', voiceId: 'v', requests: 1, characters: 7, audioMs: 11 };
for (;;) {
  await Promise.all([ledger.add(spoken), ledger.add({ ...spoken, voiceId: 'w' }), ledger.add(spoken)]);
  writeSync(1, '...');
}
