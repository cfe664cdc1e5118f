// The lexicons that are bound to a voice: whoever binds them must be allowed to use them; then all who use the voice do.
import type { FieldViolation } from '../errors.ts';
import { lexiconIdsMax } from '../speech/lexicon-field.ts';
import { type Lexicons, lookUpLexicons } from '../speech/lexicons.ts';
import type { VoiceUser } from '../speech/voice.ts';

export interface LexiconChecks {
  lexicons: Lexicons;
  actor: VoiceUser;
}

/** Reports each that cannot be bound. */
export function checkBoundLexicons(
  lexiconIds: readonly string[],
  { lexicons, actor }: LexiconChecks,
  faults: FieldViolation[],
): void {
  const isTwice = new Set(lexiconIds).size < lexiconIds.length;
  if (isTwice || lexiconIds.length > lexiconIdsMax) {
    const message = isTwice ? 'must name each lexicon once' : `must be at most ${lexiconIdsMax}`;
    faults.push({ field: 'lexicon_ids', reason: isTwice ? 'duplicate' : 'length', message });
  } else lookUpLexicons(lexicons, lexiconIds, actor, faults);
}
