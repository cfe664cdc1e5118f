// What the routes of /v1 do, for those who call them; OpenAI's own documents tell the rest.

import { formatNames } from '../../audio/formats.ts';
import { speechOperations, voiceOperations } from '../../operations/operation.ts';
import { speechFields, textLimits } from '../../speech/fields.ts';
import type { RouteDocs, Schema } from '../http/route-docs.ts';
import { openAiEventContent } from '../speech/event-schemas.ts';
import { soundContent, soundHeaders, speakingFailures, streamHeaders } from '../speech/openapi.ts';

const text: Schema = { type: 'string' };
const speaking: Schema = {
  title: 'OpenAiSpeech',
  type: 'object',
  required: ['input', 'voice'],
  properties: {
    model: { ...text, description: 'Means nothing here: every voice speaks by its own engine.' },
    input: { ...text, maxLength: textLimits.chunkCharsMax, description: 'Text to speak.' },
    voice: {
      oneOf: [text, { type: 'object', required: ['id'], properties: { id: text } }],
      description: 'Voice to speak with, by its id.',
    },
    response_format: { ...text, enum: formatNames, default: 'mp3', description: 'Encoding.' },
    speed: { ...speechFields.speakingRate.schema, description: 'Speed of speech.' },
    stream_format: { ...text, enum: ['audio', 'sse'], default: 'audio', description: 'Audio, or events with audio.' },
    instructions: { ...text, description: 'Means nothing here.' },
  },
};
const usual = { tag: 'OpenAI', bearer: 'key', isOpenAi: true } as const;
const listing = { ...usual, scopes: voiceOperations.listVoices.scopes } as const;

const item = (title: string, properties: Readonly<Record<string, Schema>>): Schema => ({
  title,
  type: 'object',
  required: Object.keys(properties),
  properties,
});
const voicesSchema = item('OpenAiVoices', {
  voices: {
    type: 'array',
    items: item('OpenAiVoice', {
      id: { ...text, description: 'What to ask for.' },
      name: { ...text, description: 'Its name, in any script.' },
    }),
  },
});
const modelsSchema = item('OpenAiModels', {
  object: { ...text, enum: ['list'] },
  data: {
    type: 'array',
    items: item('OpenAiModel', {
      id: text,
      object: { ...text, enum: ['model'] },
      created: { type: 'integer' },
      owned_by: text,
    }),
  },
});
const exampleModel = { id: 'tts-1', object: 'model', created: 1_735_689_600, owned_by: 'sonant' };

export const openAiDocs = {
  speak: {
    ...usual,
    id: 'createSpeech',
    summary: 'Speak, as OpenAI’s clients ask for it',
    description: 'At 24 000 Hz. The key comes as a bearer token or in X-API-Key; failures are OpenAI’s error object.',
    scopes: speechOperations.streamSpeech.scopes,
    body: { schema: speaking, examples: { plain: { model: 'tts-1', input: 'Hello.', voice: 'clara' } } },
    answers: {
      200: {
        description: 'The sound as it is made, or OpenAI’s events.',
        headers: [
          ...soundHeaders.filter((name) => !/^(Content-Disposition|X-Audio-(Duration|Expires|Url))$/.test(name)),
          ...streamHeaders,
        ],
        content: { ...soundContent, ...openAiEventContent },
      },
    },
    failures: speakingFailures.filter((reason) => reason !== 'storage_full'),
  },
  listVoices: {
    ...listing,
    id: 'listOpenAiVoices',
    summary: 'Voices, as OpenAI’s clients list them',
    answers: {
      200: {
        description: 'All that can speak now.',
        content: {
          'application/json': { schema: voicesSchema, example: { voices: [{ id: 'clara', name: 'Clara' }] } },
        },
      },
    },
    failures: [],
  },
  listModels: {
    ...listing,
    id: 'listModels',
    summary: 'Models, as OpenAI’s clients list them',
    answers: {
      200: {
        description: 'Names that tools ask for.',
        content: {
          'application/json': { schema: modelsSchema, example: { object: 'list', data: [exampleModel] } },
        },
      },
    },
    failures: [],
  },
} as const satisfies Record<string, RouteDocs>;
