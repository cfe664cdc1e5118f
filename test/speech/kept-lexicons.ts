// Provides lexicons for speech, without a store.
import { mayUse, type StoredLexicon } from '../../src/library/lexicons/lexicon-cache.ts';
import type { Lexicons } from '../../src/speech/text-reading.ts';
import type { LexiconEntry } from '../../src/text/lexicon.ts';
import { compileLexicon } from '../text/compile-lexicon.ts';

export interface KeptLexicon extends Partial<Pick<StoredLexicon, 'ownerId' | 'access' | 'version'>> {
  entries: readonly LexiconEntry[];
}

export function keepLexicons(kept: Readonly<Record<string, KeptLexicon>>): Lexicons {
  return {
    find(lexiconId, user) {
      const found = kept[lexiconId];
      if (!found) return undefined;
      const { entries, ownerId = 'test', access = 'private', version = JSON.stringify(entries) } = found;
      if (!mayUse({ ownerId, access }, user)) return undefined;
      const compiled = compileLexicon(entries);
      return { lexiconId, version, compile: async () => compiled };
    },
  };
}
