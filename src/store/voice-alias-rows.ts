// The table `voice_aliases`: other names of voices, each of one voice. The empty alias is of the voice that is chosen as the
// default. The revision of a row is the entry of its change in the audit log, as in `voices`. An alias that was removed
// stays as a row of no voice, so that a reader finds the removal.
import type { Rows } from './row-store.ts';

export interface VoiceAliasRow {
  alias: string;
  /** Empty where it was removed. */
  voiceId: string;
  revision: number;
}

export const defaultAlias = '';

const select = 'select alias, voice_id as "voiceId", revision from voice_aliases';
const upsert = `insert into voice_aliases (alias, voice_id, revision) values ($1, $2, $3)
  on conflict (alias) do update set voice_id = excluded.voice_id, revision = excluded.revision`;

export const listChangedAliases = (rows: Rows, afterRevision: number): Promise<VoiceAliasRow[]> =>
  rows.query(`${select} where revision > $1 order by revision`, afterRevision);

/** Those of the names that are aliases or ids of other voices, each with the id of the voice. */
export async function findOtherHolders(
  rows: Rows,
  voiceId: string,
  names: readonly string[],
): Promise<Pick<VoiceAliasRow, 'alias' | 'voiceId'>[]> {
  const held: Pick<VoiceAliasRow, 'alias' | 'voiceId'>[] = [];
  for (const alias of names) {
    const sql = `${select} where alias = $1 and voice_id not in ('', $2)`;
    held.push(...(await rows.query<VoiceAliasRow>(sql, alias, voiceId)));
    const [voice] = await rows.query("select 1 as one from voices where voice_id = $1 and status <> 'deleted'", alias);
    if (voice) held.push({ alias, voiceId: alias });
  }
  return held;
}

/** Gives the voice these aliases and no others. Whether it is the default stays. */
export async function replaceAliases(
  rows: Rows,
  voiceId: string,
  names: readonly string[],
  revision: number,
): Promise<void> {
  const before = await rows.query<VoiceAliasRow>(`${select} where voice_id = $1`, voiceId);
  const had = new Set(before.map(({ alias }) => alias));
  for (const alias of had) {
    if (alias !== defaultAlias && !names.includes(alias)) await rows.query(upsert, alias, '', revision);
  }
  for (const alias of names) if (!had.has(alias)) await rows.query(upsert, alias, voiceId, revision);
}

/** Makes the voice the default one; an empty id makes none. */
export const putDefault = (rows: Rows, voiceId: string, revision: number): Promise<object[]> =>
  rows.query(upsert, defaultAlias, voiceId, revision);

/** Removes all aliases of a voice that ends; it is the default no more. */
export const endAliases = (rows: Rows, voiceId: string, revision: number): Promise<object[]> =>
  rows.query("update voice_aliases set voice_id = '', revision = $2 where voice_id = $1", voiceId, revision);
