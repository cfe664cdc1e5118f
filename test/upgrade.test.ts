// Tests the upgrade from the last version with deeper keys than an account and its keys: a data folder with SQLite, and
// one with PostgreSQL, as its killed process left them (recorded by `npm run soak upgrade` with RECORD=1).
import { afterAll, onTestFinished, test } from 'vitest';
import { newFolder } from './new-folder.ts';
import { startPostgres } from './platform/store/postgres-server.ts';
import { openService } from './soak/open-service.ts';
import { expectAllThere, openReceiver, settingsOf } from './upgrade/left-installation.ts';
import { unpack } from './upgrade/recorded-installation.ts';

const server = await startPostgres();
afterAll(() => server?.stop());

/** The service may start on a busy machine. */
const timeout = 240_000;

async function upgrade(name: string, databaseUrl?: string): Promise<void> {
  const dataDir = newFolder();
  const receiver = await openReceiver();
  onTestFinished(receiver.close);
  const left = await unpack(name, dataDir, receiver.url, databaseUrl);
  const service = await openService({ settings: settingsOf(databaseUrl), left: { dataDir, key: left.keys[0]!.key } });
  onTestFinished(service.stop);
  await expectAllThere(service, left, receiver);
}

test('on SQLite, keys, clips, lexicons, jobs and webhooks are there, and no key has more rights', { timeout }, () =>
  upgrade('sqlite'),
);
test.skipIf(server === undefined)('on PostgreSQL too', { timeout }, async () =>
  upgrade('postgres', await server!.createDatabase()),
);
