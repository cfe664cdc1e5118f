// The table `lexicons`: lexicons with their entries as JSON. Each change gets the next revision, so that a reader can
// find everything that changed after a given revision. Deleted rows are kept without content.
import { createColumns, type RowStore, type Rows, toNames } from '../../platform/store/row-store.ts';

export interface LexiconRow {
  lexiconId: string;
  revision: number;
  /** The owner's account; null for the operator's lexicons. */
  ownerId: string | null;
  access: 'private' | 'everyone';
  name: string;
  /** Entries as JSON; null if the lexicon is deleted. */
  entries: string | null;
  entryCount: number;
  /** Size of `entries` in bytes. */
  byteCount: number;
  /** Hash of the content. */
  version: string;
  createdAtMs: number;
  updatedAtMs: number;
}

export type LexiconDraft = Omit<LexiconRow, 'revision'>;

/** Totals for an account's lexicons, without the lexicon that is being changed. */
export interface OwnedLexicons {
  count: number;
  byteCount: number;
}

const columns = createColumns<LexiconRow>(
  'lexicons',
  toNames('lexiconId revision ownerId access name entries entryCount byteCount version createdAtMs updatedAtMs'),
);
const updates = columns.names.map((name) => `${name} = excluded.${name}`);
const upsert = `${columns.insert} on conflict (lexicon_id) do update set ${updates.join(', ')}`;
const owned = `select count(*) as count, coalesce(sum(byte_count), 0) as "byteCount" from lexicons
  where entries is not null and coalesce(owner_id, '') = $1 and lexicon_id <> $2`;

export type LexiconRows = ReturnType<typeof createLexiconRows>;

export function createLexiconRows(store: RowStore) {
  const find = async (rows: Rows, lexiconId: string): Promise<LexiconRow | undefined> => {
    const [row] = await rows.query<LexiconRow>(`${columns.select} where lexicon_id = $1`, lexiconId);
    return row?.entries === null ? undefined : row;
  };
  return {
    /** Lists lexicons that changed after this revision, oldest change first. */
    listChanged: (afterRevision: number, limit: number): Promise<LexiconRow[]> =>
      store.query(`${columns.select} where revision > $1 order by revision limit $2`, afterRevision, limit),
    /** Replaces or adds the row with the result of `decide`. `decide` receives totals of the owner's other lexicons. */
    change: (
      lexiconId: string,
      ownerOf: (row: LexiconRow | undefined) => string | null,
      decide: (row: LexiconRow | undefined, others: OwnedLexicons) => LexiconDraft,
    ): Promise<void> =>
      store.transaction(
        async (rows) => {
          const before = await find(rows, lexiconId);
          const [sums] = await rows.query<OwnedLexicons>(owned, ownerOf(before) ?? '', lexiconId);
          const others = { count: Number(sums!.count), byteCount: Number(sums!.byteCount) };
          const draft = decide(before, others);
          const [last] = await rows.query<{ revision: number }>(
            'select coalesce(max(revision), 0) as revision from lexicons',
          );
          await rows.query(upsert, ...columns.valuesOf({ ...draft, revision: last!.revision + 1 }));
          await rows.notify('lexicons');
        },
        { durable: true },
      ),
  };
}
