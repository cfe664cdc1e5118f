// The lexicons that are bound to a voice: whoever binds them must be allowed to use them; then all who use the voice do.
import { Failure } from '../errors.ts';
import type { Actor } from '../keys/actor.ts';
import { lexiconIdsMax } from '../speech/lexicon-field.ts';
import { findLexicons, type Lexicons } from '../speech/lexicons.ts';

/** A Failure that names each that cannot be bound. */
export function checkBoundLexicons(lexiconIds: readonly string[], lexicons: Lexicons, actor: Actor): void {
  const isTwice = new Set(lexiconIds).size < lexiconIds.length;
  if (isTwice || lexiconIds.length > lexiconIdsMax) {
    const message = isTwice ? 'must name each lexicon once' : `must be at most ${lexiconIdsMax}`;
    const details = [{ field: 'lexicon_ids', reason: isTwice ? 'duplicate' : 'length', message }];
    throw new Failure('invalid_request', { details });
  }
  findLexicons(lexicons, lexiconIds, actor);
}
