// The table `clips`: the index of stored audio. A clip lives until it expires, its owner deletes it, or its space is
// needed. Then its file is purged. The row is kept for a while, so that the clip's URL reports `audio_expired`.
import { createColumns, type RowStore, type RowValue, toNames } from '../platform/store/row-store.ts';

/** `unchecked` if no part of the audio could be judged. */
export type SpeechCheck = 'good' | 'suspect' | 'unchecked';

export interface ClipRow {
  clipId: string;
  /** Owner id of the key that created the clip and may delete it. */
  ownerId: string;
  /** Account whose quota the clip counts against. Null in rows of earlier versions, whose account is `ownerId`. */
  accountId: string | null;
  /** Hash of the request; null if the clip is not cached. */
  cacheKey: string | null;
  format: string;
  byteCount: number;
  seconds: number;
  /** Unicode code points of the text. */
  chars: number;
  sampleRateHz: number;
  voiceId: string;
  voiceName: string;
  /** The other voices in the clip, as `toVoiceList` writes them; null if there are none. */
  otherVoiceIds: string | null;
  /** Warnings, separated by spaces. */
  warnings: string;
  createdAtMs: number;
  /** Time at which the clip expires because of its age, or was deleted by its owner. */
  expiresAtMs: number;
  deletedAtMs: number | null;
  /** Last recorded time at which a reply linked to the clip; null if there is none. */
  usedAtMs: number | null;
  /** Fingerprint of the audio (see `createFingerprint`); null in rows of earlier versions. */
  fingerprint: string | null;
  /** The origin that the file states, as JSON; null if the file states none. */
  origin: string | null;
  /** Whether the audio says its text, as far as known; null in rows of earlier versions. */
  speechCheck: SpeechCheck | null;
}

const columns = createColumns<ClipRow>('clips', [
  ...toNames('clipId ownerId accountId cacheKey format byteCount seconds chars sampleRateHz voiceId voiceName'),
  ...toNames('otherVoiceIds warnings createdAtMs expiresAtMs deletedAtMs usedAtMs fingerprint origin speechCheck'),
]);

const toItem = (voiceId: string): string => ` ${encodeURIComponent(voiceId)} `;

/** Joins voice ids into one string in which SQL can search for an id. */
export const toVoiceList = (voiceIds: readonly string[]): string | null => voiceIds.map(toItem).join('') || null;

/** The ids of all voices that speak in the clip. */
export const voiceIdsOf = ({ voiceId, otherVoiceIds }: Pick<ClipRow, 'voiceId' | 'otherVoiceIds'>): string[] => [
  voiceId,
  ...(otherVoiceIds?.split(' ').filter(Boolean).map(decodeURIComponent) ?? []),
];

export type ClipRows = ReturnType<typeof createClipRows>;

interface ClipRowsOptions {
  /** Called when this process has expired clips early. Other processes are notified through the topic `clips`. */
  onEnded?(): void;
}

const isHeard = 'purged_at_ms is null and expires_at_ms > $3 and created_at_ms < $2';
const expireOfVoice = `update clips set deleted_at_ms = $3, expires_at_ms = $3 where clip_id in
  (select clip_id from (
    select clip_id from clips where voice_id = $1 and ${isHeard}
    union select clip_id from clips where other_voice_ids is not null
      and replace(other_voice_ids, $5, '') <> other_voice_ids and ${isHeard}
  ) as found limit $4) returning clip_id`;

