// How a connection to PostgreSQL is set up: its limits of time, and the values that it answers. Behind a pooler, which
// gives each transaction whatever connection is free, nothing may be set for a session; there, transactions set it.
import pg from 'pg';

export interface PostgresOptions {
  url: string;
  connectionsMax?: number;
  /** How long a statement may take. */
  statementMs?: number;
  /** Whether a pooler such as PgBouncer stands between. */
  isPooled?: boolean;
}

/** Until a connection is there, or one of the pool is free; never longer than a statement may take. */
const connectMsMax = 3_000;
/** What the server has to say so by itself when a statement takes too long, before the connection is given up. */
const graceMs = 500;
/** How long a transaction may hold what it holds while its process does nothing about it. */
const idleInTransactionMsMax = 10_000;
const keepAliveAfterMs = 10_000;

const { INT8, NUMERIC } = pg.types.builtins;
/** Counts, sums and epoch milliseconds are numbers, as SQLite answers them; all stay below 2^53. */
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
    // For a server that does not even answer.
    query_timeout: statementMs + graceMs,
    ...(!isPooled && {
      statement_timeout: statementMs,
      idle_in_transaction_session_timeout: idleInTransactionMsMax,
    }),
  };
}

/** What a transaction sets for itself where its session cannot be set up. */
export const toTransactionLimits = ({ statementMs = 5_000 }: PostgresOptions): string =>
  `set local statement_timeout = ${statementMs};
   set local idle_in_transaction_session_timeout = ${idleInTransactionMsMax}`;

/** Which database it is, without who may use it. */
export function nameOf({ url }: PostgresOptions): string {
  const { host, port, database } = new pg.Client({ connectionString: url });
  return `PostgreSQL, ${database} at ${host}:${port}`;
}
