// The events of a stream of speech, for those who read them: the data of each is JSON of the schema that its `type` names.
import { openAiFailureSchema } from '../http/documented-failures.ts';
import type { Content, Schema } from '../http/route-docs.ts';

const text: Schema = { type: 'string' };
const whole: Schema = { type: 'integer', minimum: 0 };
const seconds = (description: string): Schema => ({ type: 'number', minimum: 0, description });
const chunkIndex: Schema = { ...whole, description: 'Which of the texts it belongs to, from 0.' };
const chars: Schema = { ...whole, description: 'Unicode code points of the text.' };

/** Every member is always there. */
const event = (
  title: string,
  type: string,
  description: string,
  properties: Readonly<Record<string, Schema>>,
): Schema => ({
  title,
  description,
  type: 'object',
  required: ['type', ...Object.keys(properties)],
  properties: { type: { ...text, const: type }, ...properties },
});

const infoSchema = event('SpeechInfoEvent', 'speech.audio.info', 'The first: what the audio will be.', {
  id: { ...text, description: 'Id of the audio.' },
  voice_id: { ...text, description: 'Id of the voice that speaks.' },
  voice_name: { ...text, description: 'Name of the voice that speaks.' },
  method: { ...text, enum: ['streaming'], description: 'Always this.' },
  format: { ...text, description: 'The `output_format` asked for.' },
  content_type: { ...text, description: 'Media type of the audio.' },
  sample_rate: { ...whole, description: 'Sample rate of the audio in hertz.' },
  channels: { ...whole, description: 'Always 1.' },
  chunks: { ...whole, description: 'How many texts there are to speak.' },
  chars,
});
const deltaSchema = event('SpeechDeltaEvent', 'speech.audio.delta', 'A piece of the audio.', {
  chunk_index: chunkIndex,
  audio: { ...text, contentEncoding: 'base64', description: 'Base64 of at most 32 KiB.' },
});
const timestampsSchema = event(
  'SpeechTimestampsEvent',
  'speech.audio.timestamps',
  'When words are heard; only where `timestamps` is `word`.',
  {
    chunk_index: chunkIndex,
    words: {
      type: 'array',
      description: 'In the order in which they are heard.',
      items: {
        title: 'SpokenWord',
        type: 'object',
        required: ['text', 'offset', 'length', 'start', 'end'],
        properties: {
          text: { ...text, description: 'The word as it stands in the text.' },
          offset: { ...whole, description: 'Where it begins in its own chunk, in code points.' },
          length: { ...whole, description: 'How long it is there, in code points.' },
          start: seconds('When it begins in the audio, in seconds.'),
          end: seconds('When it ends in the audio, in seconds.'),
        },
      },
    },
    quality: { ...text, enum: ['engine', 'estimated'], description: 'Whether the engine told the times.' },
  },
);
const chunkDoneSchema = event('SpeechChunkDoneEvent', 'speech.chunk.done', 'One of the texts is spoken.', {
  chunk_index: chunkIndex,
  chars,
  start: seconds('When it begins in the audio, in seconds.'),
  end: seconds('When it ends in the audio, in seconds.'),
});
const doneSchema = event('SpeechDoneEvent', 'speech.audio.done', 'The last: all is spoken.', {
  id: { ...text, description: 'Id of the audio.' },
  status: { ...text, enum: ['success'], description: 'Always this.' },
  chars,
  duration: seconds('How long the audio lasts, in seconds.'),
  bytes: { ...whole, description: 'How large the audio is.' },
  audio_url: { type: ['string', 'null'], format: 'uri', description: 'Where it is kept; null where it is not.' },
  usage: {
    title: 'SpeechUsage',
    description: 'What is counted.',
    type: 'object',
    required: ['characters', 'audio_seconds'],
    properties: { characters: chars, audio_seconds: seconds('How long the audio lasts, in seconds.') },
  },
});
const errorSchema = event('SpeechErrorEvent', 'error', 'The last, where something failed after the first sound.', {
  error: { ...text, description: 'What went wrong: one of the words of a Failure.' },
  message: { ...text, description: 'The same in a sentence.' },
  status: { type: 'integer', description: 'The status that it would have been.' },
  retryable: { type: 'boolean', description: 'Whether the same request may succeed later.' },
  chunk_index: chunkIndex,
  request_id: { ...text, description: 'Quote it to the operator.' },
});

/** A body of events, one of which has data of one of the schemas. */
const eventBody = (description: string, data: Schema): Schema => ({
  type: 'string',
  description,
  contentMediaType: 'text/event-stream',
  contentSchema: data,
});

const eventSchema: Schema = {
  title: 'SpeechEvent',
  description: 'The data of an event.',
  oneOf: [infoSchema, deltaSchema, timestampsSchema, chunkDoneSchema, doneSchema, errorSchema],
};

const id = 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';
const examples: readonly (Readonly<Record<string, unknown>> & { type: string })[] = [
  {
    ...{ type: 'speech.audio.info', id, voice_id: 'clara', voice_name: 'Clara', method: 'streaming', format: 'mp3' },
    ...{ content_type: 'audio/mpeg', sample_rate: 44_100, channels: 1, chunks: 1, chars: 13 },
  },
  { type: 'speech.audio.delta', chunk_index: 0, audio: '//uQxAAAAAAAAAAAAAAAAAAAAAAA' },
  { type: 'speech.chunk.done', chunk_index: 0, chars: 13, start: 0, end: 1.04 },
  {
    ...{ type: 'speech.audio.done', id, status: 'success', chars: 13, duration: 1.04, bytes: 8359, audio_url: null },
    usage: { characters: 13, audio_seconds: 1.04 },
  },
];

export const eventContent: Readonly<Record<string, Content>> = {
  'text/event-stream': {
    schema: eventBody('Events; the data of each is a SpeechEvent.', eventSchema),
    example: examples
      .map((data, n) => `id: ${id}:${n}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`)
      .join(''),
  },
};

const openAiEventSchema: Schema = {
  title: 'OpenAiSpeechEvent',
  description: 'The data of an event, as OpenAI has it.',
  oneOf: [
    event('OpenAiDeltaEvent', 'speech.audio.delta', 'A piece of the audio.', {
      audio: { ...text, contentEncoding: 'base64', description: 'Base64 of the piece.' },
    }),
    event('OpenAiDoneEvent', 'speech.audio.done', 'All is spoken.', {
      usage: {
        title: 'OpenAiUsage',
        description: 'Characters, where OpenAI counts tokens.',
        type: 'object',
        required: ['input_tokens', 'output_tokens', 'total_tokens'],
        properties: { input_tokens: whole, output_tokens: whole, total_tokens: whole },
      },
    }),
    openAiFailureSchema,
  ],
};

export const openAiEventContent: Readonly<Record<string, Content>> = {
  'text/event-stream': {
    schema: eventBody('Events; the data of each is an OpenAiSpeechEvent.', openAiEventSchema),
    example:
      'data: {"type":"speech.audio.delta","audio":"//uQxAAAAAAAAAAAAAAAAAAAAAAA"}\n\n' +
      'data: {"type":"speech.audio.done","usage":{"input_tokens":6,"output_tokens":0,"total_tokens":6}}\n\n',
  },
};
