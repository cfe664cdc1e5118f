// The documentation of the routes that speak, and what it shares with that of streams.

import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { audioFormats, formatNames, outputSampleRatesHz } from '../audio/formats.ts';
import { requiredScopesOf } from '../rpc/gate.ts';
import { captionKinds } from '../speech/captions.ts';
import { speakingRates } from '../speech/request.ts';
import type { Operation, Parameter, Schema } from './operation.ts';
import type { ReplyHeaderName } from './reply-headers.ts';

/** As speech/request.ts has them. */
const [charsMax, chunksMax, chunkCharsMax, totalCharsMax] = [5000, 200, 5000, 50_000];
const { synthesizeSpeech, streamSpeech, deleteAudio, estimateSpeech } = SpeechService.method;

export const speechProperties = {
  voice_id: {
    type: 'string',
    minLength: 1,
    maxLength: 128,
    description: 'Voice to speak with; GET /api/voices lists them.',
  },
  text: {
    type: 'string',
    maxLength: charsMax,
    description: `Text to speak, for \`method\` \`rest\`: at most ${charsMax} Unicode code points, not blank.`,
  },
  text_chunks: {
    type: 'array',
    items: { type: 'string', maxLength: chunkCharsMax },
    minItems: 1,
    maxItems: chunksMax,
    description: `Texts to speak in order, for \`method\` \`streaming\`: at most ${chunksMax}, each at most ${chunkCharsMax} code points, together ${totalCharsMax}.`,
  },
  sample_rate: {
    type: 'number',
    enum: outputSampleRatesHz,
    default: 44100,
    description: 'Sample rate of the audio in hertz.',
  },
  language_code: {
    type: 'string',
    default: 'en-US',
    description: 'Language of the text, BCP-47; one that the voice speaks.',
  },
  method: {
    type: 'string',
    enum: ['rest', 'streaming'],
    default: 'rest',
    description: 'Whether to answer when all is spoken, or as it is.',
  },
  return_format: {
    type: 'string',
    enum: ['url', 'buffer'],
    default: 'url',
    description:
      '`url` answers with a public link, `buffer` with the audio. Given explicitly, `url` also keeps a stream.',
  },
  output_format: {
    type: 'string',
    enum: formatNames,
    default: 'wav',
    description:
      'Encoding: RIFF WAVE, bare 16-bit little-endian samples, MP3, Opus in Ogg, or FLAC; one channel. An Opus file ' +
      'decodes at 48000 Hz, whatever the sample rate is that was asked for and that stands in its header.',
  },
  speaking_rate: {
    type: 'number',
    minimum: speakingRates.min,
    maximum: speakingRates.max,
    default: 1,
    description: 'Speed of speech; the pitch stays.',
  },
};

const speechRequestSchema: Schema = {
  title: 'SpeechRequest',
  type: 'object',
  required: ['voice_id'],
  properties: {
    ...speechProperties,
    captions: {
      type: 'array',
      items: { type: 'string', enum: captionKinds },
      uniqueItems: true,
      description:
        'Captions to keep beside the audio, for `method` `rest` with `return_format` `url`: SubRip, WebVTT or both. ' +
        'X-Captions-Srt and X-Captions-Vtt tell where they are.',
    },
  },
};

