// The table `voice_record`: the audit log of voices, with every change, its actor, and every consent given and
// withdrawn. The log is append-only and hash-chained: a changed or deleted entry invalidates all later entries.
//     hash = SHA-256 of the JSON list [entry, atMs, actor, address, requestId, action, voiceId, detail, previousHash]
import { createHash } from 'node:crypto';
import { Failure } from '../../platform/errors.ts';
import { createColumns, type Rows, toNames } from '../../platform/store/row-store.ts';

export interface VoiceRecordRow {
  /** Consecutive numbers from 1. */
  entry: number;
  atMs: number;
  /** Author of the change, such as "key:key_01JD..." or "operator". */
  actor: string;
  address: string;
  requestId: string;
  /** Kind of change. `set_default` without a voice withdraws the choice of a default voice. */
  action: 'create' | 'clone' | 'import' | 'update' | 'delete' | 'revoke_consent' | 'set_default';
  voiceId: string;
  /** The change as JSON; for a clone, the evidence of consent. */
  detail: string;
  /** Hash of the previous entry; empty for the first entry. */
  previousHash: string;
  hash: string;
}

export type VoiceRecordEntry = Omit<VoiceRecordRow, 'entry' | 'previousHash' | 'hash'>;

const properties = toNames('entry atMs actor address requestId action voiceId detail previousHash');
const columns = createColumns<VoiceRecordRow>('voice_record', [...properties, 'hash']);
const page = 1_000;

function hashOf(row: Omit<VoiceRecordRow, 'hash'>): string {
  const facts = properties.map((property) => row[property]);
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

/** Appends an entry in the transaction of the change that it records. Returns the number of the entry. */
export async function addVoiceRecord(rows: Rows, entry: VoiceRecordEntry): Promise<number> {
  const [last] = await rows.query<VoiceRecordRow>(`${columns.select} order by entry desc limit 1`);
  const row = { ...entry, entry: (last?.entry ?? 0) + 1, previousHash: last?.hash ?? '' };
  await rows.query(columns.insert, ...columns.valuesOf({ ...row, hash: hashOf(row) }));
  return row.entry;
}

/** Returns the ids that a deleted voice once had. Engine voices do not count. */
export async function listReused(rows: Rows, voiceIds: readonly string[]): Promise<Set<string>> {
  const ids = voiceIds.map((_, i) => `$${i + 1}`).join(', ');
  const sql = `select voice_id as "voiceId" from voice_record where voice_id in (${ids}) group by voice_id
    having max(case when action = 'delete' then 1 end) = 1
    and max(case when action in ('create', 'clone', 'import') then 1 end) = 1`;
  const reused = await rows.query<Pick<VoiceRecordRow, 'voiceId'>>(sql, ...voiceIds);
  return new Set(reused.map(({ voiceId }) => voiceId));
}

/** Yields the entries in order. Throws at the first entry that does not continue the chain. */
export async function* readVoiceRecord(rows: Rows): AsyncGenerator<VoiceRecordRow> {
  let before = { entry: 0, hash: '' };
  for (;;) {
    const read = await rows.query<VoiceRecordRow>(
      `${columns.select} where entry > $1 order by entry limit $2`,
      before.entry,
      page,
    );
    for (const row of read) {
      const follows = row.entry === before.entry + 1 && row.previousHash === before.hash && row.hash === hashOf(row);
      if (!follows) {
        const message = `entry ${before.entry + 1} of the audit log of voices is missing or was changed`;
        throw new Failure('internal_error', { message });
      }
      yield row;
      before = row;
    }
    if (read.length < page) return;
  }
}
