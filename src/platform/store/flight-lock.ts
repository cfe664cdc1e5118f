// Locks that replicas share through PostgreSQL. A waiter tries again when a lock for which a replica waits is released,
// and periodically, because the lock of a dead holder expires without a notification. While the database is
// unreachable, every caller gets the lock at once, and holders do not notice a lost lock, so work may be done twice.
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { hasReason } from '../errors.ts';
import type { RowStore, Rows } from './row-store.ts';

interface FlightLockOptions {
  rows: Rows;
  listen: RowStore['listen'];
  /** How long a lock lasts without renewal. */
  leaseMs?: number;
}

const usualLeaseMs = 3_000;

const takeSql = `insert into flights as f (name, holder, until_us, is_waited)
  values ($1, $2, sonant_now_us() + $3, false) on conflict (name) do update set
    holder = case when f.until_us < sonant_now_us() then excluded.holder else f.holder end,
    until_us = case when f.until_us < sonant_now_us() then excluded.until_us else f.until_us end,
    is_waited = true
  returning holder`;
const renewSql = 'update flights set until_us = sonant_now_us() + $3 where name = $1 and holder = $2';
const releaseSql = `with released as (delete from flights where name = $1 and holder = $2 returning is_waited)
  select pg_notify('sonant', 'flights') from released where is_waited`;

/**
 * Returns a function that waits for the lock of a key and resolves with a function that releases the lock. The wait
 * rejects when the signal aborts.
 */
export function createFlightLock({ rows, listen, leaseMs = usualLeaseMs }: FlightLockOptions) {
  const released = new EventEmitter().setMaxListeners(0);
  listen('flights', () => released.emit('released'));

  const tryTake = async (name: string, holder: string): Promise<boolean> => {
    try {
      const [row] = await rows.query<{ holder: string }>(takeSql, name, holder, leaseMs * 1000);
      return row!.holder === holder;
    } catch (error) {
      if (hasReason(error, 'storage_unavailable')) return true;
      throw error;
    }
  };

  return async (name: string, signal: AbortSignal): Promise<() => void> => {
    const holder = randomUUID();
    for (;;) {
      signal.throwIfAborted();
      // Listens before the attempt, so that no notification is missed.
      const tried = new AbortController();
      const until = AbortSignal.any([signal, tried.signal, AbortSignal.timeout(leaseMs / 4)]);
      const next = once(released, 'released', { signal: until }).catch(() => {});
      const isOurs = await tryTake(name, holder);
      if (isOurs) tried.abort();
      await next;
      if (isOurs) break;
    }
    const timer = setInterval(() => rows.query(renewSql, name, holder, leaseMs * 1000).catch(() => {}), leaseMs / 3);
    return () => {
      clearInterval(timer);
      // Errors are ignored, because a lock that is not released expires.
      rows.query(releaseSql, name, holder).catch(() => {});
    };
  };
}
