// The field of a request for speech that asks for lexicons, as fields.ts has its rows.
import type { FieldReason } from '../errors.ts';

/** Of one request, or bound to one voice. */
export const lexiconIdsMax = 10;

export const lexiconIdsField = {
  json: 'lexicon_ids',
  names: { openai: 'lexicon_ids' },
  flag: {
    name: 'lexicon',
    value: 'ID',
    help: 'how words are said: a lexicon or a file of one; of several, the first wins',
  },
  schema: {
    type: 'array',
    items: { type: 'string' },
    uniqueItems: true,
    maxItems: lexiconIdsMax,
    description:
      'Lexicons that state how words are said, by id; the first that has a word wins, and those of the voice come ' +
      'last. GET /api/lexicons lists them.',
  },
  parse(given: unknown, report: (reason: FieldReason, message: string) => void): readonly string[] {
    if (given === undefined) return [];
    const isListed = Array.isArray(given) && given.every((each) => typeof each === 'string');
    if (!isListed) report('type', 'must be an array of ids of lexicons');
    else if (given.length > lexiconIdsMax) report('length', `must be at most ${lexiconIdsMax}`);
    else if (new Set(given).size < given.length) report('duplicate', 'must name each lexicon once');
    else return given;
    return [];
  },
  // The cache key has the versions of their content: `delivery/cache-key.ts` adds them.
  changesSound: false,
} as const;
