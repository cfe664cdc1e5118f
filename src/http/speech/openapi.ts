// The OpenAPI documentation of /api/audio, and what it shares with that of event streams.
import { idempotencyKeyCharsMax } from '../../api/limits.ts';
import { speechOperations } from '../../api/operation.ts';
import { audioFormats, formatNames } from '../../audio/formats.ts';
import { speechFieldRows } from '../../speech/fields.ts';
import type { ReplyHeaderName } from '../reply-headers.ts';
import {
  describeObject,
  documentOperation,
  jsonAnswer,
  pathId,
  type RouteDocs,
  requestHeader,
  type Schema,
  text,
} from '../route-docs.ts';
import { eventContent } from './event-schemas.ts';

const { synthesizeSpeech, streamSpeech, deleteAudio, estimateSpeech } = speechOperations;

/** By their JSON names. */
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

export const exampleAudioId = 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';

const link = describeObject('SpeechLink', {
  status: [text('Always this.', { enum: ['success'] }), 'success'],
  audio_url: [
    text('Public URL of the audio file.', { format: 'uri' }),
    `http://127.0.0.1:8080/audio/${exampleAudioId}.wav`,
  ],
  voice_name: [text('Name of the voice used.'), 'Clara'],
  method: [text('Always this.', { enum: ['rest'] }), 'rest'],
  chars: [{ type: 'integer', description: 'Unicode code points of the text received.' }, 13],
  format: [text('Encoding of the audio.', { enum: formatNames }), 'wav'],
});
const estimate = describeObject('SpeechEstimate', {
  chars: [{ type: 'integer', description: 'Unicode code points of the text, which would be charged.' }, 13],
  duration: [{ type: 'number', description: 'Approximate duration in seconds.' }, 1.04],
  bytes: [{ type: 'integer', description: 'Approximate size of the audio.' }, 91_772],
  segments: [{ type: 'integer', description: 'Number of segments that the text would be split into.' }, 1],
  warnings: [
    {
      type: 'array',
      items: { type: 'string' },
      description:
        '`nothing_spoken`, `transliterated`, `fallback_engine`, and `ignored:` with the name of markup, or of a field, that has no effect',
    },
    [],
  ],
});

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
];

const sound = { schema: { type: 'string', format: 'binary' } };
export const soundContent = Object.fromEntries(
  formatNames.map((name) => audioFormats[name]).map(({ contentType }) => [contentType, sound]),
);

/** In addition to those of every operation. */
export const speakingFailures = [
  'text_too_long',
  'voice_not_found',
  'voice_not_ready',
  'engine_error',
  'engine_unavailable',
  'engine_timeout',
  'storage_full',
] as const;

export const speechDocs: RouteDocs = {
  id: 'synthesizeSpeech',
  tag: 'Speech',
  summary: 'Turn text into speech',
  description:
    'With `method` `rest`, the reply follows when all is spoken: a link (`return_format` `url`) or the audio (`buffer`). ' +
    'With `method` `streaming`, it is the audio as it is synthesized, or events if `Accept` is `text/event-stream`. ' +
    'The status is sent with the first audio; a body that ends cleanly is complete.',
  scopes: [...synthesizeSpeech.scopes, ...streamSpeech.scopes],
  parameters: [
    requestHeader(
      'Idempotency-Key',
      'For links: a repeated request with the same key gets the same reply for 24 hours. Ignored, and named in ' +
        'X-Ignored-Fields, for audio and streams.',
      { type: 'string', maxLength: idempotencyKeyCharsMax },
    ),
    requestHeader('Cache-Control', '`no-cache` bypasses the cache.'),
    requestHeader('Last-Event-ID', 'For events: that stream is resumed, and nothing is started or charged.'),
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
      content: { 'application/json': link, ...soundContent, ...eventContent },
    },
    204: { description: 'There are no events after that of Last-Event-ID.' },
  },
  failures: [...speakingFailures, 'idempotency_conflict', 'stream_expired'],
};

export const estimateDocs: RouteDocs = {
  ...documentOperation(estimateSpeech),
  tag: 'Speech',
  summary: 'Estimate the cost of speech',
  description: 'Takes the body of POST /api/audio/speech; nothing is synthesized.',
  body: { schema: speechRequestSchema, examples: { text: { voice_id: 'clara', text: 'Hello, world.' } } },
  answers: { 200: jsonAnswer('The estimate.', estimate.schema, estimate.example) },
  failures: ['text_too_long', 'voice_not_found', 'voice_not_ready'],
};

export const deleteDocs: RouteDocs = {
  ...documentOperation(deleteAudio),
  tag: 'Audio',
  summary: 'Delete audio created with this key',
  parameters: [pathId('Id of the audio.', exampleAudioId, 'aud_')],
  answers: { 204: { description: 'The audio and its link are deleted.' } },
  failures: ['not_found'],
};
