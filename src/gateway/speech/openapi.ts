// The OpenAPI documentation of the routes that speak, and what it shares with that of streams.

import { audioFormats, formatNames } from '../../audio/formats.ts';
import { idempotencyKeyCharsMax } from '../../operations/limits.ts';
import { speechOperations } from '../../operations/operation.ts';
import { speechFieldRows } from '../../speech/fields.ts';
import type { ReplyHeaderName } from '../http/reply-headers.ts';
import type { Parameter, RouteDocs, Schema } from '../http/route-docs.ts';
import { eventContent } from './event-schemas.ts';

const { synthesizeSpeech, streamSpeech, deleteAudio, estimateSpeech } = speechOperations;

/** By their JSON names, as the rows have them. */
export const fieldSchemas: Readonly<Record<string, Schema>> = Object.fromEntries(
  speechFieldRows.map(({ json, schema }) => [json, schema]),
);
const { timestamps: _, ...speechSchemas } = fieldSchemas;

const speechRequestSchema: Schema = {
  title: 'SpeechRequest',
  type: 'object',
  required: ['voice_id'],
  properties: speechSchemas,
};

const linkSchema: Schema = {
  title: 'SpeechLink',
  type: 'object',
  required: ['status', 'audio_url', 'voice_name', 'method', 'chars', 'format'],
  properties: {
    status: { type: 'string', enum: ['success'], description: 'Always this.' },
    audio_url: { type: 'string', format: 'uri', description: 'Public address of the audio file.' },
    voice_name: { type: 'string', description: 'Name of the voice used.' },
    method: { type: 'string', enum: ['rest'], description: 'Always this.' },
    chars: { type: 'integer', description: 'Unicode code points of the text received.' },
    format: { type: 'string', enum: formatNames, description: 'Encoding of the audio.' },
  },
};

const estimateSchema: Schema = {
  title: 'SpeechEstimate',
  type: 'object',
  required: ['chars', 'duration', 'bytes', 'segments', 'warnings'],
  properties: {
    chars: { type: 'integer', description: 'Unicode code points of the text: what would be counted and charged.' },
    duration: { type: 'number', description: 'About how many seconds it would last.' },
    bytes: { type: 'integer', description: 'About how large it would be.' },
    segments: { type: 'integer', description: 'Into how many segments the text would be cut.' },
    warnings: { type: 'array', items: { type: 'string' }, description: '`nothing_spoken`, `transliterated`' },
  },
};

const exampleLink = {
  status: 'success',
  audio_url: 'http://127.0.0.1:8080/audio/aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H.wav',
  voice_name: 'Clara',
  method: 'rest',
  chars: 13,
  format: 'wav',
};
const exampleEstimate = { chars: 13, duration: 1.04, bytes: 91_772, segments: 1, warnings: [] };

/** Headers that keep proxies from buffering or caching a stream. */
export const streamHeaders: readonly ReplyHeaderName[] = ['Cache-Control', 'X-Accel-Buffering'];

export const soundHeaders: readonly ReplyHeaderName[] = [
  'Content-Disposition',
  'X-Voice',
  'X-Voice-Encoding',
  'X-Voice-Id',
  'X-Method',
  'X-Chars',
  'X-Format',
  'X-Sample-Rate',
  'X-Audio-Id',
  'X-Audio-Duration',
  'X-Audio-Expires',
  'X-Audio-Url',
  'X-Captions-Srt',
  'X-Captions-Vtt',
  'X-Cache',
  'X-Warnings',
  'X-Ignored-Fields',
];

const sound = { schema: { type: 'string', format: 'binary' } };
export const soundContent = Object.fromEntries(
  Object.values(audioFormats).map(({ contentType }) => [contentType, sound]),
);

/** Besides what any operation may meet. */
export const speakingFailures = [
  'text_too_long',
  'voice_not_found',
  'voice_not_ready',
  'engine_error',
  'engine_unavailable',
  'engine_timeout',
  'storage_full',
] as const;

export const requestHeader = (name: string, description: string, schema: Schema = { type: 'string' }): Parameter => ({
  in: 'header',
  name,
  description,
  schema,
});

export const pathId = (description: string, example: string): Parameter => ({
  in: 'path',
  name: 'id',
  description,
  schema: { type: 'string' },
  required: true,
  example,
});

export const exampleAudioId = 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';

export const speechDocs: RouteDocs = {
  id: 'synthesizeSpeech',
  tag: 'Speech',
  summary: 'Turn text into speech',
  description:
    'With `method` `rest`, answers when all is spoken: with a link (`return_format` `url`), or with the audio (`buffer`). ' +
    'With `method` `streaming`, answers with the audio as it is made, or with events if `Accept` is `text/event-stream`. ' +
    'The status waits for the first sound; a body that ends cleanly is whole.',
  scopes: [...synthesizeSpeech.scopes, ...streamSpeech.scopes],
  parameters: [
    requestHeader(
      'Idempotency-Key',
      'For links: the same request under the same key gets the same answer for 24 hours.',
      { type: 'string', maxLength: idempotencyKeyCharsMax },
    ),
    requestHeader('Cache-Control', '`no-cache` has the text spoken anew.'),
  ],
  body: {
    schema: speechRequestSchema,
    examples: {
      url: { voice_id: 'clara', text: 'Hello, world.' },
      buffer: { voice_id: 'clara', text: 'Hello, world.', return_format: 'buffer', output_format: 'mp3' },
      streaming: { voice_id: 'clara', method: 'streaming', text_chunks: ['Hello, ', 'world.'], sample_rate: 24000 },
    },
  },
  answers: {
    200: {
      description: 'A link, or the audio.',
      headers: [...soundHeaders, ...streamHeaders],
      content: { 'application/json': { schema: linkSchema, example: exampleLink }, ...soundContent, ...eventContent },
    },
  },
  failures: [...speakingFailures, 'idempotency_conflict'],
};

export const estimateDocs: RouteDocs = {
  id: 'estimateSpeech',
  tag: 'Speech',
  summary: 'Ask what speaking would cost',
  description: 'Takes the body of POST /api/audio/speech and speaks nothing.',
  scopes: estimateSpeech.scopes,
  body: { schema: speechRequestSchema, examples: { text: { voice_id: 'clara', text: 'Hello, world.' } } },
  answers: {
    200: {
      description: 'The estimate.',
      headers: ['X-Ignored-Fields'],
      content: { 'application/json': { schema: estimateSchema, example: exampleEstimate } },
    },
  },
  failures: ['text_too_long', 'voice_not_found', 'voice_not_ready'],
};

export const deleteDocs: RouteDocs = {
  id: 'deleteAudio',
  tag: 'Audio',
  summary: 'Delete audio that this key made',
  scopes: deleteAudio.scopes,
  parameters: [pathId('Id of the audio.', exampleAudioId)],
  answers: { 204: { description: 'It is gone, and its link with it.' } },
  failures: ['not_found'],
};
