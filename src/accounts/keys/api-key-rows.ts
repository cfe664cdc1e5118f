// The table `api_keys`. A row contains only the public part of the key, used for lookup, and a hash of the complete
// key. Rows are never deleted: a revoked key keeps its row with the time of revocation. A change and its audit record
// are one transaction.
import { Failure } from '../../platform/errors.ts';
import { createColumns, type RowStore, type Rows, type Transaction, toNames } from '../../platform/store/row-store.ts';

export interface ApiKeyRow {
  keyId: string;
  /** The public part of the key; unique. */
  idPart: string;
  hash: Uint8Array;
  hashKind: 'sha256' | 'hmac-sha256';
  /** The owner of the key's audio and usage: the key itself, or the first key of its rotations. */
  ownerId: string;
  /** The account of the key, followed by a slash: "usr_.../". Empty if the key is an account itself. */
  path: string;
  /**
   * Keys that stood between the account and this key when earlier versions had more levels, each followed by a slash.
   * This key still counts towards their limits, and ends with them. Empty for all other keys.
   */
  limitedBy: string;
  name: string;
  /** Scopes, separated by spaces. */
  scopes: string;
  /** JSON array of ids; null for all voices. */
  voiceIds: string | null;
  /** Addresses, separated by spaces; null for any address. */
  allowedIps: string | null;
  /** Request limit; null for the default limit. */
  requestsPerMinute: number | null;
  concurrency: number | null;
  charactersPerMonth: number | null;
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  lastUsedAtMs: number | null;
  /** The key that replaces this key after a rotation. */
  replacedBy: string | null;
  /** The key or signed-in account that created this key, or `operator`. Null if an earlier version did not record it. */
  madeBy: string | null;
}

export interface ApiKeyUse {
  keyId: string;
  usedAtMs: number;
}

/** Keys whose path begins with `path` (all keys if `path` is empty), plus the key `ownKeyId`. */
export interface KeyRange {
  path: string;
  ownKeyId?: string | undefined;
}

export const allKeys: KeyRange = { path: '' };

/** The columns that can change. */
export type ApiKeyChange = Partial<
  Pick<
    ApiKeyRow,
    | 'name'
    | 'scopes'
    | 'voiceIds'
    | 'allowedIps'
    | 'requestsPerMinute'
    | 'concurrency'
    | 'charactersPerMonth'
    | 'expiresAtMs'
    | 'revokedAtMs'
    | 'replacedBy'
  >
>;

export interface ApiKeyDecision {
  change: ApiKeyChange;
  added?: ApiKeyRow;
  audit: AuditRow;
  /** Set to also revoke the keys of `endedWith`, each with an audit record. */
  ending?: { atMs: number; toAudit(keyId: string): AuditRow };
}

interface ApiKeyChanged {
  row: ApiKeyRow;
  /** Other keys that were revoked with the key. */
  othersRevoked: readonly EndedKeyRow[];
}

export type EndedKeyRow = Pick<ApiKeyRow, 'keyId' | 'ownerId' | 'path'>;

/** Maximum number of an account's keys that are valid (not revoked, expired or replaced) at `nowMs`. */
interface AccountLimit {
  keysMax: number;
  nowMs: number;
}

type Decide = (row: ApiKeyRow) => ApiKeyDecision;

const columns = createColumns<ApiKeyRow>('api_keys', [
  ...toNames('keyId idPart hash hashKind ownerId path limitedBy name scopes voiceIds allowedIps requestsPerMinute'),
  ...toNames('concurrency charactersPerMonth createdAtMs expiresAtMs revokedAtMs lastUsedAtMs replacedBy madeBy'),
]);
async function insert(rows: Rows, row: ApiKeyRow): Promise<boolean> {
  // The creator may have been revoked after its request was admitted.
  const isRevoked = 'select key_id from api_keys where key_id = $1 and revoked_at_ms is not null';
  if ((await rows.query(isRevoked, row.madeBy)).length > 0) throw new Failure('invalid_api_key');
  const sql = `${columns.insert} on conflict (id_part) do nothing returning key_id`;
  return (await rows.query(sql, ...columns.valuesOf(row))).length > 0;
}

async function insertAudited(rows: Rows, row: ApiKeyRow, audit: AuditRow): Promise<boolean> {
  const isAdded = await insert(rows, row);
  if (isAdded) await addAudit(rows, audit);
  return isAdded;
}

async function isFull(rows: Rows, { path }: ApiKeyRow, { keysMax, nowMs }: AccountLimit): Promise<boolean> {
  if (path === '') return false;
  const sql = `select count(*) as living from api_keys where path = $1 and revoked_at_ms is null
    and replaced_by is null and (expires_at_ms is null or expires_at_ms > $2)`;
  const [count] = await rows.query<{ living: number }>(sql, path, nowMs);
  return Number(count!.living) >= keysMax;
}

