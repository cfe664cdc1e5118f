// Other names of voices, each of one voice: the table `voice_aliases` has the aliases of everyone, `account_aliases` those of
// accounts. The empty alias of everyone is of the voice that is chosen as the default. The revision of a row is the entry of
// its change in the audit log, as in `voices`. An alias that was removed stays as a row of no voice, so that a reader finds
// the removal.
import type { Rows } from './row-store.ts';

export interface VoiceAliasRow {
  alias: string;
  /** The account that it is of; empty for everyone. */
  ownerId: string;
  /** Empty where it was removed. */
  voiceId: string;
  revision: number;
}

export const defaultAlias = '';
const ofEveryone = '';

const select = `select alias, owner_id as "ownerId", voice_id as "voiceId", revision from (
    select alias, '' as owner_id, voice_id, revision from voice_aliases
    union all select alias, owner_id, voice_id, revision from account_aliases
  ) as aliases`;
const upsertOfEveryone = `insert into voice_aliases (alias, voice_id, revision) values ($1, $2, $3)
  on conflict (alias) do update set voice_id = excluded.voice_id, revision = excluded.revision`;
const upsertOfAccount = `insert into account_aliases (alias, voice_id, revision, owner_id) values ($1, $2, $3, $4)
  on conflict (alias, owner_id) do update set voice_id = excluded.voice_id, revision = excluded.revision`;

export const accountAliasStatements: readonly string[] = [
  `create table account_aliases (
    alias text not null,
    owner_id text not null,
    voice_id text not null,
    revision bigint not null,
    primary key (alias, owner_id)
  )`,
  'create index account_aliases_changed on account_aliases (revision)',
  'create index account_aliases_of_voice on account_aliases (voice_id)',
  `insert into account_aliases (alias, owner_id, voice_id, revision)
    select alias, owner_id, voice_aliases.voice_id, voice_aliases.revision
      from voice_aliases join voices on voices.voice_id = voice_aliases.voice_id
      where access <> 'everyone' and owner_id is not null and alias <> ''`,
  `delete from voice_aliases where exists (
    select 1 from account_aliases
      where account_aliases.alias = voice_aliases.alias and account_aliases.voice_id = voice_aliases.voice_id
  )`,
];

const put = (rows: Rows, { alias, ownerId, voiceId, revision }: VoiceAliasRow): Promise<object[]> =>
  ownerId === ofEveryone
    ? rows.query(upsertOfEveryone, alias, voiceId, revision)
    : rows.query(upsertOfAccount, alias, voiceId, revision, ownerId);

export const listChangedAliases = (rows: Rows, afterRevision: number): Promise<VoiceAliasRow[]> =>
  rows.query(`${select} where revision > $1 order by revision`, afterRevision);

/**
 * Those of the names that are aliases of the same account, or ids, of other voices, each with the id of the voice. The
 * private voices of other accounts have ids that only everyone's aliases must differ from.
 */
export async function findOtherHolders(
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

/** Gives the voice these aliases, all of that account, and no others. Whether it is the default stays. */
export async function replaceAliases(
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

/** Makes the voice the default one; an empty id makes none. */
export const putDefault = (rows: Rows, voiceId: string, revision: number): Promise<object[]> =>
  put(rows, { alias: defaultAlias, ownerId: ofEveryone, voiceId, revision });

/** Removes all aliases of a voice that ends; it is the default no more. */
export async function endAliases(rows: Rows, voiceId: string, revision: number): Promise<void> {
  for (const table of ['voice_aliases', 'account_aliases'])
    await rows.query(`update ${table} set voice_id = '', revision = $2 where voice_id = $1`, voiceId, revision);
}