export function createClipRows(store: RowStore, { onEnded = () => {} }: ClipRowsOptions = {}) {
  /** Runs a statement that expires clips and returns them. */
  const end: EndClips = async (sql, ...values) => {
    try {
      return await store.transaction(
        async (rows) => {
          const ended = await rows.query<never>(sql, ...values);
          if (ended.length > 0) await rows.notify('clips');
          return ended;
        },
        { blind: true },
      );
    } finally {
      // Other processes are notified even if it is unknown whether the store has made the change.
      onEnded();
    }
  };
  return {
    async add(clip: ClipRow): Promise<void> {
      await store.query(columns.insert, ...columns.valuesOf(clip));
    },
    /** Finds a clip, even if it has expired or been deleted. */
    async find(clipId: string): Promise<ClipRow | undefined> {
      const [clip] = await store.query<ClipRow>(`${columns.select} where clip_id = $1`, clipId);
      return clip;
    },
    /** Finds the newest clip with this audio, preferring clips of the account. Includes expired and deleted clips. */
    async findByFingerprint(fingerprint: string, accountId?: string): Promise<ClipRow | undefined> {
      const sql = `${columns.select} where fingerprint = $1
        order by case when ${account} = $2 then 0 else 1 end, created_at_ms desc limit 1`;
      return (await store.query<ClipRow>(sql, fingerprint, accountId ?? ''))[0];
    },
    /** Whether the clip exists and is neither expired nor deleted. */
    async isAlive(clipId: string): Promise<boolean> {
      const sql = 'select clip_id from clips where clip_id = $1 and deleted_at_ms is null and expires_at_ms > $2';
      return (await store.query(sql, clipId, Date.now())).length > 0;
    },
    /** Finds the owner's newest clip with this cache key that does not expire before `untilMs`. */
    async findCached(ownerId: string, cacheKey: string, untilMs: number): Promise<ClipRow | undefined> {
      const [clip] = await store.query<ClipRow>(
        `${columns.select} where owner_id = $1 and cache_key = $2 and expires_at_ms > $3
          order by created_at_ms desc limit 1`,
        ownerId,
        cacheKey,
        untilMs,
      );
      return clip;
    },
    /** Call before an owner deletes audio: if it is that of a job's chapter, speaking the chapter again is charged. */
    async chargeAgain(clipId: string, ownerId: string): Promise<void> {
      const sql = `update job_chapters set charged_segments = 0
        where audio_id = $1 and job_key in (select job_key from jobs where owner_id = $2)
        and exists (select 1 from clips where clip_id = $1 and owner_id = $2 and expires_at_ms > $3)`;
      await store.query(sql, clipId, ownerId, Date.now());
    },
    /** Expires the owner's clip now. Returns undefined if the owner has no such live clip. */
    async markDeleted(clipId: string, ownerId: string, nowMs: number): Promise<ClipRow | undefined> {
      const [clip] = await end<ClipRow>(
        `update clips set deleted_at_ms = $3, expires_at_ms = $3
          where clip_id = $1 and owner_id = $2 and expires_at_ms > $3 returning ${columns.returned}`,
        clipId,
        ownerId,
        nowMs,
      );
      return clip;
    },
    /** Expires at most `limit` clips that use this voice and are older than `madeBeforeMs`. Returns their number. */
    async expireOfVoice(voiceId: string, madeBeforeMs: number, limit: number): Promise<number> {
      return (await end(expireOfVoice, voiceId, madeBeforeMs, Date.now(), limit, toItem(voiceId))).length;
    },
    /** Records that a reply linked to the clip. Returns false if the clip has expired. */
    async markUsed(clipId: string): Promise<boolean> {
      const sql = 'update clips set used_at_ms = $2 where clip_id = $1 and expires_at_ms > $2 returning clip_id';
      return (await store.query(sql, clipId, Date.now())).length > 0;
    },
    ...createClipRemovalRows(store, end),
  };
}

/** The columns that are needed to remove a clip. */
export interface StoredClipRow {
  clipId: string;
  accountId: string;
  byteCount: number;
  expiresAtMs: number;
}

/** Selects expired clips, ordered by expiry, after a given clip. */
export interface ExpiredQuery {
  nowMs: number;
  limit: number;
  after?: Pick<StoredClipRow, 'expiresAtMs' | 'clipId'> | undefined;
  accountId?: string | undefined;
}

const account = 'coalesce(account_id, owner_id)';
/** Chapters of unfinished jobs. A job that loses them speaks them again, and might never end. */
const ofUnfinishedJob = `clip_id in (select audio_id from job_chapters where audio_id is not null
  and job_key in (select job_key from jobs where status in ('queued', 'running')))`;
const toRemove = `clip_id as "clipId", ${account} as "accountId", byte_count as "byteCount",
  expires_at_ms as "expiresAtMs"`;

/** Runs a statement that expires clips early, and notifies other processes. */
type EndClips = <Row extends object>(sql: string, ...values: readonly RowValue[]) => Promise<Row[]>;

