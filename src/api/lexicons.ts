// Handlers for lexicons: callers list, create, replace and delete the lexicons that they may use.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type CreateLexiconRequest,
  type GetLexiconRequest,
  type LexiconSchema,
  type LexiconService,
  LexiconSpecSchema,
  type ListLexiconsRequest,
  type ReplaceLexiconRequest,
} from '../../gen/sonant/v1/lexicon_pb.ts';
import { VoiceAccessSchema, VoiceOwnerSchema } from '../../gen/sonant/v1/voice_pb.ts';
import { checkLexicon, type LexiconManagement, type StoredLexicon } from '../library.ts';
import { inSteps } from '../platform/runtime/steps.ts';
import { ownerOf, type Voices } from '../speech.ts';
import type { LexiconEntry } from '../text.ts';
import { actorOf, type Call } from './call.ts';
import { pageOf, readLanguageCode, toEnum, toPage, toTime } from './messages.ts';
import { checked, type Handlers } from './service-handlers.ts';

export function createLexiconHandlers(management: LexiconManagement, { findCurrent }: Pick<Voices, 'findCurrent'>) {
  return {
    listLexicons: checked(
      ({ limit, cursor }: ListLexiconsRequest, _call, violations) =>
        pageOf({ limit, cursor }, ['lexicons'], violations),
      async (_message, call, page) => {
        const { size, after = '' } = page;
        const found = management.list(call.caller).filter(({ lexiconId }) => lexiconId > after);
        const { items, nextCursor } = toPage(found.slice(0, size + 1), page, ({ lexiconId }) => lexiconId);
        return { lexicons: items.map((item) => toLexicon(item, call)), nextCursor };
      },
    ),
    getLexicon: checked(
      ({ languageCode }: GetLexiconRequest, _call, violations) =>
        void readLanguageCode(languageCode, 'language_code', violations),
      async ({ lexiconId }, call) => {
        const lexicon = await findCurrent(() => management.find(lexiconId, call.caller));
        return { lexicon: toLexicon(lexicon, call, lexicon.entries()) };
      },
    ),
    createLexicon: checked(
      ({ spec = create(LexiconSpecSchema) }: CreateLexiconRequest, _call, violations, { emptyLists }) =>
        inSteps(checkLexicon(spec, violations, { isNew: true, isEmptied: emptyLists.includes('entries') })),
      async (_message, call, content) => ({
        lexicon: toLexicon(await management.create(content, actorOf(call)), call),
      }),
    ),
    replaceLexicon: checked(
      async (message: ReplaceLexiconRequest, call, violations, { emptyLists }) => {
        const { lexiconId, spec = create(LexiconSpecSchema) } = message;
        if (lexiconId !== '') await findCurrent(() => management.checkMayChange(lexiconId, actorOf(call)));
        return inSteps(checkLexicon(spec, violations, { isEmptied: emptyLists.includes('entries') }));
      },
      async ({ lexiconId }, call, content) => ({
        lexicon: toLexicon(await findCurrent(() => management.replace(lexiconId, content, actorOf(call))), call),
      }),
    ),
    async deleteLexicon({ lexiconId }, call) {
      await findCurrent(() => management.remove(lexiconId, actorOf(call)));
      return {};
    },
  } satisfies Handlers<typeof LexiconService>;
}

const toLexicon = (
  lexicon: StoredLexicon,
  { caller }: Call,
  entries: LexiconEntry[] = [],
): MessageInitShape<typeof LexiconSchema> => ({
  lexiconId: lexicon.lexiconId,
  name: lexicon.name,
  access: toEnum(VoiceAccessSchema, lexicon.access),
  owner: toEnum(VoiceOwnerSchema, ownerOf(lexicon, caller)),
  version: lexicon.version,
  entryCount: lexicon.entryCount,
  entries,
  createdAt: toTime(lexicon.createdAt)!,
  updatedAt: toTime(lexicon.updatedAt)!,
});
