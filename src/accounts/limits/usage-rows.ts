// The table `usage`: requests, characters and audio of each key, by voice and by day (UTC).

import type { RowStore, Rows } from '../../platform/store/row-store.ts';
import type { KeyRange } from '../keys/api-key-rows.ts';

export interface UsageRow {
  keyId: string;
  voiceId: string;
  /** Day in UTC, such as "2026-11-21". */
  day: string;
  requests: number;
  characters: number;
  audioMs: number;
}

export const usageGroups = ['key', 'voice', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

interface UsageQuery {
  /** Keys to count, with all earlier and later rotations of the key `ownKeyId`. */
  range: KeyRange;
  /** First and last day, both inclusive. */
  from: string;
  to: string;
  groupBy: UsageGroup;
  limit: number;
}

export interface UsageSum extends Pick<UsageRow, 'requests' | 'characters' | 'audioMs'> {
  /** Id of the key, id of the voice, or day, depending on `groupBy`. */
  group: string;
}

const columnOf: Readonly<Record<UsageGroup, string>> = { key: 'u.key_id', voice: 'u.voice_id', day: 'u.day' };
const sums = `cast(sum(u.requests) as bigint) as "requests", cast(sum(u.characters) as bigint) as "characters",
  cast(sum(u.audio_ms) as bigint) as "audioMs"`;

const orderOf = ({ keyId, day, voiceId }: UsageRow) => `${keyId} ${day} ${voiceId}`;

/** Adds the numbers to the existing row. */
export async function addUsage(rows: Rows, spoken: UsageRow): Promise<void> {
  const { keyId, voiceId, day, requests, characters, audioMs } = spoken;
  const sql = `insert into usage (key_id, voice_id, day, requests, characters, audio_ms)
    values ($1, $2, $3, $4, $5, $6)
    on conflict (key_id, day, voice_id) do update set requests = usage.requests + excluded.requests,
      characters = usage.characters + excluded.characters, audio_ms = usage.audio_ms + excluded.audio_ms`;
  await rows.query(sql, keyId, voiceId, day, requests, characters, audioMs);
}

export type UsageRows = ReturnType<typeof createUsageRows>;

export function createUsageRows(store: RowStore) {
  return {
    /** Adds the numbers to the existing rows in one transaction. */
    async addAll(all: readonly UsageRow[]): Promise<void> {
      const [first] = all;
      if (!first) return;
      if (all.length === 1) return addUsage(store, first);
      // The order is fixed, so that two transactions cannot deadlock.
      const inOrder = all.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
      await store.transaction(
        async (rows) => {
          for (const one of inOrder) await addUsage(rows, one);
        },
        { blind: true },
      );
    },
    /** Sums the characters of all keys of the owner, including replaced keys, and of all keys that share its limits. */
    async charactersSince(ownerId: string, day: string): Promise<number> {
      const sqlAbove = 'select path || limited_by as above from api_keys where key_id = $1';
      const [owner] = await store.query<{ above: string }>(sqlAbove, ownerId);
      const above = `${owner?.above ?? ''}${ownerId}/`;
      const sql = `select coalesce(sum(u.characters), 0) as characters from usage u where u.day >= $2 and u.key_id in
        (select key_id from api_keys where owner_id = $1
          union select key_id from api_keys where path || limited_by >= $3 and path || limited_by < $4)`;
      const [row] = await store.query<{ characters: number }>(sql, ownerId, day, above, `${above}~`);
      return Number(row!.characters);
    },
    /** Returns sums by day in ascending order, or sums by key or voice with the most characters first. */
    sum({ range, from, to, groupBy, limit }: UsageQuery): Promise<UsageSum[]> {
      const column = columnOf[groupBy];
      const order = groupBy === 'day' ? '1' : '3 desc, 1';
      const sql = `select ${column} as "group", ${sums} from usage u join api_keys k on k.key_id = u.key_id
        where u.day >= $1 and u.day <= $2 and
          (k.path >= $3 and k.path < $4 or k.owner_id = (select owner_id from api_keys where key_id = $5))
        group by ${column} order by ${order} limit $6`;
      const { path, ownKeyId = '' } = range;
      return store.query(sql, from, to, path, `${path}~`, ownKeyId, limit);
    },
  };
}
