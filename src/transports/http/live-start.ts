// Parses the start message of live speech, from Sonant's API or from the fields of another vendor's API. Violations use
// the vendor's field names.
import { chainOf, checkFitsQuota, type KeyCaller } from '../../accounts.ts';
import { liveWaitingCharsMax } from '../../api.ts';
import type { Fields } from '../../contract.ts';
import { countChars } from '../../platform/count-chars.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { type LiveStart, parseLiveStart } from '../../speech.ts';

/** Seconds of silence sent for a context without text. Clients treat a context without audio as a failure. */
export const emptyContextSeconds = 0.1;

/**
 * Throws a Failure if a text sent in one request exceeds a whole monthly quota of the caller, or the limit for text that
 * waits to be spoken.
 */
export function checkTextFits(text: string, caller: KeyCaller, otherWay: string): void {
  const actual = countChars(text);
  for (const [i, { limits }] of chainOf(caller).entries()) checkFitsQuota(actual, limits.charactersPerMonth, i === 0);
  const limit = liveWaitingCharsMax;
  if (actual <= limit) return;
  const message = `The text has ${actual} characters; the limit is ${limit}. ${otherWay}.`;
  throw new Failure('text_too_long', { message, limit, actual });
}

/** `theirs` maps Sonant's field names to the vendor's names. `faults` are earlier faults, which are reported first. */
export function parseStartOf(
  start: Fields,
  theirs: Readonly<Record<string, string>>,
  faults: readonly FieldViolation[],
): LiveStart {
  try {
    const parsed = parseLiveStart(start);
    if (faults.length === 0) return parsed;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const details = (error.facts.details ?? []).map((fault) => ({
      ...fault,
      field: theirs[fault.field] ?? fault.field,
    }));
    throw new Failure(error.reason, { ...error.facts, details: [...faults, ...details] });
  }
  throw new Failure('invalid_request', { details: faults });
}
