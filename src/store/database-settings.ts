// The settings of the database: where rows are kept, and how PostgreSQL is to be used where that is it.
import { flagSetting, integerSetting, textSetting } from '../setting.ts';

export const databaseSettings = {
  databaseUrl: textSetting({
    name: 'SONANT_DATABASE_URL',
    help: 'PostgreSQL database for rows, as postgres://user:password@host/name; default: the file sonant.db in the data folder',
    allowed: 'a URL that begins with postgres://',
    fallback: '',
    isAllowed: (given) => given === '' || /^postgres(ql)?:\/\/./.test(given),
    secret: true,
  }),
  databasePool: integerSetting({
    name: 'SONANT_DATABASE_POOL',
    help: 'Connections to PostgreSQL that a process may have, besides one that listens',
    min: 1,
    max: 1000,
    fallback: 10,
  }),
  databaseStatementMs: integerSetting({
    name: 'SONANT_DATABASE_STATEMENT_MS',
    help: 'Milliseconds that PostgreSQL may take for a statement',
    min: 100,
    max: 600_000,
    fallback: 5_000,
  }),
  isDatabasePooled: flagSetting({
    name: 'SONANT_DATABASE_PGBOUNCER',
    help: 'The database is reached through PgBouncer or the like: nothing is kept in a session, and nothing is listened for',
  }),
};
