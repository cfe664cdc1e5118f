// The OpenAPI documentation of /api/audio, and the parts that it shares with event streams.
import type { DescMessage } from '@bufbuild/protobuf';
import {
  EstimateSpeechResponseSchema,
  SpeechService,
  StreamSpeechRequestSchema,
  SynthesizeSpeechRequestSchema,
  SynthesizeSpeechResponseSchema,
} from '../../../../gen/sonant/v1/speech_pb.ts';
import { scopesOf } from '../../../api.ts';
import { audioFormats } from '../../../audio.ts';
import { bodySchema, messageSchema } from '../../../contract.ts';
import { speechFields } from '../../../speech.ts';
import type { ReplyHeaderName } from '../documented-headers.ts';
import { idempotencyKeyCharsMax } from '../http-limits.ts';
import {
  describeObject,
  documentOperation,
  jsonAnswer,
  objectSchema,
  type RouteDocs,
  requestHeader,
  type Schema,
  text,
} from '../route-docs.ts';
import { eventContent, member } from './event-schemas.ts';

const { synthesizeSpeech, streamSpeech, estimateSpeech } = SpeechService.method;

const schemasOf = (desc: DescMessage) => messageSchema(desc, 'request').properties as Readonly<Record<string, Schema>>;
/** Schemas of the members of a request in JSON, by name. */
export const fieldSchemas: Readonly<Record<string, Schema>> = {
  ...schemasOf(StreamSpeechRequestSchema),
  ...schemasOf(SynthesizeSpeechRequestSchema),
  method: text(
    '`rest` returns the audio of `text` when all of it is synthesized; `streaming` returns the audio of `text_chunks` while it is being synthesized.',
    { title: 'SpeechMethod', enum: ['rest', 'streaming'], default: 'rest' },
  ),
};
const { timestamps: _, ...speechSchemas } = fieldSchemas;
const { return_format: _link, captions: _files, ...audioSchemas } = speechSchemas;

/** The schema of a request for speech. */
export const speechSchema = (
  title: string,
  properties: Readonly<Record<string, Schema>>,
  description?: string,
): Schema => bodySchema({ ...objectSchema(title, properties, description), required: ['voice_id'] });
const speechRequestSchema = speechSchema('SpeechRequest', speechSchemas);

export const exampleAudioId = 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';

const ofLink = (name: string) => member(SynthesizeSpeechResponseSchema, name);
const link = describeObject('SpeechLink', {
  status: [text('The only value.', { enum: ['success'] }), 'success'],
  audio_url: [{ ...ofLink('audio_url'), format: 'uri' }, `http://127.0.0.1:8080/audio/${exampleAudioId}.wav`],
  voice_name: [ofLink('voice_name'), 'Clara'],
  method: [text('The only value.', { enum: ['rest'] }), 'rest'],
  chars: [ofLink('chars'), 13],
  format: [{ ...ofLink('format'), enum: speechFields.formatNames }, 'wav'],
});
const ofEstimate = (name: string) => member(EstimateSpeechResponseSchema, name);
const estimate = describeObject('SpeechEstimate', {
  chars: [ofEstimate('chars'), 13],
  duration: [ofEstimate('duration'), 1.04],
  bytes: [ofEstimate('bytes'), 91_772],
  segments: [ofEstimate('segments'), 1],
  warnings: [ofEstimate('warnings'), []],
});

/** Headers that keep proxies from buffering or caching a stream. */
export const streamHeaders: readonly ReplyHeaderName[] = ['Cache-Control', 'X-Accel-Buffering'];

export const soundHeaderNames: readonly ReplyHeaderName[] = [
  'Content-Disposition',
  'X-Voice',
  'X-Voice-Encoding',
  'X-Voice-Id',
  'X-Method',
  'X-Chars',
  'X-Chars-Charged',
  'X-Format',
  'X-Sample-Rate',
  'X-Audio-Id',
  'X-Audio-Duration',
  'X-Audio-Expires',
  'X-Audio-Url',
  'Link',
  'X-Captions-Srt',
  'X-Captions-Vtt',
  'X-Cache',
  'X-Speech-Check',
  'X-Warnings',
];

const sound = { schema: { type: 'string', format: 'binary' } };
export const soundContent = Object.fromEntries(
  speechFields.formatNames.map((name) => audioFormats[name]).map(({ contentType }) => [contentType, sound]),
);

/** Failures of speech, in addition to the failures of every operation. */
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
    'With `method` `rest`, the reply is sent when all text is spoken: a link (`return_format` `url`) or the audio (`buffer`). ' +
    'With `method` `streaming`, the reply is the audio while it is being synthesized, or events if `Accept` is `text/event-stream`. ' +
    'The status is sent with the first audio; a body that ends cleanly is complete.',
  scopes: [...scopesOf(synthesizeSpeech), ...scopesOf(streamSpeech)],
  parameters: [
    requestHeader(
      'Idempotency-Key',
      'For links: a repeated request with the same key gets the same reply for 24 hours. Ignored, and named in ' +
        'X-Ignored-Fields, for audio and streams.',
      { type: 'string', maxLength: idempotencyKeyCharsMax },
    ),
    requestHeader('Cache-Control', '`no-cache` bypasses the cache.'),
    requestHeader('Last-Event-ID', 'For events: the stream of this event is resumed; nothing is started or charged.'),
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
      headers: [...soundHeaderNames, ...streamHeaders],
      content: { 'application/json': link, ...soundContent, ...eventContent },
    },
    204: { description: 'There are no events after Last-Event-ID.' },
  },
  failures: [...speakingFailures, 'idempotency_conflict', 'stream_expired'],
};

export const audioDocs: RouteDocs = {
  ...speechDocs,
  id: 'synthesizeAudio',
  summary: 'Turn text into audio',
  description:
    'Like POST /api/audio/speech with `return_format` `buffer`: every response with status 200 is audio, so that a generated client can type it. ' +
    'With `method` `streaming`, the audio is sent while it is being synthesized.',
  parameters: [requestHeader('Cache-Control', '`no-cache` bypasses the cache.')],
  body: {
    schema: speechSchema('AudioRequest', audioSchemas, 'Like SpeechRequest, for audio in the response.'),
    examples: {
      whole: { voice_id: 'clara', text: 'Hello, world.', output_format: 'mp3' },
      streaming: { voice_id: 'clara', method: 'streaming', text_chunks: ['Hello, ', 'world.'], sample_rate: 24000 },
    },
  },
  answers: {
    200: { description: 'The audio.', headers: [...soundHeaderNames, ...streamHeaders], content: soundContent },
  },
  failures: speakingFailures,
};

export const estimateDocs: RouteDocs = {
  ...documentOperation(estimateSpeech),
  tag: 'Speech',
  summary: 'Estimate the cost of speech',
  description: 'Accepts the body of POST /api/audio/speech. Nothing is synthesized.',
  body: { schema: speechRequestSchema, examples: { text: { voice_id: 'clara', text: 'Hello, world.' } } },
  answers: { 200: jsonAnswer('The estimate.', estimate.schema, estimate.example) },
  failures: ['text_too_long', 'voice_not_found', 'voice_not_ready'],
};
