// What the routes of /api/voices do, for those who call them.
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { requiredScopesOf } from '../rpc/gate.ts';
import { type Operation, queryParameter, type Schema } from './operation.ts';
import { pageParameters } from './page-query.ts';

const { listVoices, getVoice, createVoice } = VoiceService.method;

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'array', items: text };
const labels: Schema = { type: 'object', additionalProperties: text, maxProperties: 20 };
const nullableTime: Schema = { type: ['string', 'null'], format: 'date-time' };
const languages: Schema = { ...texts, description: 'BCP-47 ranges, its own language first: `en` covers `en-US`.' };
const bindings: Schema = {
  type: 'array',
  description: 'Who speaks it, the best first: the next one does where one cannot.',
  items: {
    title: 'VoiceBinding',
    type: 'object',
    required: ['engine'],
    properties: {
      engine: text,
      voice_id: {
        type: ['string', 'null'],
        description: 'Which of the engine’s own; null for a clone that it has made.',
      },
    },
  },
};
const consent: Schema = {
  title: 'VoiceConsent',
  type: ['object', 'null'],
  description: 'Of the person cloned.',
  properties: {
    speaker_name: text,
    statement: text,
    language_code: text,
    audio_sha256: { ...text, description: 'Of the recording, which itself is not kept.' },
    given_at: nullableTime,
    confirmed_by: text,
    revoked_at: nullableTime,
  },
};
const voiceSchema: Schema = {
  title: 'Voice',
  type: 'object',
  required: ['voice_id', 'name', 'description', 'kind', 'engine', 'status', 'language_codes', 'labels', 'capabilities'],
  properties: {
    voice_id: { ...text, description: 'What to ask for.' },
    name: text,
    description: text,
    kind: { ...text, enum: ['stock', 'cloned'] },
    engine: { ...text, description: 'What speaks it, the first that may.' },
    status: { ...text, enum: ['pending', 'ready', 'failed', 'disabled', 'consent_revoked'] },
    language_codes: languages,
    labels,
    bindings,
    capabilities: {
      type: 'object',
      properties: {
        sample_rates: { type: 'array', items: { type: 'integer' } },
        output_formats: texts,
        speaking_rate: { type: 'object', properties: { min: { type: 'number' }, max: { type: 'number' } } },
      },
    },
    consent,
    created_at: nullableTime,
    updated_at: nullableTime,
  },
};
const pageSchema: Schema = {
  title: 'VoicePage',
  type: 'object',
  required: ['voices', 'next_cursor'],
  properties: {
    voices: { type: 'array', items: voiceSchema },
    next_cursor: { type: ['string', 'null'], description: 'Where the next page begins; null on the last one.' },
  },
};
const specSchema = (title: string, more: Readonly<Record<string, Schema>>): Schema => ({
  title,
  type: 'object',
  properties: {
    ...more,
    name: { ...text, minLength: 1, maxLength: 200 },
    description: { ...text, maxLength: 1000 },
    language_codes: languages,
    labels,
    bindings: { ...bindings, minItems: 1, maxItems: 8 },
    enabled: { type: 'boolean', default: true },
  },
});
const voiceIdSchema: Schema = {
  ...text,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$',
  description: 'Default: one is made.',
};
const file = (description: string): Schema => ({ ...text, format: 'binary', description });
const cloneSchema: Schema = {
  title: 'CloneForm',
  type: 'object',
  required: ['name', 'language_code', 'reference_audio', 'consent_audio', 'speaker_name'],
  properties: {
    voice_id: voiceIdSchema,
    name: { ...text, minLength: 1, maxLength: 200 },
    description: { ...text, maxLength: 1000 },
    labels: { ...text, description: 'A JSON object of texts.' },
    language_code: { ...text, description: 'Of both recordings, as BCP-47.' },
    reference_audio: file('The person speaking freely: WAV, FLAC, MP3 or Ogg.'),
    reference_text: { ...text, maxLength: 1000, description: 'What is said in it, where the engine needs to be told.' },
    consent_audio: file('The same person saying the consent script.'),
    speaker_name: { ...text, minLength: 1, maxLength: 200 },
    consent_script: { ...text, maxLength: 1000, description: 'What is said; default: the engine’s own script.' },
    engines: { ...text, description: 'Engines to clone with, with commas between them; default: the first that can.' },
  },
};
const cloningSchema: Schema = {
  title: 'Cloning',
  type: 'object',
  required: ['engines'],
  properties: {
    engines: {
      type: 'array',
      items: {
        title: 'CloningEngine',
        type: 'object',
        properties: {
          engine: text,
          sample_language_codes: texts,
          sample_seconds: { type: 'object', properties: { min: { type: 'number' }, max: { type: 'number' } } },
          needs_reference_text: { type: 'boolean' },
          consent_scripts: { ...labels, description: 'What to say, by language.' },
        },
      },
    },
  },
};

