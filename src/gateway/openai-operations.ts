// What the routes of /v1 do, for those who call them; OpenAI's own documents tell the rest.

import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { formatNames } from '../audio/formats.ts';
import { requiredScopesOf } from '../rpc/gate.ts';
import type { Operation, Schema } from './operation.ts';
import { soundContent } from './speech-operations.ts';

const text: Schema = { type: 'string' };
const speaking: Schema = {
  title: 'OpenAiSpeech',
  type: 'object',
  required: ['input', 'voice'],
  properties: {
    model: { ...text, description: 'Means nothing here: every voice speaks by its own engine.' },
    input: { ...text, maxLength: 5000 },
    voice: { oneOf: [text, { type: 'object', required: ['id'], properties: { id: text } }] },
    response_format: { ...text, enum: formatNames, default: 'mp3' },
    speed: { type: 'number', minimum: 0.25, maximum: 4, default: 1 },
    stream_format: { ...text, enum: ['audio', 'sse'], default: 'audio' },
    instructions: { ...text, description: 'Means nothing here.' },
  },
};
const listing = { tag: 'OpenAI', scopes: requiredScopesOf(VoiceService.method.listVoices) } as const;
const listFailures = ['invalid_api_key', 'insufficient_scope', 'rate_limit_exceeded', 'overloaded'] as const;
const list = (description: string, member: string, item: Readonly<Record<string, Schema>>) => ({
  200: {
    description,
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: { object: text, [member]: { type: 'array', items: { type: 'object', properties: item } } },
        },
      },
    },
  },
});

export const openAiOperations = {
  speak: {
    id: 'createSpeech',
    tag: 'OpenAI',
    summary: 'Speak, as OpenAI’s clients ask for it',
    description: 'At 24 000 Hz. The key comes as a bearer token or in X-API-Key; failures are OpenAI’s error object.',
    scopes: requiredScopesOf(SpeechService.method.streamSpeech),
    body: { schema: speaking, examples: { plain: { model: 'tts-1', input: 'Hello.', voice: 'arthur' } } },
    answers: {
      200: {
        description: 'The sound as it is made, or OpenAI’s events.',
        content: { ...soundContent, 'text/event-stream': { schema: text } },
      },
    },
    failures: [
      ...listFailures,
      ...(['invalid_request', 'text_too_long', 'voice_not_found', 'voice_not_ready'] as const),
      ...(['payload_too_large', 'unsupported_media_type'] as const),
      ...(['engine_error', 'engine_unavailable', 'engine_timeout', 'storage_unavailable'] as const),
    ],
  },
  listVoices: {
    ...listing,
    id: 'listOpenAiVoices',
    summary: 'Voices, as OpenAI’s clients list them',
    answers: list('All that can speak now.', 'voices', { id: text, name: text }),
    failures: listFailures,
  },
  listModels: {
    ...listing,
    id: 'listModels',
    summary: 'Models, as OpenAI’s clients list them',
    answers: list('Names that tools ask for.', 'data', {
      id: text,
      object: text,
      created: { type: 'integer' },
      owned_by: text,
    }),
    failures: listFailures,
  },
} as const satisfies Record<string, Operation>;
