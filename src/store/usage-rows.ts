// The table `usage`: what each key has had spoken, by voice and by day (UTC). What is added is added to what is there.
import type { KeyRange } from './api-key-rows.ts';
import type { RowStore, Rows } from './row-store.ts';

export interface Spoken {
  keyId: string;
  voiceId: string;
  /** Such as "2026-11-21", UTC. */
  day: string;
  requests: number;
  characters: number;
  audioMs: number;
}

export const usageGroups = ['key', 'voice', 'day'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageAsked {
  /** Whose keys. */
  range: KeyRange;
  /** The first day and the last, both included. */
  from: string;
  to: string;
  groupBy: UsageGroup;
  limit: number;
}

export interface UsageSum extends Pick<Spoken, 'requests' | 'characters' | 'audioMs'> {
  /** The id of the key or the voice, or the day. */
  group: string;
}

export interface UsageRows {
  /** All of it or nothing. */
  addAll(spoken: readonly Spoken[]): Promise<void>;
  /** Of all keys of the owner, those that have been replaced among them. */
  charactersSince(ownerId: string, day: string): Promise<number>;
  /** Days in their order; keys and voices with the most characters first. */
  sum(asked: UsageAsked): Promise<UsageSum[]>;
}

const columnOf: Readonly<Record<UsageGroup, string>> = { key: 'u.key_id', voice: 'u.voice_id', day: 'u.day' };
const sums = `cast(sum(u.requests) as bigint) as "requests", cast(sum(u.characters) as bigint) as "characters",
  cast(sum(u.audio_ms) as bigint) as "audioMs"`;

const orderOf = ({ keyId, day, voiceId }: Spoken) => `${keyId} ${day} ${voiceId}`;

async function addOne(rows: Rows, spoken: Spoken): Promise<void> {
  const { keyId, voiceId, day, requests, characters, audioMs } = spoken;
  const sql = `insert into usage (key_id, voice_id, day, requests, characters, audio_ms)
    values ($1, $2, $3, $4, $5, $6)
    on conflict (key_id, day, voice_id) do update set requests = usage.requests + excluded.requests,
      characters = usage.characters + excluded.characters, audio_ms = usage.audio_ms + excluded.audio_ms`;
  await rows.query(sql, keyId, voiceId, day, requests, characters, audioMs);
}

export function createUsageRows(store: RowStore): UsageRows {
  return {
    async addAll(all) {
      const [first] = all;
      if (!first) return;
      if (all.length === 1) return addOne(store, first);
      // In an order that all keep to, so that none of two waits for the other.
      const inOrder = all.toSorted((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
      await store.transaction(
        async (rows) => {
          for (const one of inOrder) await addOne(rows, one);
        },
        { blind: true },
      );
    },
    async charactersSince(ownerId, day) {
      const sql = `select coalesce(sum(u.characters), 0) as characters from usage u
        join api_keys k on k.key_id = u.key_id where k.owner_id = $1 and u.day >= $2`;
      const [row] = await store.query<{ characters: number }>(sql, ownerId, day);
      return Number(row!.characters);
    },
    sum({ range, from, to, groupBy, limit }) {
      const column = columnOf[groupBy];
      const order = groupBy === 'day' ? '1' : '3 desc, 1';
      const sql = `select ${column} as "group", ${sums} from usage u join api_keys k on k.key_id = u.key_id
        where u.day >= $1 and u.day <= $2 and (k.path >= $3 and k.path < $4 or k.key_id = $5)
        group by ${column} order by ${order} limit $6`;
      const { path, ownKeyId = '' } = range;
      return store.query(sql, from, to, path, `${path}~`, ownKeyId, limit);
    },
  };
}
