// `sonant db migrate|copy`: the database, brought up to this version by a job of its own, or moved to PostgreSQL.
import { existsSync } from 'node:fs';
import { copyDatabase } from '../store/copy-database.ts';
import { inspectStore, openStore, sqliteFileOf } from '../store/open-store.ts';
import { openSqlite } from '../store/sqlite.ts';
import { type Command, type CommandLine, formatTable, parseCommandArgs, UsageError } from './command.ts';

const options = { json: { type: 'boolean' } } as const;

export const dbCommand: Command = {
  name: 'db',
  summary: 'bring the database up, or move it to PostgreSQL',
  options,
  actions: ['migrate', 'copy'],
  help: () => `Usage: sonant db migrate [--json]
       sonant db copy [--json]

migrate makes the tables, or brings them to what this version needs. Every start does that too; it is for those who
let a job do it, with rights that the service need not have.

copy moves the rows of this installation from SQLite, the file sonant.db in the data folder, to the empty PostgreSQL
database of SONANT_DATABASE_URL, all of them or none, and compares the number and the hash of the rows of every table.
Stop the service first. Stored audio, models and secrets stay in the data folder, which is still needed.

  --json   print JSON, for programs
`,
  async run(line) {
    const { args } = line;
    const { values, positionals } = parseCommandArgs({ args, options, allowPositionals: true });
    const [action, ...rest] = positionals;
    if (rest.length > 0 || (action !== 'migrate' && action !== 'copy'))
      throw new UsageError('the command is sonant db migrate or sonant db copy');
    await (action === 'migrate' ? migrate : copy)(line, values.json ?? false);
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
  if (config.databaseUrl === '')
    throw new UsageError('set SONANT_DATABASE_URL to the database that it is to be moved to');
  const file = sqliteFileOf(config);
  if (!existsSync(file)) throw new UsageError(`there is no ${file} to be moved`);
  await using opened = new AsyncDisposableStack();
  const from = await openSqlite(file, { isExclusive: true });
  opened.defer(() => from.close());
  const to = await openStore(config);
  opened.defer(() => to.close());
  const copied = await copyDatabase(from, to);
  const rows = copied.map(({ name, rows, sha256 }) => ({ table: name, rows, sha256 }));
  const table = formatTable([['TABLE', 'ROWS', 'SHA-256'], ...rows.map((row) => Object.values(row).map(String))]);
  print(isJson ? JSON.stringify(rows, null, 2) : `${table}\n\nAll of it is in PostgreSQL now, as it was in ${file}.`);
}
