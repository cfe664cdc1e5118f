// Provides lexicons for speech, without a store.
import type { Lexicons, OfferedLexicon } from '../../src/speech/text-reading.ts';
import type { LexiconEntry } from '../../src/text/lexicon.ts';
import { compileLexicon } from '../text/compile-lexicon.ts';

export interface KeptLexicon extends Partial<Pick<OfferedLexicon, 'ownerId' | 'access' | 'version'>> {
  entries: readonly LexiconEntry[];
}

export function keepLexicons(kept: Readonly<Record<string, KeptLexicon>>): Lexicons {
  return {
    find(lexiconId) {
      const found = kept[lexiconId];
      if (!found) return undefined;
      const { entries, ownerId = 'test', access = 'private', version = JSON.stringify(entries) } = found;
      const compiled = compileLexicon(entries);
      return { lexiconId, ownerId, access, version, compile: async () => compiled };
    },
  };
}
