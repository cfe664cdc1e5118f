// Creates the options for a PostgreSQL connection: timeouts and type parsers. A transaction pooler does not keep
// session settings, so each transaction behind a pooler sets its own timeouts.
import pg from 'pg';

export interface PostgresOptions {
  url: string;
  connectionsMax?: number;
  /** Timeout of a statement. */
  statementMs?: number;
  /** Whether connections go through a pooler such as PgBouncer. */
  isPooled?: boolean;
}

/** Timeout for a new connection, or for a free connection of the pool; never longer than the statement timeout. */
const connectMsMax = 3_000;
/** Extra time for the server to report a statement timeout itself, before the connection is dropped. */
const graceMs = 500;
/** How long a transaction may hold locks while its process is idle. */
const idleInTransactionMsMax = 10_000;
const keepAliveAfterMs = 10_000;

const { INT8, NUMERIC } = pg.types.builtins;
/** Counts, sums and epoch milliseconds are read as numbers, as in SQLite; all stay below 2^53. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: string) =>
  oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as 'text');

export function toClientConfig({ url, statementMs = 5_000, isPooled = false }: PostgresOptions): pg.ClientConfig {
  return {
    connectionString: url,
    fallback_application_name: 'sonant',
    types: { getTypeParser },
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    connectionTimeoutMillis: Math.min(connectMsMax, statementMs),
    // Ends a query if the server does not respond at all.
    query_timeout: statementMs + graceMs,
    ...(!isPooled && {
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: idleInTransactionMsMax,
    }),
  };
}

/** SQL with which a transaction behind a pooler sets its timeouts. */
export const toTransactionLimits = ({ statementMs = 5_000 }: PostgresOptions): string =>
  `set local statement_timeout = ${statementMs};
   set local idle_in_transaction_session_timeout = ${idleInTransactionMsMax}`;

/** Describes the database without credentials. */
export function nameOf({ url }: PostgresOptions): string {
  const { host, port, database } = new pg.Client({ connectionString: url });
  return `PostgreSQL, ${database} at ${host}:${port}`;
}
