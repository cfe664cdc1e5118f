// Voices as the lists of other vendors' APIs have them: once under their id, and once more under each of their aliases, so
// that a client finds the voice that it looks for. A page is asked for by the id that the page before ended with.
import { Failure, type FieldViolation } from '../../errors.ts';
import type { OfferedVoice } from '../../speech/voice.ts';

export const toNamedVoices = <Offered extends OfferedVoice>(offered: Offered) =>
  [offered.voice.voiceId, ...offered.aliases].map((id) => ({ id, voice: offered.voice }));

export type NamedVoice = ReturnType<typeof toNamedVoices>[number];

interface PageQuery {
  /** The vendor's name of the parameter, and what it was given as. */
  after: readonly [name: string, value: unknown];
  size: number;
}

/** The voices after that one, from the first where none is given; a Failure where it is not in the list. */
export function pageOfVoices(named: readonly NamedVoice[], { after: [field, value], size }: PageQuery) {
  const isFirst = value === undefined || value === '';
  const index = isFirst ? -1 : named.findIndex(({ id }) => id === value);
  if (!isFirst && index < 0) {
    const details: FieldViolation[] = [{ field, reason: 'unknown', message: 'must be the id of a voice in this list' }];
    throw new Failure('invalid_request', { details });
  }
  const page = named.slice(index + 1, index + 1 + size);
  const hasMore = index + 1 + page.length < named.length;
  return { page, hasMore, next: hasMore ? page.at(-1)!.id : null };
}
