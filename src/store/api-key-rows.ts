// The table `api_keys`: who may speak. A row holds no key, only the part of it that finds the row and a hash of the
// whole. Rows are never removed: a revoked key stays, with the time of its end.
import { createColumns } from './columns.ts';
import type { RowStore, Rows } from './row-store.ts';

export interface ApiKeyRow {
  keyId: string;
  /** The open part of the key; no two rows have the same. */
  idPart: string;
  hash: Uint8Array;
  hashKind: 'sha256' | 'hmac-sha256';
  /** Who is charged, and owns the audio: the key itself, or the key that it stems from. */
  ownerId: string;
  name: string;
  /** Separated by spaces. */
  scopes: string;
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  lastUsedAtMs: number | null;
}

export interface ApiKeyUse {
  keyId: string;
  usedAtMs: number;
}

export interface ApiKeyRows {
  /** Adds the row, unless there is one with its id part; says whether it did. */
  add(row: ApiKeyRow): Promise<boolean>;
  /** Adds the row if it is the first ever; says whether it did. */
  addFirst(row: ApiKeyRow): Promise<boolean>;
  isEmpty(): Promise<boolean>;
  find(idPart: string): Promise<ApiKeyRow | undefined>;
  /** Whether there is such a key, neither revoked nor expired. */
  isInForce(keyId: string, nowMs: number): Promise<boolean>;
  /** The newest first; `beforeKeyId` is where the list before this one ended. */
  list(limit: number, beforeKeyId?: string): Promise<ApiKeyRow[]>;
  /** Ends the key, unless it has ended before, and answers the row, if there is one. */
  revoke(keyId: string, nowMs: number): Promise<ApiKeyRow | undefined>;
  noteUses(uses: readonly ApiKeyUse[]): Promise<void>;
}

const columns = createColumns<ApiKeyRow>([
  'keyId',
  'idPart',
  'hash',
  'hashKind',
  'ownerId',
  'name',
  'scopes',
  'createdAtMs',
  'expiresAtMs',
  'revokedAtMs',
  'lastUsedAtMs',
]);
const select = `select ${columns.selected} from api_keys`;

async function insert(rows: Rows, row: ApiKeyRow): Promise<boolean> {
  const sql = `insert into api_keys (${columns.names}) values (${columns.places})
    on conflict (id_part) do nothing returning key_id`;
  return (await rows.query(sql, ...columns.valuesOf(row))).length > 0;
}

const anyRow = 'select key_id from api_keys limit 1';
/** Comes after every key id, whose first digit is at most 7. */
const afterAllKeyIds = 'key_Z';

export function createApiKeyRows(store: RowStore): ApiKeyRows {
  const durable = true;
  return {
    add: (row) => store.transaction((rows) => insert(rows, row), { durable }),
    addFirst: (row) =>
      store.transaction(async (rows) => (await rows.query(anyRow)).length === 0 && insert(rows, row), { durable }),
    isEmpty: async () => (await store.query(anyRow)).length === 0,
    async find(idPart) {
      const [row] = await store.query<ApiKeyRow>(`${select} where id_part = $1`, idPart);
      return row;
    },
    async isInForce(keyId, nowMs) {
      const sql = `select key_id from api_keys
        where key_id = $1 and revoked_at_ms is null and coalesce(expires_at_ms, $2 + 1) > $2`;
      return (await store.query(sql, keyId, nowMs)).length > 0;
    },
    list: (limit, beforeKeyId = afterAllKeyIds) =>
      store.query(`${select} where key_id < $1 order by key_id desc limit $2`, beforeKeyId, limit),
    async revoke(keyId, nowMs) {
      const sql = `update api_keys set revoked_at_ms = coalesce(revoked_at_ms, $2) where key_id = $1 returning ${columns.selected}`;
      const [row] = await store.transaction((rows) => rows.query<ApiKeyRow>(sql, keyId, nowMs), { durable });
      return row;
    },
    noteUses: (uses) =>
      store.transaction(async (rows) => {
        const sql = 'update api_keys set last_used_at_ms = $2 where key_id = $1 and coalesce(last_used_at_ms, 0) < $2';
        for (const { keyId, usedAtMs } of uses) await rows.query(sql, keyId, usedAtMs);
      }),
  };
}
