// The settings of the data folder and the database.
import { defaultDataDir } from '../runtime/installation.ts';
import { flagSetting, integerSetting, textSetting } from '../runtime/setting-types.ts';

export const storeSettings = {
  dataDir: textSetting({
    name: 'SONANT_DATA_DIR',
    // Its subfolder libraries/ contains code.
    explicitOnly: true,
    help: 'Folder for everything that Sonant stores; put your own voices into its subfolder voices/',
    allowed: 'a path',
    fallback: defaultDataDir(),
    isAllowed: (given) => given.trim() !== '',
  }),
  databaseUrl: textSetting({
    name: 'SONANT_DATABASE_URL',
    help: 'PostgreSQL database, as postgres://user:password@host/name; default: SQLite, the file sonant.db in the data folder',
    allowed: 'a URL that begins with postgres://',
    isAllowed: (given) => /^postgres(ql)?:\/\/./.test(given),
    secret: true,
  }),
  databasePool: integerSetting({
    name: 'SONANT_DATABASE_POOL',
    help: 'Most connections of a process to PostgreSQL, besides one for LISTEN and four for limits',
    range: [1, 1000],
    fallback: 10,
  }),
  databaseStatementMs: integerSetting({
    name: 'SONANT_DATABASE_STATEMENT_MS',
    help: 'Time limit of a PostgreSQL statement, in milliseconds',
    range: [100, 600_000],
    fallback: 5_000,
  }),
  isDatabasePooled: flagSetting({
    name: 'SONANT_DATABASE_PGBOUNCER',
    help: 'The database is reached through PgBouncer or another transaction pooler: no session state, no LISTEN',
  }),
};
