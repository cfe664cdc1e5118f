// Lexicons: listed, made, replaced and deleted by callers, among those that they may use.
import type { StoredLexicon } from '../lexicons/lexicon-cache.ts';
import type { LexiconFields } from '../lexicons/lexicon-fields.ts';
import type { LexiconManagement } from '../lexicons/lexicon-management.ts';
import { lexiconOwnerOf } from '../speech/lexicons.ts';
import type { VoiceOwner, Voices } from '../speech/voice.ts';
import { actorOf, type Call } from './call.ts';
import { type Page, toPage } from './page.ts';

/** A lexicon, and whose it is for the caller. */
export type ListedLexicon = StoredLexicon & { owner: VoiceOwner };

export type LexiconOperations = ReturnType<typeof createLexiconOperations>;

export function createLexiconOperations(management: LexiconManagement, { findCurrent }: Pick<Voices, 'findCurrent'>) {
  const toListed = (lexicon: StoredLexicon, { caller }: Call): ListedLexicon => ({
    ...lexicon,
    owner: lexiconOwnerOf(lexicon, caller),
  });
  return {
    async listLexicons(call: Call, page: Page) {
      const { size, after = '' } = page;
      const found = management.list(call.caller).filter(({ lexiconId }) => lexiconId > after);
      const listed = found.slice(0, size + 1).map((lexicon) => toListed(lexicon, call));
      return toPage(listed, page, ({ lexiconId }) => lexiconId);
    },
    getLexicon: (call: Call, lexiconId: string) =>
      findCurrent(() => toListed(management.find(lexiconId, call.caller), call)),
    createLexicon: async (call: Call, fields: LexiconFields) =>
      toListed(await management.create(fields, actorOf(call)), call),
    replaceLexicon: async (call: Call, lexiconId: string, fields: LexiconFields) =>
      toListed(await findCurrent(() => management.replace(lexiconId, fields, actorOf(call))), call),
    deleteLexicon: (call: Call, lexiconId: string) => findCurrent(() => management.remove(lexiconId, actorOf(call))),
  };
}
