// sonant.v1.LexiconService: converts messages to calls of the lexicon operations, and their results to messages.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type LexiconEntry as EntryMessage,
  LexiconEntrySchema,
  LexiconSchema,
  type LexiconService,
  type LexiconSpec,
} from '../../gen/sonant/v1/lexicon_pb.ts';
import { VoiceAccessSchema, VoiceOwnerSchema } from '../../gen/sonant/v1/voice_pb.ts';
import type { LexiconOperations, ListedLexicon } from '../api/lexicons.ts';
import { nameOf, toEnum } from '../api/messages.ts';
import { parsePage } from '../api/page.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import type { LexiconFields } from '../lexicons/lexicon-fields.ts';
import { lexiconEntriesMax } from '../lexicons/lexicon-limits.ts';
import { callOf } from './calls.ts';
import { requireText } from './required.ts';

export function createLexiconService(lexicons: LexiconOperations): ServiceImpl<typeof LexiconService> {
  return {
    async listLexicons(message, context) {
      const violations: FieldViolation[] = [];
      const page = parsePage(message, ['lexicons'], violations);
      if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
      const { items, nextCursor } = await lexicons.listLexicons(callOf(context), page);
      return { lexicons: items.map(toMessage), nextCursor };
    },
    async getLexicon({ lexiconId }, context) {
      const lexicon = await lexicons.getLexicon(callOf(context), required(lexiconId));
      const entries = lexicon.entries().map((entry) => create(LexiconEntrySchema, entry));
      return { lexicon: create(LexiconSchema, { ...toMessage(lexicon), entries }) };
    },
    async createLexicon({ spec }, context) {
      return { lexicon: toMessage(await lexicons.createLexicon(callOf(context), toFields(spec))) };
    },
    async replaceLexicon({ lexiconId, spec }, context) {
      const replaced = lexicons.replaceLexicon(callOf(context), required(lexiconId), toFields(spec));
      return { lexicon: toMessage(await replaced) };
    },
    async deleteLexicon({ lexiconId }, context) {
      await lexicons.deleteLexicon(callOf(context), required(lexiconId));
      return {};
    },
  };
}

const required = (lexiconId: string) => requireText('lexicon_id', lexiconId, 'name the lexicon');

/** The document stands in place of entries where there is one. */
function toFields(spec: LexiconSpec | undefined): LexiconFields {
  const pls = spec?.pls ?? '';
  const message = 'stand beside a PLS document; give one of both';
  const isBoth = pls !== '' && spec!.entries.length > 0;
  const violations: FieldViolation[] = isBoth ? [{ field: 'entries', reason: 'conflict', message }] : [];
  // No entries are as in JSON without the member: what a lexicon has is not lost to a message that leaves them out.
  const given = spec?.entries.length ? spec.entries : undefined;
  // Of too many, no more than their number is looked at.
  const entries = given && given.length <= lexiconEntriesMax ? given.map(toEntry) : given;
  const content = pls === '' ? { entries } : { pls, field: 'pls' };
  return {
    name: spec?.name || undefined,
    access: nameOf<string>(VoiceAccessSchema, spec?.access),
    content,
    violations,
  };
}

const toEntry = ({ grapheme, alias, phoneme, alphabet, languageCode, case: letterCase }: EntryMessage) => ({
  grapheme,
  alias,
  phoneme,
  alphabet,
  language_code: languageCode,
  case: letterCase,
});

const toMessage = (lexicon: ListedLexicon): MessageInitShape<typeof LexiconSchema> => ({
  lexiconId: lexicon.lexiconId,
  name: lexicon.name,
  access: toEnum(VoiceAccessSchema, lexicon.access),
  owner: toEnum(VoiceOwnerSchema, lexicon.owner),
  version: lexicon.version,
  entryCount: lexicon.entryCount,
  createdAt: timestampFromDate(lexicon.createdAt),
  updatedAt: timestampFromDate(lexicon.updatedAt),
});
