// The OpenAPI documentation of /api/lexicons.
import { lexiconOperations } from '../../api/operation.ts';
import {
  aliasCharsMax,
  graphemeCharsMax,
  lexiconEntriesMax,
  lexiconNameCharsMax,
  phonemeCharsMax,
} from '../../lexicons/lexicon-limits.ts';
import { voiceAccesses } from '../../speech/stored-voices.ts';
import { letterCases, phoneticAlphabets } from '../../text/lexicon.ts';
import { writePls } from '../../text/pls.ts';
import { pageOf, pageParameters } from '../page-query.ts';
import {
  describeObject,
  documentOperation,
  jsonAnswer,
  pathId,
  queryParameter,
  type RouteDocs,
  type Schema,
  text,
  whole,
} from '../route-docs.ts';

const tag = 'Lexicons';
const exampleId = 'lex_01JD3Q8S6V5W2K9YB4XJ7M0C3F';
const id = pathId('Id of the lexicon.', exampleId);
const time = (description: string): Schema => text(description, { format: 'date-time' });
const access = text('Who may use it: its account, or every key.', { enum: [...voiceAccesses] });
const name = text('Display name, in any script.', { maxLength: lexiconNameCharsMax });

const entry: Schema = {
  title: 'LexiconEntry',
  type: 'object',
  required: ['grapheme'],
  properties: {
    grapheme: text('The words as they are written.', { minLength: 1, maxLength: graphemeCharsMax }),
    alias: text('What is said in their place; or `phoneme`.', { maxLength: aliasCharsMax }),
    phoneme: text('How they are pronounced, in the alphabet.', { maxLength: phonemeCharsMax }),
    alphabet: text('Alphabet of the phoneme.', { enum: [...phoneticAlphabets], default: 'ipa' }),
    language_code: text('Only for text in this BCP-47 language.'),
    case: text('Whether letters must be of the same case.', { enum: [...letterCases], default: 'sensitive' }),
  },
};
const entries: Schema = {
  type: 'array',
  maxItems: lexiconEntriesMax,
  items: entry,
  description: 'Of two entries for the same words, the first wins; of all entries that match, the longest.',
};
const exampleEntries = [
  { grapheme: 'AWS', alias: 'Amazon Web Services' },
  { grapheme: 'tomato', phoneme: 'təˈmɑːtəʊ', alphabet: 'ipa', language_code: 'en', case: 'insensitive' },
];

const members = {
  lexicon_id: [text('Identifies the lexicon in requests.'), exampleId],
  name: [name, 'Products'],
  access: [access, 'private'],
  owner: [
    text('Whose it is: of the account of this key, the operator’s, or of another account.', {
      enum: ['self', 'operator', 'other'],
    }),
    'self',
  ],
  version: [text('Another one where the entries are others.'), '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'],
  entry_count: [whole('How many entries it has.'), 2],
  created_at: [time('When it was created.'), '2030-01-02T03:04:05.000Z'],
  updated_at: [time('When it was last changed.'), '2030-01-02T03:04:05.000Z'],
} as const;
const lexicon = describeObject('Lexicon', members);
const withEntries = describeObject('LexiconWithEntries', { ...members, entries: [entries, exampleEntries] });
const examplePls = writePls('Products', [{ grapheme: 'AWS', alias: 'Amazon Web Services' }], undefined);
const document: Schema = { type: 'string', description: 'A document of PLS 1.0.' };

const body = (title: string, isNew: boolean) => ({
  schema: {
    title,
    type: 'object',
    required: isNew ? ['name', 'entries'] : ['entries'],
    properties: { name, access, entries },
  },
  examples: { entries: { ...(isNew && { name: 'Products' }), entries: exampleEntries } },
});
const plsQuery = [
  queryParameter('name', 'With a PLS document: the name. Default: its title.'),
  queryParameter('access', 'With a PLS document: who may use it.', access),
];
const asPls = 'In place of JSON, a document of the W3C’s PLS 1.0 as `application/pls+xml`.';

export const lexiconDocs = {
  list: {
    tag,
    ...documentOperation(lexiconOperations.listLexicons),
    summary: 'List lexicons',
    parameters: pageParameters,
    answers: { 200: pageOf('LexiconPage', 'lexicons', lexicon, 'In the order of their ids.') },
    failures: [],
  },
  get: {
    tag,
    ...documentOperation(lexiconOperations.getLexicon),
    summary: 'Get a lexicon with its entries',
    description: 'With `Accept: application/pls+xml`, as a PLS document of the entries of `language_code`, or of none.',
    parameters: [id, queryParameter('language_code', 'With a PLS document: the language of the entries.')],
    answers: {
      200: {
        description: 'The lexicon.',
        content: {
          'application/json': { schema: withEntries.schema, example: withEntries.example },
          'application/pls+xml': { schema: document, example: examplePls },
        },
      },
    },
    failures: ['not_found'],
  },
  create: {
    tag,
    ...documentOperation(lexiconOperations.createLexicon),
    summary: 'Create a lexicon',
    description: asPls,
    parameters: plsQuery,
    body: body('NewLexicon', true),
    answers: { 201: jsonAnswer('The lexicon.', lexicon.schema, lexicon.example, ['Location']) },
    failures: ['storage_full'],
  },
  replace: {
    tag,
    ...documentOperation(lexiconOperations.replaceLexicon),
    summary: 'Replace the entries of a lexicon',
    description: `At once and in every replica; running requests are not affected. ${asPls}`,
    parameters: [id, ...plsQuery],
    body: body('LexiconChange', false),
    answers: { 200: jsonAnswer('The lexicon.', lexicon.schema, lexicon.example) },
    failures: ['not_found', 'storage_full'],
  },
  remove: {
    tag,
    ...documentOperation(lexiconOperations.deleteLexicon),
    summary: 'Delete a lexicon',
    description: 'Voices that it is bound to speak on without it, with the warning `ignored:lexicon`.',
    parameters: [id],
    answers: { 204: { description: 'The lexicon is deleted.' } },
    failures: ['not_found'],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
