// The OpenAPI documentation of /api/voices.
import { voiceFilterCharsMax } from '../../api/limits.ts';
import { voiceOperations } from '../../api/operation.ts';
import { pageOf, pageParameters } from '../page-query.ts';
import { documentOperation, jsonAnswer, pathId, queryParameter, type RouteDocs, requestHeader } from '../route-docs.ts';
import {
  cloneSchema,
  cloningSchema,
  defaultVoice,
  defaultVoiceChoice,
  exampleBlend,
  exampleCloneForm,
  exampleCloning,
  exampleMadeVoice,
  exampleSilencedVoice,
  voice,
  voiceIdSchema,
  voiceSpecSchema,
} from './schemas.ts';

const idOf = (example: string) => pathId('Id or alias of the voice.', example);
const tag = 'Voices';
const filterText = { type: 'string', maxLength: voiceFilterCharsMax };
const engineFailures = ['engine_error', 'engine_unavailable', 'engine_timeout'] as const;

export const voiceDocs = {
  list: {
    tag,
    ...documentOperation(voiceOperations.listVoices),
    summary: 'List voices',
    parameters: [
      queryParameter('language_code', 'Only voices that can speak this BCP-47 language.'),
      queryParameter('engine', 'Only voices of this engine.', filterText),
      queryParameter(
        'text',
        'Only voices with these words in their id, aliases, name, description or labels.',
        filterText,
      ),
      ...pageParameters,
    ],
    answers: {
      200: pageOf(
        'VoicePage',
        'voices',
        voice,
        'The default voice first, then natural before synthetic ones, then by name.',
      ),
    },
    failures: [],
  },
  get: {
    tag,
    ...documentOperation(voiceOperations.getVoice),
    summary: 'Get a voice',
    parameters: [idOf('clara')],
    answers: { 200: jsonAnswer('The voice.', voice.schema, voice.example) },
    failures: ['voice_not_found'],
  },
  getDefault: {
    tag,
    ...documentOperation(voiceOperations.getDefaultVoice),
    summary: 'Get the default voice',
    answers: { 200: jsonAnswer('The default voice.', defaultVoice.schema, defaultVoice.example) },
    failures: [],
  },
  setDefault: {
    tag,
    ...documentOperation(voiceOperations.setDefaultVoice),
    summary: 'Choose the default voice',
    description:
      'At once and in every replica. The setting `SONANT_DEFAULT_VOICE` goes before the choice: `source` tells which is in force.',
    body: { schema: defaultVoiceChoice, examples: { chosen: { voice_id: 'clara' } } },
    answers: { 200: jsonAnswer('The default voice from then on.', defaultVoice.schema, defaultVoice.example) },
    failures: ['voice_not_found', 'storage_full'],
  },
  preview: {
    tag,
    ...documentOperation(voiceOperations.previewVoice),
    summary: 'Play a sample of a voice',
    description: 'A sentence in the native language of the voice.',
    parameters: [idOf('clara'), requestHeader('If-None-Match', 'The ETag of the copy that you have.')],
    answers: {
      200: {
        description: 'The audio.',
        headers: ['ETag', 'Cache-Control'],
        content: { 'audio/mpeg': { schema: { type: 'string', format: 'binary' } } },
      },
      304: { description: 'Your copy is current.', headers: ['ETag', 'Cache-Control'] },
    },
    failures: ['voice_not_found', 'voice_not_ready', ...engineFailures],
  },
  describeCloning: {
    tag,
    ...documentOperation(voiceOperations.describeCloning),
    summary: 'Get the requirements of voice cloning',
    answers: { 200: jsonAnswer('Engines that can clone, and what they require.', cloningSchema, exampleCloning) },
    failures: [],
  },
  create: {
    tag,
    ...documentOperation(voiceOperations.createVoice),
    summary: 'Create or clone a voice',
    description:
      'JSON creates a voice from engine voices, in order of preference or blended. A form clones a person who consents; a recording of the consent is required.',
    body: {
      schema: voiceSpecSchema('NewVoice', { voice_id: voiceIdSchema }),
      form: { type: 'multipart/form-data', schema: cloneSchema, example: exampleCloneForm },
      examples: {
        bound: { voice_id: 'news', name: 'News', bindings: [{ engine: 'acme', voice_id: 'joan' }] },
        blended: { voice_id: 'warm', name: 'Warm', blend: exampleBlend },
      },
    },
    answers: {
      201: jsonAnswer('The voice, ready to speak.', voice.schema, exampleMadeVoice, ['Location']),
    },
    failures: [...engineFailures, 'storage_full'],
  },
  update: {
    tag,
    ...documentOperation(voiceOperations.updateVoice),
    summary: 'Update a voice',
    description:
      'By its owner or a key with the scope `admin`. Members that are left out stay unchanged. Running requests are not affected.',
    parameters: [idOf('news')],
    body: { schema: voiceSpecSchema('VoiceChange', {}), examples: { off: { enabled: false } } },
    answers: {
      200: jsonAnswer('The updated voice.', voice.schema, { ...exampleMadeVoice, status: 'disabled' }),
    },
    failures: ['voice_not_found', 'voice_not_ready', 'storage_full'],
  },
  remove: {
    tag,
    ...documentOperation(voiceOperations.deleteVoice),
    summary: 'Delete a voice',
    description:
      'By its owner or a key with the scope `admin`. Of a clone, its model and all stored audio are deleted too.',
    parameters: [idOf('news')],
    answers: { 204: { description: 'The voice is deleted.' } },
    failures: ['voice_not_found'],
  },
  revokeConsent: {
    tag,
    ...documentOperation(voiceOperations.revokeVoiceConsent),
    summary: 'Withdraw the consent of the person cloned',
    description: 'Immediate and permanent: the voice is disabled; its model and all its stored audio are destroyed.',
    parameters: [idOf(exampleSilencedVoice.voice_id)],
    answers: { 200: jsonAnswer('The disabled voice.', voice.schema, exampleSilencedVoice) },
    failures: ['voice_not_found'],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
