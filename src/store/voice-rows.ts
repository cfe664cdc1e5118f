// The tables `voices` and `clones`: stored voices with their engine bindings, and the encrypted data of their clones. A
// change, the clones that it adds or destroys, the aliases of the voice and its entry in the audit log are one transaction.
// The entry's number is the revision of the row, so a reader finds everything that changed after a revision. Deleted rows
// stay, without content.
import { createColumns } from './columns.ts';
import type { RowStore, Rows } from './row-store.ts';
import {
  endAliases,
  findOtherHolders,
  listChangedAliases,
  putDefault,
  replaceAliases,
  type VoiceAliasRow,
} from './voice-alias-rows.ts';
import {
  addVoiceRecord,
  listReused,
  readVoiceRecord,
  type VoiceRecordEntry,
  type VoiceRecordRow,
} from './voice-record-rows.ts';

export interface VoiceRow {
  voiceId: string;
  revision: number;
  name: string;
  description: string;
  kind: 'stock' | 'cloned';
  status: 'ready' | 'disabled' | 'consent_revoked' | 'deleted';
  /** Separated by spaces. */
  languageCodes: string;
  /** JSON. */
  labels: string;
  /** Incremented when its bindings change. */
  version: number;
  /** JSON. */
  bindings: string;
  /** JSON; null for a voice that is not cloned. */
  consent: string | null;
  /** The account that it belongs to; null for the operator's. */
  ownerId: string | null;
  /** Who may speak with it. */
  access: 'private' | 'everyone';
  /** Of the lexicons that all requests with it use, separated by spaces; null for none. */
  lexiconIds: string | null;
  createdAtMs: number;
  updatedAtMs: number;
}

export interface SealedClone {
  cloneId: string;
  sealed: Uint8Array;
}

export interface VoiceChange {
  /** Undefined where nothing but the aliases of an engine's own voice changes. */
  row?: Omit<VoiceRow, 'revision'> | undefined;
  entry: VoiceRecordEntry;
  /** All of its aliases from then on, and of whom they are. `check` gets those that other voices hold, and may throw. */
  aliases?:
    | {
        names: readonly string[];
        ownerId: string;
        check(held: readonly Pick<VoiceAliasRow, 'alias' | 'voiceId'>[]): void;
      }
    | undefined;
  /** Gets how many voices the owner of a new row has already, and may throw. */
  checkOwned?: ((count: number) => void) | undefined;
  clones?: readonly SealedClone[];
  /** Deletes the data of its clones. */
  destroysClones?: boolean;
}

const columns = createColumns<VoiceRow>('voices', [
  'voiceId',
  'revision',
  'name',
  'description',
  'kind',
  'status',
  'languageCodes',
  'labels',
  'version',
  'bindings',
  'consent',
  'ownerId',
  'access',
  'lexiconIds',
  'createdAtMs',
  'updatedAtMs',
]);
const updates = columns.names.map((name) => `${name} = excluded.${name}`);
const upsert = `${columns.insert} on conflict (voice_id) do update set ${updates.join(', ')}`;

async function find(rows: Rows, voiceId: string): Promise<VoiceRow | undefined> {
  const [row] = await rows.query<VoiceRow>(`${columns.select} where voice_id = $1`, voiceId);
  return row;
}

async function countOwned(rows: Rows, ownerId: string): Promise<number> {
  const sql = "select count(*) as count from voices where owner_id = $1 and status <> 'deleted'";
  const [counted] = await rows.query<{ count: number }>(sql, ownerId);
  return counted!.count;
}

/** What ends a voice, or begins another one with the id of one that may have gone. */
const endings: readonly VoiceRecordEntry['action'][] = ['create', 'clone', 'import', 'delete'];

export type VoiceRows = ReturnType<typeof createVoiceRows>;

export function createVoiceRows(store: RowStore) {
  return {
    /** Voices that changed after that revision, oldest change first. */
    listChanged: (afterRevision: number, limit = Number.MAX_SAFE_INTEGER): Promise<VoiceRow[]> =>
      store.query(`${columns.select} where revision > $1 order by revision limit $2`, afterRevision, limit),
    find: (voiceId: string): Promise<VoiceRow | undefined> => find(store, voiceId),
    /** Those that were made, not an engine's own, and of which one was deleted: another may have the id now. */
    listReused: (voiceIds: readonly string[]): Promise<Set<string>> => listReused(store, voiceIds),
    /** Aliases that changed after that revision, oldest change first. */
    listChangedAliases: (afterRevision: number): Promise<VoiceAliasRow[]> => listChangedAliases(store, afterRevision),
    /** An empty id makes none the default. */
    changeDefault: (voiceId: string, entry: VoiceRecordEntry): Promise<void> =>
      store.transaction(
        async (rows) => {
          await putDefault(rows, voiceId, await addVoiceRecord(rows, entry));
          await rows.notify('voices');
        },
        { durable: true },
      ),
    /** Replaces or adds the row with the result of `decide`. The aliases of a voice end with it. */
    change: (voiceId: string, decide: (row: VoiceRow | undefined) => VoiceChange): Promise<void> =>
      store.transaction(
        async (rows) => {
          const { row, entry, aliases, checkOwned, ...more } = decide(await find(rows, voiceId));
          const { clones = [], destroysClones = false } = more;
          if (row?.ownerId) checkOwned?.(await countOwned(rows, row.ownerId));
          const named = { voiceId, ownerId: aliases?.ownerId ?? '' };
          aliases?.check(await findOtherHolders(rows, named, aliases.names));
          const revision = await addVoiceRecord(rows, entry);
          if (row) await rows.query(upsert, ...columns.valuesOf({ ...row, revision }));
          if (endings.includes(entry.action)) await endAliases(rows, voiceId, revision);
          if (aliases) await replaceAliases(rows, { ...named, revision }, aliases.names);
          if (destroysClones) await rows.query('delete from clones where voice_id = $1', voiceId);
          const insert = 'insert into clones (clone_id, voice_id, sealed) values ($1, $2, $3)';
          for (const { cloneId, sealed } of clones) await rows.query(insert, cloneId, voiceId, sealed);
          await rows.notify('voices');
        },
        { durable: true, erasing: ['clones', 'voices'] },
      ),
    async findClone(cloneId: string): Promise<Uint8Array | undefined> {
      const [clone] = await store.query<SealedClone>('select sealed from clones where clone_id = $1', cloneId);
      return clone?.sealed;
    },
    listClones: (voiceId: string): Promise<SealedClone[]> =>
      store.query('select clone_id as "cloneId", sealed from clones where voice_id = $1 order by clone_id', voiceId),
    /** The audit log from its beginning; throws where it was tampered with. */
    readRecord: (): AsyncIterable<VoiceRecordRow> => readVoiceRecord(store),
  };
}
