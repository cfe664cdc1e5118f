// The lexicons that are bound to a voice: whoever binds them must be allowed to use them; then all who use the voice do.
import type { FieldViolation } from '../errors.ts';
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
  lookUpLexicons(lexicons, lexiconIds, actor, faults);
}
