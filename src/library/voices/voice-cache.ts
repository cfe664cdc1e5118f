// A copy of the tables of voices and aliases in memory. The copy is updated at once after a change by this process, and
// within half a second after a change by another process. Withdrawal of consent ends requests that use the clone.
import { Failure } from '../../platform/errors.ts';
import { openPolling } from '../../platform/runtime/polling.ts';
import { StoredVoices } from '../../speech.ts';
import type { Vault } from './clone-vault.ts';
import { deletedVoice, endOf, toStoredVoice } from './voice-from-row.ts';
import { defaultAlias, type VoiceAliasRow, type VoiceRow, type VoiceRows } from './voice-rows.ts';

export interface VoiceCacheOptions {
  rows: Pick<VoiceRows, 'listChanged' | 'listReused' | 'listChangedAliases' | 'findClone'>;
  vault: Vault;
  /**
   * For each voice, expires the stored audio that was generated before the given time, without waiting for the files to
   * be deleted. Called again after a failure.
   */
  purge(due: ReadonlyMap<string, number>): Promise<void>;
  onFault(fault: unknown): void;
}

const pollEveryMs = 500;
const rowsPerRead = 1_000;
/** Longest lifetime of stored audio. If a voice was deleted or withdrawn longer ago, all its audio has expired. */
const audioLifeMs = 366 * 24 * 3_600_000;

export type VoiceCache = Awaited<ReturnType<typeof openVoiceCache>>;

export async function openVoiceCache({ rows, vault, purge, onFault }: VoiceCacheOptions) {
  const stored = new StoredVoices();
  /** One controller per voice. It is kept until the voice is deleted or its consent is withdrawn. */
  const endings = new Map<string, AbortController>();
  let revision = 0;
  let namesRevision = 0;
  const openClone = (cloneId: string) => decryptClone(cloneId, rows, vault);

  /** For each voice id, a time. Stored audio that was generated before this time must expire. */
  const toPurge = new Map<string, number>();
  const update = (row: VoiceRow) => {
    const { voiceId, version, createdAtMs, updatedAtMs } = row;
    const before = stored.all.get(voiceId);
    // After a deletion, the id may belong to another voice.
    const isAnother = before?.createdAt.getTime() !== createdAtMs;
    const end = endOf(row);
    if (end || isAnother) {
      endings.get(voiceId)?.abort(end ?? deletedVoice());
      endings.delete(voiceId);
    }
    if (end && Date.now() - updatedAtMs < audioLifeMs) toPurge.set(voiceId, Infinity);
    else if (!end && isAnother && version > 1) toPurge.set(voiceId, createdAtMs);
    const ending = endings.get(voiceId) ?? new AbortController();
    const ended = end ? AbortSignal.abort(end) : ending.signal;
    stored.put(voiceId, row.status === 'deleted' ? undefined : toStoredVoice(row, ended, openClone));
    if (row.status === 'deleted') endings.delete(voiceId);
    else if (!end) endings.set(voiceId, ending);
  };

  const rename = ({ alias, ownerId, voiceId }: VoiceAliasRow) => {
    if (alias === defaultAlias) stored.chosen = voiceId || undefined;
    else stored.name(alias, ownerId, voiceId || undefined);
  };

  /** Removes voices from `toPurge` if only their bindings have changed, because such voices keep their audio. */
  const spareChanged = async () => {
    const live = [...toPurge].filter(([, madeBeforeMs]) => madeBeforeMs !== Infinity);
    for (let i = 0; i < live.length; i += rowsPerRead) {
      const voiceIds = live.slice(i, i + rowsPerRead).map(([voiceId]) => voiceId);
      const reused = await rows.listReused(voiceIds);
      for (const voiceId of voiceIds) if (!reused.has(voiceId)) toPurge.delete(voiceId);
    }
  };

  const poll = async () => {
    for (;;) {
      const changed = await rows.listChanged(revision, rowsPerRead);
      for (const row of changed) update(row);
      revision = changed.at(-1)?.revision ?? revision;
      if (changed.length < rowsPerRead) break;
    }
    const renamed = await rows.listChangedAliases(namesRevision);
    namesRevision = renamed.at(-1)?.revision ?? namesRevision;
    for (const row of renamed) rename(row);
    await spareChanged();
    if (toPurge.size > 0) await purge(toPurge);
    toPurge.clear();
  };
  const { refresh, close } = await openPolling(poll, { everyMs: pollEveryMs, onFault });
  return {
    stored,
    /** Reads the rows that have changed, and updates `stored`. */
    refresh,
    close,
  };
}

async function decryptClone(cloneId: string, rows: Pick<VoiceRows, 'findClone'>, vault: Vault): Promise<Uint8Array> {
  const sealed = await rows.findClone(cloneId);
  if (!sealed) throw new Failure('voice_not_ready');
  return vault.open(sealed, cloneId).catch((cause) => {
    if (cause instanceof Failure) throw cause;
    const message = 'The voice cannot be decrypted with the master key of this service.';
    throw new Failure('voice_not_ready', { message }, cause);
  });
}