function createClipRemovalRows(store: RowStore, end: EndClips) {
  return {
    /** Makes live clips expire at `untilMs`. */
    async expireAt(clipIds: readonly string[], untilMs: number): Promise<void> {
      const sql = 'update clips set expires_at_ms = $2 where clip_id = $1 and expires_at_ms > $3';
      for (const clipId of clipIds) await store.query(sql, clipId, untilMs, Date.now());
    },
    /** Lists expired clips whose files have not been purged yet, oldest first. */
    async listExpired({ nowMs, limit, after, accountId }: ExpiredQuery): Promise<StoredClipRow[]> {
      const sql = `select ${toRemove} from clips where purged_at_ms is null and expires_at_ms <= $1
        and (expires_at_ms > $2 or expires_at_ms = $2 and clip_id > $3)
        and (cast($4 as text) is null or ${account} = $4) order by expires_at_ms, clip_id limit $5`;
      const { expiresAtMs = -1, clipId = '' } = after ?? {};
      return store.query<StoredClipRow>(sql, nowMs, expiresAtMs, clipId, accountId ?? null, limit);
    },
    /** Lists the account's oldest live clips that no reply has linked to and that no unfinished job needs. */
    async listUnlinked(accountId: string, limit: number): Promise<StoredClipRow[]> {
      const sql = `select ${toRemove} from clips where purged_at_ms is null and used_at_ms is null and ${account} = $1
        and expires_at_ms > $2 and not ${ofUnfinishedJob} order by created_at_ms limit $3`;
      return store.query<StoredClipRow>(sql, accountId, Date.now(), limit);
    },
    /**
     * Lists the account's oldest live clips to which replies have linked, but not since `beforeMs`, and that no unfinished
     * job needs.
     */
    async listUnused(accountId: string, beforeMs: number, limit: number): Promise<StoredClipRow[]> {
      const sql = `select ${toRemove} from clips where purged_at_ms is null and used_at_ms is not null
        and ${account} = $1 and used_at_ms < $2 and expires_at_ms > $3 and not ${ofUnfinishedJob}
        order by created_at_ms limit $4`;
      return store.query<StoredClipRow>(sql, accountId, beforeMs, Date.now(), limit);
    },
    /** Expires a clip to free space, unless it has been used since `beforeMs`. Returns whether the clip has expired. */
    async expireUnused(clipId: string, beforeMs: number): Promise<boolean> {
      const sql = `update clips set deleted_at_ms = $2, expires_at_ms = $2 where clip_id = $1 and expires_at_ms > $2
        and (used_at_ms is null or used_at_ms < $3) and not ${ofUnfinishedJob} returning clip_id`;
      return (await end(sql, clipId, Date.now(), beforeMs)).length > 0;
    },
    /** Number and total size of the clips that have not been purged, per account. */
    async sumStored(): Promise<{ accountId: string; bytes: number; clips: number }[]> {
      const sql = `select ${account} as "accountId", cast(sum(byte_count) as bigint) as bytes, count(*) as clips
        from clips where purged_at_ms is null group by ${account}`;
      return store.query(sql);
    },
    /** Records that the files of these clips have been purged. */
    markPurged: (clipIds: readonly string[], nowMs: number): Promise<void> =>
      store.transaction(
        async (rows) => {
          const sql = 'update clips set purged_at_ms = $2 where clip_id = $1 and purged_at_ms is null';
          for (const clipId of clipIds.toSorted()) await rows.query(sql, clipId, nowMs);
        },
        { blind: true },
      ),
    /** Deletes at most `limit` rows whose files were purged before `beforeMs`, oldest first. Returns their number. */
    async deletePurged(beforeMs: number, limit: number): Promise<number> {
      const sql = `delete from clips where clip_id in
        (select clip_id from clips where purged_at_ms < $1 order by purged_at_ms limit $2) returning clip_id`;
      return (await store.query(sql, beforeMs, limit)).length;
    },
    /** Deletes at most `limit` rows of purged clips, except the newest `count`. Returns their number. */
    async deletePurgedBeyond(count: number, limit: number): Promise<number> {
      const sql = `delete from clips where clip_id in (select clip_id from clips where purged_at_ms is not null
        order by purged_at_ms desc limit $2 offset $1) returning clip_id`;
      return (await store.query(sql, count, limit)).length;
    },
  };
}
