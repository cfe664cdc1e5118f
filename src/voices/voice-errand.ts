// Who wants something of a voice, and the entry in the record that is made of what was done.
import { Failure } from '../errors.ts';
import type { VoiceRecordEntry } from '../store/voice-record-rows.ts';

export interface VoiceActor {
  /** For the record: "key:key_01JD...", "user:...", "operator". */
  actor: string;
  address: string;
  requestId: string;
  /** The voices that it may have to do with; undefined for all. */
  voiceIds?: readonly string[] | undefined;
}

/** What is done on the machine itself. */
export const operator: VoiceActor = { actor: 'operator', address: '', requestId: '' };

type Done = Pick<VoiceRecordEntry, 'action' | 'voiceId' | 'atMs'> & { detail: object };

export const toRecordEntry = (
  { detail, ...done }: Done,
  { actor, address, requestId }: VoiceActor,
): VoiceRecordEntry => ({ ...{ actor, address, requestId }, ...done, detail: JSON.stringify(detail) });

/** For who is limited to some voices there are no others. */
export function checkMaySee(voiceId: string, { voiceIds }: VoiceActor): void {
  if (voiceIds && !voiceIds.includes(voiceId)) throw new Failure('voice_not_found');
}

export function checkMayMake({ voiceIds }: VoiceActor): void {
  if (!voiceIds) return;
  throw new Failure('access_denied', { message: 'This key is limited to some voices, and can make no other.' });
}
