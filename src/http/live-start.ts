// Parses the start of live speech, of ours or from the fields of another vendor's API: violations name the vendor's fields.
import { liveWaitingCharsMax } from '../api/call-limits.ts';
import type { Fields } from '../contract/unknown-fields.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { type LiveStart, parseLiveStart } from '../speech/live-request.ts';
import { countChars } from '../text/count-chars.ts';

/** BCP-47 for an unknown language: that of the voice. */
export const ownLanguage = 'und';

/** A context in which nothing was said is given this much silence: clients take one without audio for a failure. */
export const emptyContextSeconds = 0.1;

/** A Failure where a text that is sent in one request is longer than what may wait to be spoken. */
export function checkTextFits(text: string, otherWay: string): void {
  const actual = countChars(text);
  const limit = liveWaitingCharsMax;
  if (actual <= limit) return;
  const message = `The text has ${actual} characters; the limit is ${limit}. ${otherWay}.`;
  throw new Failure('text_too_long', { message, limit, actual });
}

/** `theirs` has the vendor's names of our fields; `faults` that were found before are reported first. */
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
