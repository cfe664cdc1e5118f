// Who may change, share and end a voice: the account that owns it, and those who may use all voices. A voice of an engine is the
// operator's, also after it was changed.
import type { Actor } from '../access/actor.ts';
import { Failure } from '../errors.ts';
import type { StoredVoice } from '../speech/stored-voices.ts';
import { ownerOf } from '../speech/voice.ts';
import type { VoiceRow } from '../store/voice-rows.ts';

/** `kept` is undefined for a voice just as its engine brings it. */
export function checkMayChange(kept: Pick<StoredVoice, 'ownerId'> | undefined, actor: Actor): void {
  if (actor.usesAllVoices || ownerOf(kept, actor) === 'self') return;
  const message = 'Only the owner of this voice, and keys with the scope admin, may change it.';
  throw new Failure('access_denied', { message });
}

/** A voice that everyone may use, and its aliases, are given by admins. */
export function checkMayShare({ access }: Pick<VoiceRow, 'access'>, { usesAllVoices }: Actor): void {
  if (access === 'private' || usesAllVoices) return;
  const message = 'Only keys with the scope admin give voices, and aliases of them, to everyone; others are private.';
  throw new Failure('insufficient_scope', { message, requiredScopes: ['admin'] });
}

/** The row, which may have been deleted, and made again by another account, since the voice was found. */
export function requireOwn(row: VoiceRow | undefined, actor: Actor): VoiceRow {
  if (!row || row.status === 'deleted') throw new Failure('voice_not_found');
  const ownerId = row.ownerId ?? undefined;
  const isHidden = row.access === 'private' && ownerOf({ ownerId }, actor) !== 'self' && !actor.usesAllVoices;
  if (isHidden) throw new Failure('voice_not_found');
  checkMayChange({ ownerId }, actor);
  return row;
}