/**
 * The key $2, and every key that a key of this set made. A successor of a key made by itself is thus in the set, and a
 * successor made by another key, a person or the operator is not. Without a successor, the set also has the keys of an
 * account, and the keys that a key replaced and that are in their grace period, because these have the same permissions.
 */
const endedWith = `with recursive ended (key_id, owner_id, above, replaced_by) as (
  select key_id, owner_id, path || limited_by, replaced_by from api_keys where key_id = $2
  union select other.key_id, other.owner_id, other.path || other.limited_by, other.replaced_by
    from ended join api_keys as other on other.made_by = ended.key_id
    or other.path || other.limited_by >= ended.above || ended.owner_id || '/'
      and other.path || other.limited_by < ended.above || ended.owner_id || '/~' and ended.replaced_by is null
    or other.owner_id = ended.owner_id and ended.replaced_by is null and other.replaced_by is not null
      and coalesce(other.expires_at_ms > $1, true)
)`;

/** Revokes the other keys of `endedWith`, and returns them. */
async function revokeOthers(
  rows: Rows,
  keyId: string,
  { atMs, toAudit }: NonNullable<ApiKeyDecision['ending']>,
): Promise<EndedKeyRow[]> {
  const sql = `${endedWith} update api_keys set revoked_at_ms = $1 where revoked_at_ms is null and key_id <> $2
    and key_id in (select key_id from ended) returning key_id as "keyId", owner_id as "ownerId", path`;
  const ended = await rows.query<EndedKeyRow>(sql, atMs, keyId);
  for (const each of ended) await addAudit(rows, toAudit(each.keyId));
  return ended;
}

const anyRow = 'select key_id from api_keys limit 1';
/** A string that sorts after every key id, because the first digit of a ULID is at most 7. */
const afterAllKeyIds = 'key_Z';
/** Returns a string that sorts after all strings that begin with the path. */
const afterPath = (path: string) => `${path}~`;

/** SQL condition for the keys of a range. Its three parameters are $n and the next two. */
const inRange = (n: number) => `(path >= $${n} and path < $${n + 1} or key_id = $${n + 2})`;
const rangeValues = ({ path, ownKeyId = '' }: KeyRange) => [path, afterPath(path), ownKeyId] as const;

async function findById(rows: Rows, keyId: string, range: KeyRange): Promise<ApiKeyRow | undefined> {
  const [row] = await rows.query<ApiKeyRow>(
    `${columns.select} where key_id = $1 and ${inRange(2)}`,
    keyId,
    ...rangeValues(range),
  );
  return row;
}

async function applyChange(
  rows: Transaction,
  keyId: string,
  range: KeyRange,
  decide: Decide,
): Promise<ApiKeyChanged | undefined> {
  const row = await findById(rows, keyId, range);
  if (!row) return undefined;
  const { change, added, audit, ending } = decide(row);
  const properties = Object.keys(change) as (keyof ApiKeyChange)[];
  if (properties.length > 0) {
    const { names, valuesOf } = createColumns<ApiKeyChange & ApiKeyRow>('api_keys', properties);
    const sets = names.map((name, i) => `${name} = $${i + 2}`);
    const sql = `update api_keys set ${sets.join(', ')} where key_id = $1`;
    await rows.query(sql, keyId, ...valuesOf({ ...row, ...change }));
  }
  if (added && !(await insert(rows, added))) throw new Error('two keys were given one id part');
  await addAudit(rows, audit);
  const othersRevoked = ending ? await revokeOthers(rows, keyId, ending) : [];
  await rows.notify('keys');
  return { row: { ...row, ...change }, othersRevoked };
}

/** A key that replaces all other keys whose creation was recorded with the same action, actor and detail. */
interface Superseding {
  row: ApiKeyRow;
  audit: AuditRow;
  toEndAudit(keyId: string): AuditRow;
}

async function supersede(rows: Transaction, { row, audit, toEndAudit }: Superseding): Promise<ApiKeyRow[]> {
  const [present] = await rows.query<ApiKeyRow>(`${columns.select} where id_part = $1`, row.idPart);
  if (present && present.revokedAtMs !== null) return [];
  const madeAlike = 'select key_id from audit where action = $2 and actor = $3 and detail = $4';
  // A successor that a replaced key made of itself is replaced too.
  const alike = `with recursive alike (key_id, replaced_by) as (
    select key_id, replaced_by from api_keys where key_id in (${madeAlike})
    union select made.key_id, made.replaced_by from alike join api_keys as made
      on made.key_id = alike.replaced_by and made.made_by = alike.key_id
  )`;
  const former = await rows.query<ApiKeyRow>(
    `${alike} ${columns.select} where revoked_at_ms is null and id_part <> $1 and key_id in (select key_id from alike)
      order by key_id desc`,
    row.idPart,
    audit.action,
    audit.actor,
    audit.detail,
  );
  const predecessor = former.find(({ replacedBy }) => replacedBy === null);
  if (!present) await insertAudited(rows, { ...row, ownerId: predecessor?.ownerId ?? row.ownerId }, audit);
  const sql = 'update api_keys set revoked_at_ms = $2, replaced_by = coalesce(replaced_by, $3) where key_id = $1';
  for (const { keyId } of former) {
    await rows.query(sql, keyId, audit.atMs, (present ?? row).keyId);
    await addAudit(rows, toEndAudit(keyId));
  }
  if (former.length > 0) await rows.notify('keys');
  return former;
}

