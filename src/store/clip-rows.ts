// The table `clips`: the index of stored audio. A clip lives until it expires or its owner deletes it; then its file
// is purged by the sweep; its row stays a while, so that its address can still say what became of it, and is forgotten.
import { createColumns } from './columns.ts';
import type { RowStore } from './row-store.ts';

export interface ClipRow {
  clipId: string;
  /** Who asked for it, and may delete it. */
  ownerId: string;
  /** What finds it for the same request; null where it is not to be found so. */
  cacheKey: string | null;
  format: string;
  byteCount: number;
  seconds: number;
  /** Unicode code points of the text. */
  chars: number;
  sampleRateHz: number;
  voiceId: string;
  voiceName: string;
  /** Separated by spaces. */
  warnings: string;
  createdAtMs: number;
  /** The moment it is gone, by age or by its owner's hand. */
  expiresAtMs: number;
  deletedAtMs: number | null;
}

export interface ClipRows {
  add(clip: Omit<ClipRow, 'deletedAtMs'>): Promise<void>;
  /** The clip, expired and deleted ones too. */
  find(clipId: string): Promise<ClipRow | undefined>;
  /** Whether there is such a clip, neither expired nor deleted. */
  isAlive(clipId: string): Promise<boolean>;
  /** The owner's newest clip for this request that will still be there at `untilMs`. */
  findCached(ownerId: string, cacheKey: string, untilMs: number): Promise<ClipRow | undefined>;
  /** Expires the owner's clip now; undefined if the owner has no such clip, or none any more. */
  markDeleted(clipId: string, ownerId: string, nowMs: number): Promise<ClipRow | undefined>;
  /** Expires clips of a voice that were made before then, at most `limit`, and answers how many. */
  expireOfVoice(voiceId: string, madeBeforeMs: number, limit: number): Promise<number>;
  /** Ids of expired clips whose files are still to be removed, the oldest first. */
  listExpired(nowMs: number, limit: number): Promise<string[]>;
  /** Notes that the files are removed. */
  markPurged(clipIds: readonly string[], nowMs: number): Promise<void>;
  /** Drops rows whose files were removed before then, at most `limit`, and answers how many. */
  forgetPurged(beforeMs: number, limit: number): Promise<number>;
}

const columns = createColumns<ClipRow>([
  'clipId',
  'ownerId',
  'cacheKey',
  'format',
  'byteCount',
  'seconds',
  'chars',
  'sampleRateHz',
  'voiceId',
  'voiceName',
  'warnings',
  'createdAtMs',
  'expiresAtMs',
  'deletedAtMs',
]);
const select = `select ${columns.selected} from clips`;

export function createClipRows(store: RowStore): ClipRows {
  return {
    async add(clip) {
      const sql = `insert into clips (${columns.names}) values (${columns.places})`;
      await store.query(sql, ...columns.valuesOf({ ...clip, deletedAtMs: null }));
    },
    async find(clipId) {
      const [clip] = await store.query<ClipRow>(`${select} where clip_id = $1`, clipId);
      return clip;
    },
    async isAlive(clipId) {
      const sql = 'select clip_id from clips where clip_id = $1 and expires_at_ms > $2';
      return (await store.query(sql, clipId, Date.now())).length > 0;
    },
    async findCached(ownerId, cacheKey, untilMs) {
      const [clip] = await store.query<ClipRow>(
        `${select} where owner_id = $1 and cache_key = $2 and expires_at_ms > $3
          order by created_at_ms desc limit 1`,
        ownerId,
        cacheKey,
        untilMs,
      );
      return clip;
    },
    async markDeleted(clipId, ownerId, nowMs) {
      const [clip] = await store.query<ClipRow>(
        `update clips set deleted_at_ms = $3, expires_at_ms = $3
          where clip_id = $1 and owner_id = $2 and expires_at_ms > $3 returning ${columns.selected}`,
        clipId,
        ownerId,
        nowMs,
      );
      return clip;
    },
    async expireOfVoice(voiceId, madeBeforeMs, limit) {
      const sql = `update clips set deleted_at_ms = $3, expires_at_ms = $3 where clip_id in
        (select clip_id from clips where voice_id = $1 and purged_at_ms is null and expires_at_ms > $3
          and created_at_ms < $2 limit $4) returning clip_id`;
      return (await store.query(sql, voiceId, madeBeforeMs, Date.now(), limit)).length;
    },
    async listExpired(nowMs, limit) {
      const sql = `select clip_id as "clipId" from clips where purged_at_ms is null and expires_at_ms <= $1
        order by expires_at_ms limit $2`;
      const clips = await store.query<{ clipId: string }>(sql, nowMs, limit);
      return clips.map(({ clipId }) => clipId);
    },
    markPurged: (clipIds, nowMs) =>
      store.transaction(
        async (rows) => {
          const sql = 'update clips set purged_at_ms = $2 where clip_id = $1 and purged_at_ms is null';
          for (const clipId of clipIds.toSorted()) await rows.query(sql, clipId, nowMs);
        },
        { blind: true },
      ),
    async forgetPurged(beforeMs, limit) {
      const sql = `delete from clips where clip_id in
        (select clip_id from clips where purged_at_ms < $1 limit $2) returning clip_id`;
      return (await store.query(sql, beforeMs, limit)).length;
    },
  };
}