const linkSchema: Schema = {
  title: 'SpeechLink',
  type: 'object',
  required: ['status', 'audio_url', 'voice_name', 'method', 'chars', 'format'],
  properties: {
    status: { type: 'string', enum: ['success'] },
    audio_url: { type: 'string', format: 'uri', description: 'Public address of the audio file.' },
    voice_name: { type: 'string', description: 'Name of the voice used.' },
    method: { type: 'string', enum: ['rest'] },
    chars: { type: 'integer', description: 'Unicode code points of the text received.' },
    format: { type: 'string', enum: formatNames },
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

const sound = { schema: { type: 'string', contentMediaType: 'application/octet-stream' } };
export const soundContent = Object.fromEntries(
  Object.values(audioFormats).map(({ contentType }) => [contentType, sound]),
);
export const eventContent = {
  'text/event-stream': {
    schema: { type: 'string' },
    example:
      'id: aud_01JD:0\nevent: speech.audio.info\ndata: {"type":"speech.audio.info","id":"aud_01JD","voice_id":"clara","voice_name":"Clara","method":"streaming","format":"mp3","content_type":"audio/mpeg","sample_rate":44100,"channels":1,"chunks":1,"chars":6}\n\n' +
      'id: aud_01JD:1\nevent: speech.audio.delta\ndata: {"type":"speech.audio.delta","chunk_index":0,"audio":"SUQz..."}\n\n' +
      'id: aud_01JD:2\nevent: speech.chunk.done\ndata: {"type":"speech.chunk.done","chunk_index":0,"chars":6,"start":0,"end":0.61}\n\n' +
      'id: aud_01JD:3\nevent: speech.audio.done\ndata: {"type":"speech.audio.done","id":"aud_01JD","status":"success","chars":6,"duration":0.61,"bytes":4896,"audio_url":null,"usage":{"characters":6,"audio_seconds":0.61}}\n\n',
  },
};

export const speakingFailures = [
  'invalid_request',
  'text_too_long',
  'invalid_api_key',
  'insufficient_scope',
  'voice_not_found',
  'voice_not_ready',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limit_exceeded',
  'internal_error',
  'engine_error',
  'engine_unavailable',
  'overloaded',
  'engine_timeout',
  'storage_unavailable',
  'storage_full',
] as const;

export const requestHeader = (name: string, description: string): Parameter => ({
  in: 'header',
  name,
  description,
  schema: { type: 'string' },
});

export const pathId = (description: string): Parameter => ({
  in: 'path',
  name: 'id',
  description,
  schema: { type: 'string' },
  required: true,
});

export const speechOperation: Operation = {
  id: 'synthesizeSpeech',
  tag: 'Speech',
  summary: 'Turn text into speech',
  description:
    'With `method` `rest`, answers when all is spoken: with a link (`return_format` `url`), or with the audio (`buffer`). ' +
    'With `method` `streaming`, answers with the audio as it is made, or with events if `Accept` is `text/event-stream`. ' +
    'The status waits for the first sound; a body that ends cleanly is whole.',
  scopes: [...requiredScopesOf(synthesizeSpeech), ...requiredScopesOf(streamSpeech)],
  parameters: [
    requestHeader(
      'Idempotency-Key',
      'For links: the same request under the same key gets the same answer for 24 hours.',
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
      headers: soundHeaders,
      content: { 'application/json': { schema: linkSchema }, ...soundContent, ...eventContent },
    },
  },
  failures: [...speakingFailures, 'idempotency_conflict'],
};

export const estimateOperation: Operation = {
  id: 'estimateSpeech',
  tag: 'Speech',
  summary: 'Ask what speaking would cost',
  description: 'Takes the body of POST /api/audio/speech and speaks nothing.',
  scopes: requiredScopesOf(estimateSpeech),
  body: { schema: speechRequestSchema, examples: { text: { voice_id: 'clara', text: 'Hello, world.' } } },
  answers: {
    200: {
      description: 'The estimate.',
      headers: ['X-Ignored-Fields'],
      content: { 'application/json': { schema: estimateSchema } },
    },
  },
  failures: speakingFailures.filter((reason) => !reason.startsWith('engine') && reason !== 'storage_full'),
};

export const deleteOperation: Operation = {
  id: 'deleteAudio',
  tag: 'Audio',
  summary: 'Delete audio that this key made',
  scopes: requiredScopesOf(deleteAudio),
  parameters: [pathId('Id of the audio.')],
  answers: { 204: { description: 'It is gone, and its link with it.' } },
  failures: ['invalid_api_key', 'insufficient_scope', 'not_found', 'storage_unavailable'],
};
