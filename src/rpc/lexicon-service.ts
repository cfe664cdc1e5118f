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
import type { LexiconOperations, ListedLexicon } from '../api/lexicons.ts';
import { parsePage } from '../api/page.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import type { LexiconFields } from '../lexicons/lexicon-fields.ts';
import { lexiconEntriesMax } from '../lexicons/lexicon-limits.ts';
import { callOf } from './call-context.ts';
import { pageNames, requireText } from './required.ts';
import { accesses, owners, toAccess } from './voice-message.ts';

export function createLexiconService(lexicons: LexiconOperations): ServiceImpl<typeof LexiconService> {
  return {
    async listLexicons(message, context) {
      const violations: FieldViolation[] = [];
      const page = parsePage(message, ['lexicons'], pageNames, violations);
      if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
      const { items, nextPageToken } = await lexicons.listLexicons(callOf(context), page);
      return { lexicons: items.map(toMessage), nextPageToken };
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
  return { name: spec?.name || undefined, access: toAccess(spec?.access), content, violations };
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
  access: accesses[lexicon.access],
  owner: owners[lexicon.owner],
  version: lexicon.version,
  entryCount: lexicon.entryCount,
  createTime: timestampFromDate(lexicon.createdAt),
  updateTime: timestampFromDate(lexicon.updatedAt),
});
