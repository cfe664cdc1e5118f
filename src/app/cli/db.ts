// `sonant db migrate|copy`: migrates the schema of the database, or copies SQLite to PostgreSQL.
import { existsSync } from 'node:fs';
import { copyDatabase } from '../../platform/store/copy-database.ts';
import { inspectStore, openStore, sqliteFileOf } from '../../platform/store/open-store.ts';
import { openSqlite } from '../../platform/store/sqlite.ts';
import {
  type Command,
  type CommandLine,
  findAction,
  formatTable,
  jsonFlag,
  onlyArgument,
  parseCommandArgs,
  UsageError,
} from './command.ts';

const options = { json: jsonFlag };

export const dbCommand: Command = {
  name: 'db',
  summary: 'migrate the database, or move it to PostgreSQL',
  examples: ['SONANT_DATABASE_URL=postgresql://127.0.0.1/sonant sonant db copy'],
  options,
  actions: ['migrate', 'copy'],
  usage: () => `Usage: sonant db migrate [--json]
       sonant db copy [--json]

migrate creates the tables, or migrates them to the schema of this version. Every start does this too. Run migrate as a
separate step if the service has no privilege to change the schema.

copy copies all rows from SQLite, the file sonant.db in the data folder, to the empty PostgreSQL database of
SONANT_DATABASE_URL, in one transaction, and compares the number and the hash of the rows of every table. Stop the
service first. Stored audio, models and secrets stay in the data folder, which is still needed.`,
  async run(line) {
    const { values, positionals } = parseCommandArgs({ args: line.args, options, allowPositionals: true });
    const usage = 'sonant db migrate or sonant db copy';
    const [act] = findAction({ migrate, copy }, [onlyArgument(positionals, usage)], usage);
    await act(line, values.json ?? false);
    return 0;
  },
};

async function migrate({ loadConfig, print }: CommandLine, isJson: boolean): Promise<void> {
  const config = loadConfig();
  const store = await openStore(config);
  await store.close();
  const found = await inspectStore(config);
  print(isJson ? JSON.stringify(found, null, 2) : found.message);
}

async function copy({ loadConfig, print }: CommandLine, isJson: boolean): Promise<void> {
  const config = loadConfig();
  if (config.databaseUrl === '') throw new UsageError('set SONANT_DATABASE_URL to the PostgreSQL database to copy to');
  const file = sqliteFileOf(config);
  if (!existsSync(file)) throw new UsageError(`${file} does not exist; check SONANT_DATA_DIR`);
  await using opened = new AsyncDisposableStack();
  const from = await openSqlite(file, { isExclusive: true });
  opened.defer(() => from.close());
  const to = await openStore(config);
  opened.defer(() => to.close());
  const copied = await copyDatabase(from, to);
  const rows = copied.map(({ name, rows, sha256 }) => ({ table: name, rows, sha256 }));
  const table = formatTable([['TABLE', 'ROWS', 'SHA-256'], ...rows.map((row) => Object.values(row).map(String))]);
  print(isJson ? JSON.stringify(rows, null, 2) : `${table}\n\nAll rows of ${file} are now in PostgreSQL.`);
}
