// The table `api_keys`: who may speak. A row holds no key, only the part of it that finds the row and a hash of the
// whole. Rows are never removed: a revoked key stays, with the time of its end. A change and its audit record are one
// transaction.
import { type AuditRow, addAudit } from './audit-rows.ts';
import { createColumns } from './columns.ts';
import type { RowStore, Rows } from './row-store.ts';

export interface ApiKeyRow {
  keyId: string;
  /** The open part of the key; no two rows have the same. */
  idPart: string;
  hash: Uint8Array;
  hashKind: 'sha256' | 'hmac-sha256';
  /** Whom its audio belongs to: the key itself, or the key that it took the place of. */
  ownerId: string;
  /** Who made it, and who made them, each with a slash behind: "usr_.../key_.../"; empty where the operator did. */
  path: string;
  name: string;
  /** Separated by spaces. */
  scopes: string;
  /** A JSON array; null for all voices. */
  voiceIds: string | null;
  /** Separated by spaces; null for any address. */
  allowedIps: string | null;
  /** Null for the usual limit. */
  requestsPerMinute: number | null;
  concurrency: number | null;
  charactersPerMonth: number | null;
  createdAtMs: number;
  expiresAtMs: number | null;
  revokedAtMs: number | null;
  lastUsedAtMs: number | null;
  /** The key that has taken its place. */
  replacedBy: string | null;
}

export interface ApiKeyUse {
  keyId: string;
  usedAtMs: number;
}

/** Whose keys: those whose path begins with it, all of them where it is empty, and one besides. */
export interface KeyRange {
  path: string;
  ownKeyId?: string | undefined;
}

/** What of a row may change. */
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

export interface ApiKeyRows {
  /** Adds the row, unless there is one with its id part; says whether it did. */
  add(row: ApiKeyRow, audit: AuditRow): Promise<boolean>;
  /** Adds the row if it is the first ever; says whether it did. */
  addFirst(row: ApiKeyRow, audit: AuditRow): Promise<boolean>;
  isEmpty(): Promise<boolean>;
  find(idPart: string): Promise<ApiKeyRow | undefined>;
  findById(keyId: string, range: KeyRange): Promise<ApiKeyRow | undefined>;
  /** Whether there is such a key, neither revoked nor expired. */
  isInForce(keyId: string, nowMs: number): Promise<boolean>;
  /** The newest first; `beforeKeyId` is where the list before this one ended. */
  list(range: KeyRange, limit: number, beforeKeyId?: string): Promise<ApiKeyRow[]>;
  /**
   * Changes a row to what `decide` makes of it as it is then, and adds a row beside it if there is one; answers the row
   * as it is afterwards, undefined if there is none in the range.
   */
  change(keyId: string, range: KeyRange, decide: (row: ApiKeyRow) => ApiKeyDecision): Promise<ApiKeyRow | undefined>;
  noteUses(uses: readonly ApiKeyUse[]): Promise<void>;
}

export interface ApiKeyDecision {
  change: ApiKeyChange;
  added?: ApiKeyRow;
  audit: AuditRow;
}

const columns = createColumns<ApiKeyRow>([
  'keyId',
  'idPart',
  'hash',
  'hashKind',
  'ownerId',
  'path',
  'name',
  'scopes',
  'voiceIds',
  'allowedIps',
  'requestsPerMinute',
  'concurrency',
  'charactersPerMonth',
  'createdAtMs',
  'expiresAtMs',
  'revokedAtMs',
  'lastUsedAtMs',
  'replacedBy',
]);
const select = `select ${columns.selected} from api_keys`;

async function insert(rows: Rows, row: ApiKeyRow): Promise<boolean> {
  const sql = `insert into api_keys (${columns.names}) values (${columns.places})
    on conflict (id_part) do nothing returning key_id`;
  return (await rows.query(sql, ...columns.valuesOf(row))).length > 0;
}

async function insertAudited(rows: Rows, row: ApiKeyRow, audit: AuditRow): Promise<boolean> {
  const isAdded = await insert(rows, row);
  if (isAdded) await addAudit(rows, audit);
  return isAdded;
}

const anyRow = 'select key_id from api_keys limit 1';
/** Comes after every key id, whose first digit is at most 7; and after all that begins with a path. */
const afterAllKeyIds = 'key_Z';
const afterPath = (path: string) => `${path}~`;

/** With the three values of a range from that place on. */
const inRange = (n: number) => `(path >= $${n} and path < $${n + 1} or key_id = $${n + 2})`;
const rangeValues = ({ path, ownKeyId = '' }: KeyRange) => [path, afterPath(path), ownKeyId] as const;

async function findById(rows: Rows, keyId: string, range: KeyRange): Promise<ApiKeyRow | undefined> {
  const [row] = await rows.query<ApiKeyRow>(
    `${select} where key_id = $1 and ${inRange(2)}`,
    keyId,
    ...rangeValues(range),
  );
  return row;
}

export function createApiKeyRows(store: RowStore): ApiKeyRows {
  const durable = true;
  return {
    add: (row, audit) => store.transaction((rows) => insertAudited(rows, row, audit), { durable }),
    addFirst: (row, audit) =>
      store.transaction(async (rows) => (await rows.query(anyRow)).length === 0 && insertAudited(rows, row, audit), {
        durable,
      }),
    isEmpty: async () => (await store.query(anyRow)).length === 0,
    async find(idPart) {
      const [row] = await store.query<ApiKeyRow>(`${select} where id_part = $1`, idPart);
      return row;
    },
    findById: (keyId, range) => findById(store, keyId, range),
    async isInForce(keyId, nowMs) {
      const sql = `select key_id from api_keys
        where key_id = $1 and revoked_at_ms is null and (expires_at_ms is null or expires_at_ms > $2)`;
      return (await store.query(sql, keyId, nowMs)).length > 0;
    },
    list(range, limit, beforeKeyId = afterAllKeyIds) {
      // Whoever may see all keys is spared the look at their paths.
      const isWanted = range.path === '' ? '' : `and ${inRange(3)}`;
      const values = range.path === '' ? [] : rangeValues(range);
      const sql = `${select} where key_id < $1 ${isWanted} order by key_id desc limit $2`;
      return store.query(sql, beforeKeyId, limit, ...values);
    },
    change: (keyId, range, decide) =>
      store.transaction(
        async (rows) => {
          const row = await findById(rows, keyId, range);
          if (!row) return undefined;
          const { change, added, audit } = decide(row);
          const properties = Object.keys(change) as (keyof ApiKeyChange)[];
          if (properties.length > 0) {
            const { names, valuesOf } = createColumns<ApiKeyChange & ApiKeyRow>(properties);
            const sets = names.split(', ').map((name, i) => `${name} = $${i + 2}`);
            await rows.query(
              `update api_keys set ${sets.join(', ')} where key_id = $1`,
              keyId,
              ...valuesOf({ ...row, ...change }),
            );
          }
          if (added && !(await insert(rows, added))) throw new Error('two keys were given one id part');
          await addAudit(rows, audit);
          await rows.announce('keys');
          return { ...row, ...change };
        },
        { durable },
      ),
    noteUses: (uses) =>
      store.transaction(
        async (rows) => {
          const sql =
            'update api_keys set last_used_at_ms = $2 where key_id = $1 and coalesce(last_used_at_ms, 0) < $2';
          // In an order that all keep to, so that none of two waits for the other.
          const inOrder = uses.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1));
          for (const { keyId, usedAtMs } of inOrder) await rows.query(sql, keyId, usedAtMs);
        },
        { blind: true },
      ),
  };
}
