// Changes stored voices. Each change is one transaction with its audit entry, and takes effect in this process before
// the call returns. Ids of engine voices, aliases that the actor may use, and ids of voices that another account has
// deleted cannot be ids of new voices.

import type { Actor } from '../../accounts.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { createId } from '../../platform/runtime/id.ts';
import type { Voices } from '../../speech.ts';
import type { VoiceCache } from './voice-cache.ts';
import type { BindingRecord, ConsentRecord } from './voice-from-row.ts';
import type { VoiceChange, VoiceRow, VoiceRows, VoiceTexts } from './voice-rows.ts';

export type RowDraft = Omit<VoiceRow, 'revision'>;

/** Maximum number of stored voices, limited because all stored voices are in memory. */
const storedVoicesMax = 10_000;

export type VoiceChanges = ReturnType<typeof createVoiceChanges>;

export function createVoiceChanges(
  rows: Pick<VoiceRows, 'change'>,
  voiceCache: Pick<VoiceCache, 'refresh' | 'stored'>,
  voices: Voices,
) {
  const isTaken = (voiceId: string, actor: Actor): boolean =>
    voices.lookUp(voiceId)?.voice.voiceId === voiceId || voices.usableBy(actor).lookUp(voiceId) !== undefined;
  return {
    async apply(voiceId: string, decide: (row: VoiceRow | undefined) => VoiceChange): Promise<void> {
      await rows.change(voiceId, decide);
      await voiceCache.refresh();
    },
    isTaken,
    /** Returns the requested id or a new one. Throws if the id is taken or there are too many voices. */
    chooseId(requested: string | undefined, actor: Actor): string {
      if (voiceCache.stored.all.size >= storedVoicesMax) {
        throw new Failure('invalid_request', {
          message: `There are already ${storedVoicesMax} voices, which is the limit. Delete some first.`,
        });
      }
      if (requested === undefined) return createId('voc');
      if (isTaken(requested, actor)) throw invalidVoiceId(takenFault);
      return requested;
    },
  };
}

export interface NewVoice extends VoiceTexts, Pick<RowDraft, 'voiceId' | 'kind' | 'status' | 'ownerId' | 'access'> {
  languageCodes: readonly string[];
  labels: Readonly<Record<string, string>>;
  bindings: readonly BindingRecord[];
  consent: ConsentRecord | null;
  lexiconIds?: readonly string[] | undefined;
}

/**
 * Returns the row of a new voice. If a deleted voice had this id, the version numbers continue. The deleted voice must
 * have belonged to the same account, or to the operator if an admin creates the voice.
 */
export function toNewRow(
  before: VoiceRow | undefined,
  { languageCodes, labels, bindings, consent, lexiconIds = [], ...voice }: NewVoice,
  { atMs, actor }: { atMs: number; actor: Pick<Actor, 'usesAllVoices'> },
): RowDraft {
  if (before && before.status !== 'deleted') throw invalidVoiceId(takenFault);
  const mayReuse = before?.ownerId === voice.ownerId || (before?.ownerId === null && actor.usesAllVoices);
  if (before && !mayReuse)
    throw invalidVoiceId({ reason: 'taken', message: 'was the id of a voice of another account' });
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
