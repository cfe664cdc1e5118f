// The removal of clips from the table `clips`: which are expired, which are the oldest of an account, what all of them
// take, and the end of their rows. A clip is expired first, then its file is purged, and its row is deleted later.
import type { RowStore, RowValue } from './row-store.ts';

/** What is to be known of a clip to remove it. */
export interface StoredClipRow {
  clipId: string;
  accountId: string;
  byteCount: number;
  expiresAtMs: number;
}

/** Which expired clips, in the order of their ends, beginning after one. */
export interface ExpiredQuery {
  nowMs: number;
  limit: number;
  after?: Pick<StoredClipRow, 'expiresAtMs' | 'clipId'> | undefined;
  accountId?: string | undefined;
}

const account = 'coalesce(account_id, owner_id)';
const toRemove = `clip_id as "clipId", ${account} as "accountId", byte_count as "byteCount",
  expires_at_ms as "expiresAtMs"`;

/** Runs a statement that ends clips before their time, and makes that known. */
export type EndClips = <Row extends object>(sql: string, ...values: readonly RowValue[]) => Promise<Row[]>;

export function createClipRemovalRows(store: RowStore, end: EndClips) {
  return {
    /** Has living clips expire then. */
    async expireAt(clipIds: readonly string[], untilMs: number): Promise<void> {
      const sql = 'update clips set expires_at_ms = $2 where clip_id = $1 and expires_at_ms > $3';
      for (const clipId of clipIds) await store.query(sql, clipId, untilMs, Date.now());
    },
    /** Expired clips whose files are not purged yet, oldest first. */
    async listExpired({ nowMs, limit, after, accountId }: ExpiredQuery): Promise<StoredClipRow[]> {
      const sql = `select ${toRemove} from clips where purged_at_ms is null and expires_at_ms <= $1
        and (expires_at_ms > $2 or expires_at_ms = $2 and clip_id > $3)
        and (cast($4 as text) is null or ${account} = $4) order by expires_at_ms, clip_id limit $5`;
      const { expiresAtMs = -1, clipId = '' } = after ?? {};
      return store.query<StoredClipRow>(sql, nowMs, expiresAtMs, clipId, accountId ?? null, limit);
    },
    /** The account's oldest clips that live and that no request was answered with a link to. */
    async listUnlinked(accountId: string, limit: number): Promise<StoredClipRow[]> {
      const sql = `select ${toRemove} from clips where purged_at_ms is null and used_at_ms is null and ${account} = $1
        and expires_at_ms > $2 order by created_at_ms limit $3`;
      return store.query<StoredClipRow>(sql, accountId, Date.now(), limit);
    },
    /** The account's oldest clips that live, and that no request since `beforeMs` was answered with a link to. */
    async listUnused(accountId: string, beforeMs: number, limit: number): Promise<StoredClipRow[]> {
      const sql = `select ${toRemove} from clips where purged_at_ms is null and used_at_ms is not null
        and ${account} = $1 and used_at_ms < $2 and expires_at_ms > $3 order by created_at_ms limit $4`;
      return store.query<StoredClipRow>(sql, accountId, beforeMs, Date.now(), limit);
    },
    /** Expires a clip to make room, unless it was used since `beforeMs`; returns whether it did. */
    async expireUnused(clipId: string, beforeMs: number): Promise<boolean> {
      const sql = `update clips set deleted_at_ms = $2, expires_at_ms = $2 where clip_id = $1 and expires_at_ms > $2
        and (used_at_ms is null or used_at_ms < $3) returning clip_id`;
      return (await end(sql, clipId, Date.now(), beforeMs)).length > 0;
    },
    /** The bytes of all files that are not purged, and their number, by account. */
    async sumStored(): Promise<{ accountId: string; bytes: number; clips: number }[]> {
      const sql = `select ${account} as "accountId", cast(sum(byte_count) as bigint) as bytes, count(*) as clips
        from clips where purged_at_ms is null group by ${account}`;
      return store.query(sql);
    },
    /** Records that their files are purged. */
    markPurged: (clipIds: readonly string[], nowMs: number): Promise<void> =>
      store.transaction(
        async (rows) => {
          const sql = 'update clips set purged_at_ms = $2 where clip_id = $1 and purged_at_ms is null';
          for (const clipId of clipIds.toSorted()) await rows.query(sql, clipId, nowMs);
        },
        { blind: true },
      ),
    /** Deletes at most `limit` rows whose files were purged before then, oldest first; returns how many. */
    async deletePurged(beforeMs: number, limit: number): Promise<number> {
      const sql = `delete from clips where clip_id in
        (select clip_id from clips where purged_at_ms < $1 order by purged_at_ms limit $2) returning clip_id`;
      return (await store.query(sql, beforeMs, limit)).length;
    },
    /** Deletes at most `limit` rows of purged clips other than the newest `count`; returns how many. */
    async deletePurgedBeyond(count: number, limit: number): Promise<number> {
      const sql = `delete from clips where clip_id in (select clip_id from clips where purged_at_ms is not null
        order by purged_at_ms desc limit $2 offset $1) returning clip_id`;
      return (await store.query(sql, count, limit)).length;
    },
  };
}