export type ApiKeyRows = ReturnType<typeof createApiKeyRows>;

export function createApiKeyRows(store: RowStore) {
  const durable = true;
  return {
    /** Adds the row, unless its id part is taken or its account has too many keys. */
    add: (row: ApiKeyRow, audit: AuditRow, limit: AccountLimit): Promise<'added' | 'taken' | 'full'> =>
      store.transaction(
        async (rows) => {
          if (await isFull(rows, row, limit)) return 'full';
          return (await insertAudited(rows, row, audit)) ? 'added' : 'taken';
        },
        { durable },
      ),
    /** Adds the row if the table is empty. Returns whether the row was added. */
    addFirst: (row: ApiKeyRow, audit: AuditRow): Promise<boolean> =>
      store.transaction(async (rows) => (await rows.query(anyRow)).length === 0 && insertAudited(rows, row, audit), {
        durable,
      }),
    /**
     * Adds the row if its id part is free, and revokes the keys that the row replaces. The keys of the replaced accounts
     * then belong to the new key. Does nothing if a revoked key has the id part. Returns the replaced keys.
     */
    supersede: (superseding: Superseding): Promise<ApiKeyRow[]> =>
      store.transaction((rows) => supersede(rows, superseding), { durable }),
    isEmpty: async (): Promise<boolean> => (await store.query(anyRow)).length === 0,
    async find(idPart: string): Promise<ApiKeyRow | undefined> {
      const [row] = await store.query<ApiKeyRow>(`${columns.select} where id_part = $1`, idPart);
      return row;
    },
    findById: (keyId: string, range: KeyRange): Promise<ApiKeyRow | undefined> => findById(store, keyId, range),
    /** Returns the newest rotation of the owner's key, or the key that replaced it under another owner. */
    async findNewest(ownerId: string): Promise<ApiKeyRow | undefined> {
      const ofOwner = `${columns.select} where owner_id = $1
        order by case when replaced_by is null then 0 else 1 end, key_id desc limit 1`;
      let [row] = await store.query<ApiKeyRow>(ofOwner, ownerId);
      while (row?.replacedBy) row = await findById(store, row.replacedBy, allKeys);
      return row;
    },
    /** Lists keys, newest first. `beforeKeyId` is the last key of the previous page. */
    list(range: KeyRange, limit: number, beforeKeyId = afterAllKeyIds): Promise<ApiKeyRow[]> {
      // A list of all keys needs no condition, and can use the index of the primary key.
      const condition = range.path === '' ? '' : `and ${inRange(3)}`;
      const values = range.path === '' ? [] : rangeValues(range);
      const sql = `${columns.select} where key_id < $1 ${condition} order by key_id desc limit $2`;
      return store.query(sql, beforeKeyId, limit, ...values);
    },
    /**
     * Applies the change that `decide` returns for the current row, and adds a second row if `decide` returns one.
     * Returns the changed row; undefined if the key is not in the range.
     */
    change: (keyId: string, range: KeyRange, decide: Decide): Promise<ApiKeyChanged | undefined> =>
      store.transaction((rows) => applyChange(rows, keyId, range, decide), { durable }),
    noteUses: (uses: readonly ApiKeyUse[]): Promise<void> =>
      store.transaction(
        async (rows) => {
          const sql =
            'update api_keys set last_used_at_ms = $2 where key_id = $1 and coalesce(last_used_at_ms, 0) < $2';
          // The order is fixed, so that two transactions cannot deadlock.
          const inOrder = uses.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1));
          for (const { keyId, usedAtMs } of inOrder) await rows.query(sql, keyId, usedAtMs);
        },
        { blind: true },
      ),
  };
}

export interface AuditRow {
  auditId: string;
  atMs: number;
  /** Author of the change, such as "key:key_01JD...", "user:..." or "cli". */
  actor: string;
  action: 'create' | 'update' | 'rotate' | 'revoke';
  keyId: string;
  address: string;
  requestId: string;
  /** The changed fields, as JSON. */
  detail: string;
}

const auditColumns = createColumns<AuditRow>(
  'audit',
  toNames('auditId atMs actor action keyId address requestId detail'),
);

export async function addAudit(rows: Rows, row: AuditRow): Promise<void> {
  await rows.query(auditColumns.insert, ...auditColumns.valuesOf(row));
}

/** The changes of a key, oldest first. */
export const listAudit = (rows: Rows, keyId: string): Promise<AuditRow[]> =>
  rows.query(`${auditColumns.select} where key_id = $1 order by at_ms, audit_id`, keyId);
