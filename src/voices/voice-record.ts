// The record of voices: one entry for every change, with its actor.
import type { Actor } from '../keys/actor.ts';
import type { VoiceRecordEntry } from '../store/voice-record-rows.ts';

type VoiceEvent = Pick<VoiceRecordEntry, 'action' | 'voiceId' | 'atMs'> & { detail: object };

export const toRecordEntry = (
  { action, voiceId, atMs, detail }: VoiceEvent,
  { name, address, requestId }: Actor,
): VoiceRecordEntry => ({ atMs, actor: name, action, voiceId, address, requestId, detail: JSON.stringify(detail) });
