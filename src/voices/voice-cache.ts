// The kept voices at hand: a copy in memory of what the table says, followed from change to change, this process's own at
// once and any other's within half a second. A clone whose consent is withdrawn ends what is being spoken with it.
import { Failure } from '../errors.ts';
import type { ListStored, StoredVoice } from '../speech/voice.ts';
import type { VoiceRow, VoiceRows } from '../store/voice-rows.ts';
import type { Vault } from './clone-vault.ts';
import { deletedVoice, endOf, toKeptVoice } from './stored-voice.ts';

export interface VoiceCache {
  list: ListStored;
  /** Takes in what has changed. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface VoiceCacheOptions {
  rows: Pick<VoiceRows, 'listChanged' | 'findClone'>;
  vault: Vault;
  /** Sees to it that nothing is left to be heard of the voice that was made before then. Called until it has gone well. */
  purge(voiceId: string, madeBeforeMs: number): Promise<void>;
  onFault(fault: unknown): void;
}

const lookEveryMs = 500;
const rowsAtOnce = 1_000;
/** What a voice that ended so long ago has said is gone by itself. */
const saidKeptMs = 366 * 24 * 3_600_000;

export async function openVoiceCache({ rows, vault, purge, onFault }: VoiceCacheOptions): Promise<VoiceCache> {
  const kept = new Map<string, StoredVoice>();
  /** One for a voice as long as it lasts, however often it is changed. */
  const endings = new Map<string, AbortController>();
  let list: readonly StoredVoice[] = [];
  let revision = 0;

  const openClone = async (cloneId: string): Promise<Uint8Array> => {
    const sealed = await rows.findClone(cloneId);
    if (!sealed) throw new Failure('voice_not_ready');
    return vault.open(sealed, cloneId).catch((cause) => {
      if (cause instanceof Failure) throw cause;
      throw new Failure(
        'voice_not_ready',
        { message: 'The voice cannot be opened with the master key of here.' },
        cause,
      );
    });
  };

  /** Voices of which something may still be heard, and how old that is. */
  const toPurge = new Map<string, number>();
  const takeIn = (row: VoiceRow) => {
    const { voiceId, version, createdAtMs, updatedAtMs } = row;
    const before = kept.get(voiceId);
    // Under the same id there may be somebody else now.
    const isAnother = before?.createdAt.getTime() !== createdAtMs;
    const end = endOf(row);
    if (end || isAnother) {
      endings.get(voiceId)?.abort(end ?? deletedVoice());
      endings.delete(voiceId);
    }
    if (end && Date.now() - updatedAtMs < saidKeptMs) toPurge.set(voiceId, Infinity);
    else if (!end && isAnother && version > 1) toPurge.set(voiceId, createdAtMs);
    const ending = endings.get(voiceId) ?? new AbortController();
    if (row.status === 'deleted') kept.delete(voiceId);
    else kept.set(voiceId, toKeptVoice(row, end ? AbortSignal.abort(end) : ending.signal, openClone));
    if (!end) endings.set(voiceId, ending);
  };

  const look = async () => {
    for (;;) {
      const changed = await rows.listChanged(revision, rowsAtOnce);
      for (const row of changed) takeIn(row);
      revision = changed.at(-1)?.revision ?? revision;
      if (changed.length > 0) list = [...kept.values()];
      if (changed.length < rowsAtOnce) break;
    }
    for (const [voiceId, madeBeforeMs] of toPurge) {
      await purge(voiceId, madeBeforeMs);
      toPurge.delete(voiceId);
    }
  };
  let looking: Promise<void> = Promise.resolve();
  let looks = 0;
  const refresh = async () => {
    looks++;
    const next = looking.then(look);
    looking = next.catch(() => {});
    await next.finally(() => looks--);
  };
  await look();
  // A table that takes its time is not asked more often than it answers.
  const timer = setInterval(() => void (looks === 0 && refresh().catch(onFault)), lookEveryMs).unref();
  return {
    list: () => list,
    refresh,
    async close() {
      clearInterval(timer);
      await looking;
    },
  };
}
