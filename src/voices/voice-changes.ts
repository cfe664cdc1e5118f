// Changes of stored voices: each is one transaction with its entry in the record, and takes effect in this process before
// the call returns. The ids of engines' own voices count as taken too, as do aliases.
import { Failure, type FieldViolation } from '../errors.ts';
import { createId } from '../id.ts';
import type { Voices } from '../speech/voice.ts';
import type { VoiceChange, VoiceRow, VoiceRows } from '../store/voice-rows.ts';
import type { BindingRecord, ConsentRecord } from './stored-voice.ts';
import type { VoiceCache } from './voice-cache.ts';

export type RowDraft = Omit<VoiceRow, 'revision'>;

/** Limited because all stored voices are in memory. */
const storedVoicesMax = 10_000;

export type VoiceChanges = ReturnType<typeof createVoiceChanges>;

export function createVoiceChanges(
  rows: Pick<VoiceRows, 'change'>,
  voiceCache: Pick<VoiceCache, 'refresh'>,
  voices: Voices,
) {
  const isTaken = (voiceId: string): boolean =>
    voices.list().some(({ voice, aliases }) => voice.voiceId === voiceId || aliases.includes(voiceId));
  return {
    async apply(voiceId: string, decide: (row: VoiceRow | undefined) => VoiceChange): Promise<void> {
      await rows.change(voiceId, decide);
      await voiceCache.refresh();
    },
    isTaken,
    /** Returns the requested id or a new one; fails if it is taken or there are too many voices. */
    chooseId(requested: string | undefined): string {
      if (voices.list().filter(({ kept }) => kept).length >= storedVoicesMax) {
        throw new Failure('invalid_request', { message: `There are ${storedVoicesMax} voices; delete some before.` });
      }
      if (requested === undefined) return createId('voc');
      if (isTaken(requested)) throw invalidVoiceId(takenFault);
      return requested;
    },
  };
}

export interface NewVoice
  extends Pick<RowDraft, 'voiceId' | 'name' | 'description' | 'kind' | 'status' | 'ownerId' | 'access'> {
  languageCodes: readonly string[];
  labels: Readonly<Record<string, string>>;
  bindings: readonly BindingRecord[];
  consent: ConsentRecord | null;
  lexiconIds?: readonly string[] | undefined;
}

/** The row of a new voice. Its version continues that of a deleted voice with the same id. */
export function toNewRow(
  before: VoiceRow | undefined,
  { languageCodes, labels, bindings, consent, lexiconIds = [], ...voice }: NewVoice,
  atMs: number,
): RowDraft {
  if (before && before.status !== 'deleted') throw invalidVoiceId(takenFault);
  return {
    ...voice,
    languageCodes: languageCodes.join(' '),
    labels: JSON.stringify(labels),
    version: (before?.version ?? 0) + 1,
    bindings: JSON.stringify(bindings),
    consent: consent && JSON.stringify(consent),
    lexiconIds: lexiconIds.length > 0 ? lexiconIds.join(' ') : null,
    createdAtMs: atMs,
    updatedAtMs: atMs,
  };
}

export const takenFault: FieldViolation = {
  field: 'voice_id',
  reason: 'taken',
  message: 'is the id or an alias of another voice',
};

export const invalidVoiceId = ({ reason, message }: Pick<FieldViolation, 'reason' | 'message'>): Failure =>
  new Failure('invalid_request', {
    message: `voice_id ${message}.`,
    details: [{ field: 'voice_id', reason, message }],
  });
