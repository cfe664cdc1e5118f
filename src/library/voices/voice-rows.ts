// The tables `voices` and `clones`: stored voices with their engine bindings, and the encrypted data of their clones. A
// change to a voice, its clones or its aliases is one transaction with its audit entry. The entry's number is the
// revision of the row, so that a reader can find all changes after a given revision. Deleted rows are kept without
// content.

import { createHash } from 'node:crypto';
import { Failure } from '../../platform/errors.ts';
import { createColumns, type RowStore, type Rows, toNames } from '../../platform/store/row-store.ts';

// The table `voice_record`: the audit log of voices, with every change, its actor, and every consent given and
// withdrawn. The log is append-only and hash-chained: a changed or deleted entry invalidates all later entries.
//     hash = SHA-256 of the JSON list [entry, atMs, actor, address, requestId, action, voiceId, detail, previousHash]

interface VoiceRecordRow {
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
const recordColumns = createColumns<VoiceRecordRow>('voice_record', [...properties, 'hash']);
const page = 1_000;

function hashOf(row: Omit<VoiceRecordRow, 'hash'>): string {
  const facts = properties.map((property) => row[property]);
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

/** Appends an entry in the transaction of the change that it records. Returns the number of the entry. */
async function addVoiceRecord(rows: Rows, entry: VoiceRecordEntry): Promise<number> {
  const [last] = await rows.query<VoiceRecordRow>(`${recordColumns.select} order by entry desc limit 1`);
  const row = { ...entry, entry: (last?.entry ?? 0) + 1, previousHash: last?.hash ?? '' };
  await rows.query(recordColumns.insert, ...recordColumns.valuesOf({ ...row, hash: hashOf(row) }));
  return row.entry;
}

/** Yields the entries in order. Throws at the first entry that does not continue the chain. */
async function* readVoiceRecord(rows: Rows): AsyncGenerator<VoiceRecordRow> {
  let before = { entry: 0, hash: '' };
  for (;;) {
    const read = await rows.query<VoiceRecordRow>(
      `${recordColumns.select} where entry > $1 order by entry limit $2`,
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

/** Default values for the texts that only describe a voice. */
export const noTexts = { name: '', description: '' };
export type VoiceTexts = typeof noTexts;
type TextName = keyof VoiceTexts;
export type GivenTexts = { [Name in TextName]?: string | undefined };
export const textNames = Object.keys(noTexts) as TextName[];

/** Returns all texts of a voice. Texts that are not given come from `before`. */
export const textsOf = (given: GivenTexts, before: VoiceTexts = noTexts) =>
  Object.fromEntries(textNames.map((name) => [name, given[name] ?? before[name]])) as unknown as VoiceTexts;

export interface VoiceRow extends VoiceTexts {
  voiceId: string;
  revision: number;
  kind: 'stock' | 'cloned';
  status: 'ready' | 'disabled' | 'consent_revoked' | 'deleted';
  /** Languages, separated by spaces. */
  languageCodes: string;
  /** Labels as JSON. */
  labels: string;
  /** Incremented when the bindings change. */
  version: number;
  /** Bindings as JSON. */
  bindings: string;
  /** Consent as JSON; null for a voice that is not a clone. */
  consent: string | null;
  /** The owner's account; null for the operator's voices. */
  ownerId: string | null;
  /** Who may use the voice. */
  access: 'private' | 'everyone';
  /** Ids of the lexicons used by all requests with the voice, separated by spaces; null for none. */
  lexiconIds: string | null;
  createdAtMs: number;
  updatedAtMs: number;
}

export interface SealedClone {
  cloneId: string;
  sealed: Uint8Array;
}

export interface VoiceChange {
  /** The new row; undefined if only the aliases of an engine voice change. */
  row?: Omit<VoiceRow, 'revision'> | undefined;
  entry: VoiceRecordEntry;
  /**
   * The aliases that replace the current aliases of the voice, and the account that owns them. `check` receives the
   * names that other voices already have, and may throw.
   */
  aliases?:
    | {
        names: readonly string[];
        ownerId: string;
        check(held: readonly Pick<VoiceAliasRow, 'alias' | 'voiceId'>[]): void;
      }
    | undefined;
  /** Receives the number of voices that the owner of a new row already has, and may throw. */
  checkOwned?: ((count: number) => void) | undefined;
  clones?: readonly SealedClone[];
  /** Whether the data of the voice's clones is deleted. */
  destroysClones?: boolean;
}

const columns = createColumns<VoiceRow>('voices', [
  'voiceId',
  'revision',
  ...textNames,
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

/** Actions that delete a voice, or create a voice whose id a deleted voice may have had. */
const endings: readonly VoiceRecordEntry['action'][] = ['create', 'clone', 'import', 'delete'];

export type VoiceRows = ReturnType<typeof createVoiceRows>;

export function createVoiceRows(store: RowStore) {
  return {
    /** Lists voices that changed after this revision, oldest change first. */
    listChanged: (afterRevision: number, limit = Number.MAX_SAFE_INTEGER): Promise<VoiceRow[]> =>
      store.query(`${columns.select} where revision > $1 order by revision limit $2`, afterRevision, limit),
    find: (voiceId: string): Promise<VoiceRow | undefined> => find(store, voiceId),
    /** Lists the ids that a deleted voice once had, even if another voice has them now. Ignores engine voices. */
    async listReused(voiceIds: readonly string[]): Promise<Set<string>> {
      const ids = voiceIds.map((_, i) => `$${i + 1}`).join(', ');
      const sql = `select voice_id as "voiceId" from voice_record where voice_id in (${ids}) group by voice_id
        having max(case when action = 'delete' then 1 end) = 1
        and max(case when action in ('create', 'clone', 'import') then 1 end) = 1`;
      const reused = await store.query<Pick<VoiceRecordRow, 'voiceId'>>(sql, ...voiceIds);
      return new Set(reused.map(({ voiceId }) => voiceId));
    },
    /** Lists aliases that changed after this revision, oldest change first. */
    listChangedAliases: (afterRevision: number): Promise<VoiceAliasRow[]> =>
      store.query(`${select} where revision > $1 order by revision`, afterRevision),
    /** Chooses the default voice. An empty id withdraws the choice. */
    changeDefault: (voiceId: string, entry: VoiceRecordEntry): Promise<void> =>
      store.transaction(
        async (rows) => {
          const revision = await addVoiceRecord(rows, entry);
          await put(rows, { alias: defaultAlias, ownerId: ofEveryone, voiceId, revision });
          await rows.notify('voices');
        },
        { durable: true },
      ),
    /** Replaces or adds the row with the result of `decide`. A voice that is deleted loses its aliases. */
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
    /** Reads the audit log from its start. Throws at the first entry that was tampered with. */
    readRecord: (): AsyncIterable<VoiceRecordRow> => readVoiceRecord(store),
  };
}

export interface VoiceAliasRow {
  alias: string;
  /** The account of the alias; empty for a shared alias. */
  ownerId: string;
  /** Id of the voice; empty if the alias was removed. */
  voiceId: string;
  revision: number;
}

export const defaultAlias = '';
/** The owner of a shared alias. */
export const ofEveryone = '';

const select = `select alias, owner_id as "ownerId", voice_id as "voiceId", revision from (
    select alias, '' as owner_id, voice_id, revision from voice_aliases
    union all select alias, owner_id, voice_id, revision from account_aliases
  ) as aliases`;
const upsertOfEveryone = `insert into voice_aliases (alias, voice_id, revision) values ($1, $2, $3)
  on conflict (alias) do update set voice_id = excluded.voice_id, revision = excluded.revision`;
const upsertOfAccount = `insert into account_aliases (alias, voice_id, revision, owner_id) values ($1, $2, $3, $4)
  on conflict (alias, owner_id) do update set voice_id = excluded.voice_id, revision = excluded.revision`;

const put = (rows: Rows, { alias, ownerId, voiceId, revision }: VoiceAliasRow): Promise<object[]> =>
  ownerId === ofEveryone
    ? rows.query(upsertOfEveryone, alias, voiceId, revision)
    : rows.query(upsertOfAccount, alias, voiceId, revision, ownerId);

/**
 * Returns the names that other voices already have, as aliases of the same account or as ids. The id of another
 * account's private voice conflicts only with a shared alias.
 */
async function findOtherHolders(
  rows: Rows,
  { voiceId, ownerId }: Pick<VoiceAliasRow, 'voiceId' | 'ownerId'>,
  names: readonly string[],
): Promise<Pick<VoiceAliasRow, 'alias' | 'voiceId'>[]> {
  const held: Pick<VoiceAliasRow, 'alias' | 'voiceId'>[] = [];
  for (const alias of names) {
    const sql = `${select} where alias = $1 and owner_id = $2 and voice_id not in ('', $3)`;
    held.push(...(await rows.query<VoiceAliasRow>(sql, alias, ownerId, voiceId)));
    const [voice] = await rows.query(
      `select 1 as one from voices where voice_id = $1 and status <> 'deleted'
        and (access = 'everyone' or $2 in ('', coalesce(owner_id, '')))`,
      alias,
      ownerId,
    );
    if (voice) held.push({ alias, voiceId: alias });
  }
  return held;
}

/** Replaces all aliases of the voice with these names of this account. The default voice does not change. */
async function replaceAliases(
  rows: Rows,
  { voiceId, ownerId, revision }: Omit<VoiceAliasRow, 'alias'>,
  names: readonly string[],
): Promise<void> {
  const before = await rows.query<VoiceAliasRow>(`${select} where voice_id = $1 and alias <> ''`, voiceId);
  for (const each of before)
    if (each.ownerId !== ownerId || !names.includes(each.alias)) await put(rows, { ...each, voiceId: '', revision });
  const had = before.flatMap((each) => (each.ownerId === ownerId ? each.alias : []));
  for (const alias of names) if (!had.includes(alias)) await put(rows, { alias, ownerId, voiceId, revision });
}

/** Removes all aliases of a voice, which is then no longer the default voice either. */
async function endAliases(rows: Rows, voiceId: string, revision: number): Promise<void> {
  for (const table of ['voice_aliases', 'account_aliases'])
    await rows.query(`update ${table} set voice_id = '', revision = $2 where voice_id = $1`, voiceId, revision);
}
