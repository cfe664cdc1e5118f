// Limits and locks that replicas share, in unlogged tables of PostgreSQL (shared-limits.sql). A call is one round trip.
import type { Rows } from './row-store.ts';

/** What this process saw last of the rate limit of an owner, which restores a limit that the database has lost. */
export interface SeenLimit {
  bornUs: number;
  fullAtUs: number;
}

export interface RequestOfOwner extends SeenLimit {
  ownerId: string;
  intervalUs: number;
  /** Time in which the full burst becomes available. */
  capacityUs: number;
}

/** What this process holds of an owner, and the limits of the owner. */
export interface HeldOfOwner extends SeenLimit {
  ownerId: string;
  held: number;
  used: number;
  unrecorded: number;
  quota?: number | undefined;
  concurrency?: number | undefined;
  refundUs?: number;
}

/** What a synthesis takes. One that `waits` is refused if no slot is free. */
export interface Taking {
  chars: number;
  slots: number;
  waits: boolean;
}

interface HoldOptions {
  takes: readonly Taking[];
  replica: string;
  revision: number;
  leaseUs: number;
  /** The month of `used` and `unrecorded`, such as "2026-11". */
  month: string;
}

export interface OwnerReply extends SeenLimit {
  /** Characters of the month; null if the ledger must be read first. */
  spent: number | null;
}

export interface LimitReply {
  outcome: 'taken' | 'rejected' | 'ended' | 'late' | 'stale' | 'unread' | 'characters' | 'full';
  nowUs: number;
  /** Index of the owner that decided the outcome; 0 is the owner of the key itself. */
  decider: number;
  /** Number of syntheses that got what they take. The outcome is that of the next one. */
  granted: number;
  /** Empty if the call changed nothing. */
  owners: readonly OwnerReply[];
}

export type SharedLimitRows = ReturnType<typeof createSharedLimitRows>;

const reply = `outcome, now_us as "nowUs", decider, born as "bornUs", full_at as "fullAtUs", spent`;
const takeRequestSql = `select ${reply}, 0 as granted from sonant_take_request(cast($1 as jsonb), $2, $3)`;
const holdSql = `select ${reply}, granted from sonant_hold(cast($1 as jsonb), cast($2 as jsonb), $3, $4, $5, $6, $7)`;
const setSpentSql = 'select spent, now_us as "nowUs" from sonant_set_spent($1, $2, $3, $4, $5)';
const runningSql = `select coalesce(sum(held), 0) as running from holdings
  where owner_id = $1 and until_us > coalesce(cast($2 as bigint), sonant_now_us())`;
/** Deletes what equals a missing row: limits that were not used for two minutes, by nobody who holds anything. */
const sweepSql = `with idle as (
    delete from limits where owner_id in (select owner_id from limits as l
      where full_at_us < sonant_now_us() - 120000000 and not exists (select from holdings as h
        where h.owner_id = l.owner_id and h.until_us > sonant_now_us() - 120000000)
      for update skip locked)
    returning owner_id)
  delete from holdings where owner_id in (select owner_id from idle)`;

/** `now` is the clock in epoch milliseconds. Default: the clock of the database. */
export function createSharedLimitRows(rows: Rows, now?: () => number) {
  const clock = () => (now ? Math.round(now() * 1000) : null);
  type ReplyRow = Omit<LimitReply, 'owners'> & OwnerReply;
  const toReply = (all: readonly ReplyRow[]): LimitReply => ({
    ...all[0]!,
    owners: all[0]!.bornUs === null ? [] : all,
  });

  return {
    /** Takes a request of each owner, unless the key is no longer valid. */
    takeRequest: async (owners: readonly RequestOfOwner[], keyId = ''): Promise<LimitReply> =>
      toReply(await rows.query(takeRequestSql, JSON.stringify(owners), keyId, clock())),
    /** States what this process holds, and takes what syntheses need. */
    async hold(owners: readonly HeldOfOwner[], options: HoldOptions): Promise<LimitReply> {
      const { takes, replica, revision, leaseUs, month } = options;
      const values = [JSON.stringify(takes), replica, revision, leaseUs, month, clock()];
      return toReply(await rows.query(holdSql, JSON.stringify(owners), ...values));
    },
    /** Sets and returns the characters of the month; null if what was read of the ledger at `atUs` is too old. */
    async setSpent(ownerId: string, read: { month: string; chars: number; atUs: number }) {
      const values = [ownerId, read.month, read.chars, read.atUs, clock()];
      return (await rows.query<{ spent: number | null; nowUs: number }>(setSpentSql, ...values))[0]!;
    },
    running: async (ownerId: string): Promise<number> =>
      (await rows.query<{ running: number }>(runningSql, ownerId, clock()))[0]!.running,
    async sweep(): Promise<void> {
      await rows.query(sweepSql);
      await rows.query('delete from flights where until_us < sonant_now_us() - 120000000');
    },
  };
}
