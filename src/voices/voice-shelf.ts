// The kept voices at hand: a copy in memory of what the table says, followed from change to change, this process's own at
// once and any other's within half a second. A clone whose consent is withdrawn ends what is being spoken with it.
import { Failure } from '../errors.ts';
import type { KeptVoice, ListKept } from '../speech/voice.ts';
import type { VoiceRow, VoiceRows } from '../store/voice-rows.ts';
import { endOf, toKeptVoice } from './kept-voice.ts';
import type { Vault } from './vault.ts';

export interface VoiceShelf {
  list: ListKept;
  /** Takes in what has changed. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}

export interface VoiceShelfOptions {
  rows: Pick<VoiceRows, 'listChanged' | 'findClone'>;
  vault: Vault;
  /** Called with the id of a voice that nobody may hear any more. */
  onEnd(voiceId: string): Promise<void>;
  onFault(fault: unknown): void;
}

const lookEveryMs = 500;

export async function openVoiceShelf({ rows, vault, onEnd, onFault }: VoiceShelfOptions): Promise<VoiceShelf> {
  const kept = new Map<string, KeptVoice>();
  /** One for a voice as long as it lasts, however often it is changed. */
  const endings = new Map<string, AbortController>();
  let list: readonly KeptVoice[] = [];
  let revision = 0;

  const openClone = async (cloneId: string): Promise<Uint8Array> => {
    const sealed = await rows.findClone(cloneId);
    if (!sealed) throw new Failure('voice_not_ready');
    return vault.open(sealed, cloneId).catch((cause) => {
      throw new Failure(
        'voice_not_ready',
        { message: 'The voice cannot be opened with the master key of here.' },
        cause,
      );
    });
  };

  const takeIn = (row: VoiceRow): Promise<void> | undefined => {
    const { voiceId } = row;
    const ending = endings.get(voiceId) ?? new AbortController();
    if (row.status === 'deleted') kept.delete(voiceId);
    else kept.set(voiceId, toKeptVoice(row, ending.signal, openClone));
    const end = endOf(row);
    if (end) {
      ending.abort(end);
      endings.delete(voiceId);
    } else endings.set(voiceId, ending);
    return end && onEnd(voiceId);
  };

  const look = async () => {
    const changed = await rows.listChanged(revision);
    if (changed.length === 0) return;
    const ends = changed.map(takeIn);
    revision = changed.at(-1)!.revision;
    list = [...kept.values()];
    await Promise.all(ends);
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
