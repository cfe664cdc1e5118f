// Voices as the lists of other vendors' APIs have them: once under their id, and once more under each of their aliases, so
// that a client finds the voice that it looks for. A page is asked for by the id that the page before ended with.
import { Failure, type FieldViolation } from '../../errors.ts';
import type { OfferedVoice } from '../../speech/voice.ts';

export const toNamedVoices = <Offered extends OfferedVoice>(offered: Offered) =>
  [offered.voice.voiceId, ...offered.aliases].map((id) => ({ id, voice: offered.voice }));

export type NamedVoice = ReturnType<typeof toNamedVoices>[number];

/** A parameter by the vendor's name, and what it was given as. */
type Given = readonly [name: string, value: unknown];

interface PageQuery {
  size: Given;
  sizeDefault: number;
  after: Given;
  /** Where it is given, the page ends before that voice. */
  before?: Given;
}

const pageSizeMax = 100;

/** The voices after that one, from the first where none is given; a Failure where it is not in the list. */
export function pageOfVoices(named: readonly NamedVoice[], { size, sizeDefault, after, before }: PageQuery) {
  const count = isAbsent(size) ? sizeDefault : Number(size[1]);
  if (!(Number.isInteger(count) && count >= 1 && count <= pageSizeMax))
    throw violation({ field: size[0], reason: 'range', message: `must be 1 to ${pageSizeMax}` });
  const start = isAbsent(after) ? 0 : indexOf(named, after) + 1;
  if (!before || isAbsent(before)) {
    const page = named.slice(start, start + count);
    const hasMore = start + page.length < named.length;
    return { page, hasMore, next: hasMore ? page.at(-1)!.id : null };
  }
  const page = named.slice(start, indexOf(named, before)).slice(-count);
  const hasMore = page.length > 0 && page[0] !== named[start];
  return { page, hasMore, next: hasMore ? page[0]!.id : null };
}

const isAbsent = ([, value]: Given) => value === undefined || value === '';

function indexOf(named: readonly NamedVoice[], [field, value]: Given): number {
  const index = named.findIndex(({ id }) => id === value);
  if (index >= 0) return index;
  throw violation({ field, reason: 'unknown', message: 'must be the id of a voice in this list' });
}

const violation = (fault: FieldViolation) => new Failure('invalid_request', { details: [fault] });