const idParameter = [
  { in: 'path', name: 'id', description: 'Id of the voice.', schema: text, required: true } as const,
];
const answer = (description: string, schema: Schema = voiceSchema) => ({
  description,
  content: { 'application/json': { schema } },
});
const reading = { tag: 'Voices', scopes: requiredScopesOf(getVoice) } as const;
const writing = { tag: 'Voices', scopes: requiredScopesOf(createVoice) } as const;
const usual = [
  'invalid_api_key',
  'insufficient_scope',
  'rate_limit_exceeded',
  'overloaded',
  'storage_unavailable',
] as const;

export const voiceOperations = {
  list: {
    ...reading,
    id: 'listVoices',
    summary: 'List voices',
    scopes: requiredScopesOf(listVoices),
    parameters: [
      queryParameter('language_code', 'Only voices that can speak this BCP-47 language.'),
      queryParameter('engine', 'Only voices of this engine.'),
      queryParameter('text', 'Only voices with these words in their id, name, description or labels.'),
      ...pageParameters,
    ],
    answers: { 200: answer('Voices, ordered by id.', pageSchema) },
    failures: ['invalid_request', 'invalid_api_key', 'insufficient_scope', 'overloaded'],
  },
  get: {
    ...reading,
    id: 'getVoice',
    summary: 'Tell of a voice',
    parameters: idParameter,
    answers: { 200: answer('The voice.') },
    failures: ['invalid_api_key', 'insufficient_scope', 'voice_not_found', 'overloaded'],
  },
  preview: {
    ...reading,
    id: 'previewVoice',
    summary: 'Let hear a voice',
    description: 'A sentence in its own language.',
    parameters: idParameter,
    answers: {
      304: { description: 'You have it.', headers: ['ETag'] },
      200: { description: 'The sound.', content: { 'audio/mpeg': { schema: { ...text, format: 'binary' } } } },
    },
    failures: [...usual, 'voice_not_found', 'voice_not_ready', 'engine_error', 'engine_unavailable', 'engine_timeout'],
  },
  describeCloning: {
    ...reading,
    id: 'describeCloning',
    summary: 'Tell how people can be cloned here',
    answers: { 200: answer('Engines that can, and what they need.', cloningSchema) },
    failures: ['invalid_api_key', 'insufficient_scope', 'overloaded'],
  },
  create: {
    ...writing,
    id: 'createVoice',
    summary: 'Make a voice, or clone a person',
    description:
      'JSON makes a voice that engines’ own voices speak. A form clones a person who consents; nobody is cloned without a recording of that.',
    body: {
      schema: specSchema('NewVoice', { voice_id: voiceIdSchema }),
      form: cloneSchema,
      examples: { bound: { voice_id: 'news', name: 'News', bindings: [{ engine: 'acme', voice_id: 'joan' }] } },
    },
    answers: { 201: { ...answer('The voice; it can speak.'), headers: ['Location', 'X-Ignored-Fields'] } },
    failures: [
      ...usual,
      ...(['invalid_request', 'access_denied', 'payload_too_large', 'unsupported_media_type'] as const),
      ...(['engine_error', 'engine_unavailable', 'engine_timeout', 'storage_full'] as const),
    ],
  },
  update: {
    ...writing,
    id: 'updateVoice',
    summary: 'Change a voice',
    description: 'Members that are left out stay as they are. Requests that run go on with what they began with.',
    parameters: idParameter,
    body: { schema: specSchema('VoiceChange', {}), examples: { off: { enabled: false } } },
    answers: { 200: { ...answer('The voice as it is now.'), headers: ['X-Ignored-Fields'] } },
    failures: [
      ...usual,
      ...(['invalid_request', 'voice_not_found', 'voice_not_ready'] as const),
      ...(['payload_too_large', 'unsupported_media_type'] as const),
    ],
  },
  remove: {
    ...writing,
    id: 'deleteVoice',
    summary: 'Delete a voice',
    description: 'With what its clone was made of, and all stored audio of a clone.',
    parameters: idParameter,
    answers: { 204: { description: 'It is gone.' } },
    failures: [...usual, 'invalid_request', 'voice_not_found'],
  },
  revokeConsent: {
    ...writing,
    id: 'revokeVoiceConsent',
    summary: 'Withdraw the consent of the person cloned',
    description:
      'The voice falls silent at once and for good; what it was made of and all stored audio of it is destroyed.',
    parameters: idParameter,
    answers: { 200: answer('The voice as it is now.') },
    failures: [...usual, 'invalid_request', 'voice_not_found'],
  },
} as const satisfies Record<string, Operation>;
