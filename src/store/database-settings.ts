// Settings of the database: SQLite or PostgreSQL, and how to connect to PostgreSQL.
import { flagSetting, integerSetting, textSetting } from '../runtime/setting.ts';

export const databaseSettings = {
  databaseUrl: textSetting({
    name: 'SONANT_DATABASE_URL',
    help: 'PostgreSQL database, as postgres://user:password@host/name; default: SQLite, the file sonant.db in the data folder',
    allowed: 'a URL that begins with postgres://',
    isAllowed: (given) => /^postgres(ql)?:\/\/./.test(given),
    secret: true,
  }),
  databasePool: integerSetting({
    name: 'SONANT_DATABASE_POOL',
    help: 'Connections to PostgreSQL that a process may open, besides one for LISTEN',
    min: 1,
    max: 1000,
    fallback: 10,
  }),
  databaseStatementMs: integerSetting({
    name: 'SONANT_DATABASE_STATEMENT_MS',
    help: 'Time limit of a PostgreSQL statement, in milliseconds',
    min: 100,
    max: 600_000,
    fallback: 5_000,
  }),
  isDatabasePooled: flagSetting({
    name: 'SONANT_DATABASE_PGBOUNCER',
    help: 'The database is reached through PgBouncer or another transaction pooler: no session state, no LISTEN',
  }),
};
