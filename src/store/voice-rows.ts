// The tables `voices` and `clones`: voices that are kept here, who speaks them, and, encrypted, what their clones are made
// of. A change, the clones it brings or destroys and its entry in the record are one transaction; the entry's number is
// the row's revision, so whoever knows the last one finds what has changed since. Deleted rows stay, emptied.
import { createColumns } from './columns.ts';
import type { RowStore, Rows } from './row-store.ts';
import { addVoiceRecord, readVoiceRecord, type VoiceRecordEntry, type VoiceRecordRow } from './voice-record-rows.ts';

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
  /** Counts how often it was bound otherwise. */
  version: number;
  /** JSON. */
  bindings: string;
  /** JSON; null where nobody was cloned. */
  consent: string | null;
  createdAtMs: number;
  updatedAtMs: number;
}

export interface SealedClone {
  cloneId: string;
  sealed: Uint8Array;
}

export interface VoiceChange {
  row: Omit<VoiceRow, 'revision'>;
  entry: VoiceRecordEntry;
  clones?: readonly SealedClone[];
  /** Destroys what its clones are made of. */
  destroysClones?: boolean;
}

export interface VoiceRows {
  /** Those that have changed after that revision, the oldest change first. */
  listChanged(afterRevision: number, limit?: number): Promise<VoiceRow[]>;
  find(voiceId: string): Promise<VoiceRow | undefined>;
  /** Puts in place of the row, if there is one, what `decide` makes of it; answers it as it is then. */
  change(voiceId: string, decide: (row: VoiceRow | undefined) => VoiceChange): Promise<VoiceRow>;
  findClone(cloneId: string): Promise<Uint8Array | undefined>;
  listClones(voiceId: string): Promise<SealedClone[]>;
  /** The record from its beginning; an error where it was tampered with. */
  readRecord(): AsyncIterable<VoiceRecordRow>;
}

const columns = createColumns<VoiceRow>([
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
  'createdAtMs',
  'updatedAtMs',
]);
const select = `select ${columns.selected} from voices`;
const upsert = `insert into voices (${columns.names}) values (${columns.places})
  on conflict (voice_id) do update set ${columns.names
    .split(', ')
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

async function find(rows: Rows, voiceId: string): Promise<VoiceRow | undefined> {
  const [row] = await rows.query<VoiceRow>(`${select} where voice_id = $1`, voiceId);
  return row;
}

export function createVoiceRows(store: RowStore): VoiceRows {
  return {
    listChanged: (afterRevision, limit = Number.MAX_SAFE_INTEGER) =>
      store.query(`${select} where revision > $1 order by revision limit $2`, afterRevision, limit),
    find: (voiceId) => find(store, voiceId),
    change: (voiceId, decide) =>
      store.transaction(
        async (rows) => {
          const { row, entry, clones = [], destroysClones = false } = decide(await find(rows, voiceId));
          const revision = await addVoiceRecord(rows, entry);
          await rows.query(upsert, ...columns.valuesOf({ ...row, revision }));
          if (destroysClones) await rows.query('delete from clones where voice_id = $1', voiceId);
          const insert = 'insert into clones (clone_id, voice_id, sealed) values ($1, $2, $3)';
          for (const { cloneId, sealed } of clones) await rows.query(insert, cloneId, voiceId, sealed);
          await rows.announce('voices');
          return { ...row, revision };
        },
        { durable: true, erasing: ['clones', 'voices'] },
      ),
    async findClone(cloneId) {
      const [clone] = await store.query<SealedClone>('select sealed from clones where clone_id = $1', cloneId);
      return clone?.sealed;
    },
    listClones: (voiceId) =>
      store.query('select clone_id as "cloneId", sealed from clones where voice_id = $1 order by clone_id', voiceId),
    readRecord: () => readVoiceRecord(store),
  };
}
