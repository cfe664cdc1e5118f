// What the routes of /api/voices do, for those who call them.
import { voiceOperations } from '../../operations/operation.ts';
import { pageParameters } from '../http/page-query.ts';
import { type Parameter, queryParameter, type RouteDocs, type Schema } from '../http/route-docs.ts';
import { requestHeader } from '../speech/openapi.ts';
import {
  cloneSchema,
  cloningSchema,
  exampleCloneForm,
  exampleCloning,
  exampleMadeVoice,
  exampleSilencedVoice,
  exampleVoice,
  voiceIdSchema,
  voicePageSchema,
  voiceSchema,
  voiceSpecSchema,
} from './schemas.ts';

const { listVoices, getVoice, createVoice } = voiceOperations;

const idOf = (example: string): readonly Parameter[] => [
  { in: 'path', name: 'id', description: 'Id of the voice.', schema: { type: 'string' }, required: true, example },
];
const answer = (description: string, example: unknown, schema: Schema = voiceSchema) => ({
  description,
  content: { 'application/json': { schema, example } },
});
const reading = { tag: 'Voices', scopes: getVoice.scopes } as const;
const writing = { tag: 'Voices', scopes: createVoice.scopes } as const;
const engineFailures = ['engine_error', 'engine_unavailable', 'engine_timeout'] as const;

export const voiceDocs = {
  list: {
    ...reading,
    id: 'listVoices',
    summary: 'List voices',
    scopes: listVoices.scopes,
    parameters: [
      queryParameter('language_code', 'Only voices that can speak this BCP-47 language.'),
      queryParameter('engine', 'Only voices of this engine.'),
      queryParameter('text', 'Only voices with these words in their id, name, description or labels.'),
      ...pageParameters,
    ],
    answers: {
      200: answer('A page of voices.', { voices: [exampleVoice], next_cursor: null }, voicePageSchema),
    },
    failures: [],
  },
  get: {
    ...reading,
    id: 'getVoice',
    summary: 'Tell of a voice',
    parameters: idOf('clara'),
    answers: { 200: answer('The voice.', exampleVoice) },
    failures: ['voice_not_found'],
  },
  preview: {
    ...reading,
    id: 'previewVoice',
    summary: 'Let hear a voice',
    description: 'A sentence in its own language.',
    parameters: [...idOf('clara'), requestHeader('If-None-Match', 'The ETag of what you have.')],
    answers: {
      200: {
        description: 'The sound.',
        headers: ['ETag', 'Cache-Control'],
        content: { 'audio/mpeg': { schema: { type: 'string', format: 'binary' } } },
      },
      304: { description: 'You have it.', headers: ['ETag', 'Cache-Control'] },
    },
    failures: ['voice_not_found', 'voice_not_ready', ...engineFailures],
  },
  describeCloning: {
    ...reading,
    id: 'describeCloning',
    summary: 'Tell how people can be cloned here',
    answers: { 200: answer('Engines that can, and what they need.', exampleCloning, cloningSchema) },
    failures: [],
  },
  create: {
    ...writing,
    id: 'createVoice',
    summary: 'Make a voice, or clone a person',
    description:
      'JSON makes a voice that engines’ own voices speak. A form clones a person who consents; nobody is cloned without a recording of that.',
    body: {
      schema: voiceSpecSchema('NewVoice', { voice_id: voiceIdSchema }),
      form: { type: 'multipart/form-data', schema: cloneSchema, example: exampleCloneForm },
      examples: { bound: { voice_id: 'news', name: 'News', bindings: [{ engine: 'acme', voice_id: 'joan' }] } },
    },
    answers: {
      201: { ...answer('The voice; it can speak.', exampleMadeVoice), headers: ['Location', 'X-Ignored-Fields'] },
    },
    failures: [...engineFailures, 'storage_full'],
  },
  update: {
    ...writing,
    id: 'updateVoice',
    summary: 'Change a voice',
    description: 'Members that are left out stay as they are. Requests that run go on with what they began with.',
    parameters: idOf('news'),
    body: { schema: voiceSpecSchema('VoiceChange', {}), examples: { off: { enabled: false } } },
    answers: {
      200: {
        ...answer('The voice as it is now.', { ...exampleMadeVoice, status: 'disabled' }),
        headers: ['X-Ignored-Fields'],
      },
    },
    failures: ['voice_not_found', 'voice_not_ready', 'storage_full'],
  },
  remove: {
    ...writing,
    id: 'deleteVoice',
    summary: 'Delete a voice',
    description: 'With what its clone was made of, and all stored audio of a clone.',
    parameters: idOf('news'),
    answers: { 204: { description: 'It is gone.' } },
    failures: ['voice_not_found'],
  },
  revokeConsent: {
    ...writing,
    id: 'revokeVoiceConsent',
    summary: 'Withdraw the consent of the person cloned',
    description:
      'The voice falls silent at once and for good; what it was made of and all stored audio of it is destroyed.',
    parameters: idOf(exampleSilencedVoice.voice_id),
    answers: { 200: answer('The voice as it is now.', exampleSilencedVoice) },
    failures: ['voice_not_found'],
  },
} as const satisfies Record<string, RouteDocs>;
