// The schemas of stream events. The `type` of an event names the schema of its data.
import { openAiFailureSchema } from '../documented-failures.ts';
import { type Content, objectSchema, type Schema, text, whole } from '../route-docs.ts';

const seconds = (description: string): Schema => ({ type: 'number', minimum: 0, description });
const chunkIndex = whole('Index of the chunk, from 0.');
const chars = whole('Unicode code points of the text.');
const start = seconds('Start in the audio, in seconds.');
const end = seconds('End in the audio, in seconds.');
const duration = seconds('Duration of the audio in seconds.');
const audioId = text('Id of the audio.');

const event = (
  title: string,
  type: string,
  description: string,
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema => {
  const schema = objectSchema(title, { type: { type: 'string', const: type }, ...properties }, description);
  return { ...schema, properties: { ...(schema.properties as object), ...optional } };
};

const infoSchema = event('SpeechInfoEvent', 'speech.audio.info', 'The first event: the properties of the audio.', {
  id: audioId,
  voice_id: text('Id of the voice.'),
  voice_name: text('Name of the voice.'),
  method: text('Always this.', { enum: ['streaming'] }),
  format: text('The requested `output_format`.'),
  content_type: text('Media type of the audio.'),
  sample_rate: whole('Sample rate of the audio in hertz.'),
  channels: whole('Always 1.'),
  chunks: whole('Number of chunks.'),
  chars,
});
const deltaSchema = event('SpeechDeltaEvent', 'speech.audio.delta', 'A piece of the audio.', {
  chunk_index: chunkIndex,
  audio: text('Base64 of at most 32 KiB.', { contentEncoding: 'base64' }),
});
const wordSchema = objectSchema('SpokenWord', {
  text: text('The word as written in the text.'),
  offset: whole('Position in its chunk, in code points.'),
  length: whole('Length in code points.'),
  start,
  end,
});
const timestampsSchema = event(
  'SpeechTimestampsEvent',
  'speech.audio.timestamps',
  'Word timestamps; only if `timestamps` is `word`.',
  {
    chunk_index: chunkIndex,
    words: { type: 'array', description: 'In the order in which they are spoken.', items: wordSchema },
    quality: text('Whether the times come from the engine; otherwise they are estimated.', {
      enum: ['engine', 'estimated'],
    }),
  },
  { language_code: text('Language of the words, BCP-47; only if the request has `language_code` `auto`.') },
);
const markSchema = event(
  'SpeechMarkEvent',
  'speech.mark',
  'A mark of the markup is reached, or another voice begins to speak.',
  {
    chunk_index: chunkIndex,
    kind: text('Kind of the event.', { enum: ['mark', 'voice'] }),
    name: text('Name of the mark; for a voice, its id.'),
    time: seconds('Time in the audio, in seconds.'),
  },
);
const chunkDoneSchema = event(
  'SpeechChunkDoneEvent',
  'speech.chunk.done',
  'A chunk is complete: no more audio has its index. Audio that the encoder holds back comes with the next chunk.',
  {
    chunk_index: chunkIndex,
    chars,
    start,
    end,
  },
);
const doneSchema = event('SpeechDoneEvent', 'speech.audio.done', 'The last event: the audio is complete.', {
  id: audioId,
  status: text('Always this.', { enum: ['success'] }),
  chars,
  duration,
  bytes: whole('Size of the audio in bytes.'),
  audio_url: { type: ['string', 'null'], format: 'uri', description: 'URL of the stored audio; null if not stored.' },
  usage: objectSchema('SpeechUsage', { characters: chars, audio_seconds: duration }, 'Characters charged.'),
});
const errorSchema = event(
  'SpeechErrorEvent',
  'error',
  'The last event, if synthesis failed after the first audio.',
  {
    error: text('The failure reason, as in Failure.'),
    message: text('A description of the failure.'),
    status: { type: 'integer', description: 'The equivalent HTTP status.' },
    retryable: { type: 'boolean', description: 'Whether the same request may succeed later.' },
    chunk_index: chunkIndex,
    request_id: text('Include it when you contact the operator.'),
  },
  { retry_after: { type: 'integer', minimum: 1, description: 'Seconds to wait before a retry, if it is retryable.' } },
);

const eventSchema: Schema = {
  title: 'SpeechEvent',
  description: 'The data of an event.',
  oneOf: [infoSchema, deltaSchema, timestampsSchema, markSchema, chunkDoneSchema, doneSchema, errorSchema],
};

const id = 'aud_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';
const examples: readonly (Readonly<Record<string, unknown>> & { type: string })[] = [
  {
    type: 'speech.audio.info',
    id,
    voice_id: 'clara',
    voice_name: 'Clara',
    method: 'streaming',
    format: 'mp3',
    content_type: 'audio/mpeg',
    sample_rate: 44_100,
    channels: 1,
    chunks: 1,
    chars: 13,
  },
  { type: 'speech.audio.delta', chunk_index: 0, audio: '//uQxAAAAAAAAAAAAAAAAAAAAAAA' },
  { type: 'speech.chunk.done', chunk_index: 0, chars: 13, start: 0, end: 1.04 },
  {
    type: 'speech.audio.done',
    id,
    status: 'success',
    chars: 13,
    duration: 1.04,
    bytes: 8359,
    audio_url: null,
    usage: { characters: 13, audio_seconds: 1.04 },
  },
];

interface ExampleEvent {
  id?: string;
  /** The event's name. */
  event?: string;
  data: unknown;
}

/** An event stream with this data, and its first events as the example. */
const describeEvents = (
  description: string,
  schema: Schema,
  examples: readonly ExampleEvent[],
): Readonly<Record<string, Content>> => ({
  'text/event-stream': {
    schema: { type: 'string', description, contentMediaType: 'text/event-stream', contentSchema: schema },
    example: examples.map(toText).join(''),
  },
});

const toText = ({ id, event, data }: ExampleEvent): string =>
  [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    `data: ${JSON.stringify(data)}\n\n`,
  ].join('\n');

export const eventContent = describeEvents(
  'Events; the data of each is a SpeechEvent.',
  eventSchema,
  examples.map((data, n) => ({ id: `${id}:${n}`, event: data.type, data })),
);

const count: Schema = { type: 'integer', minimum: 0 };
const openAiEventSchema: Schema = {
  title: 'OpenAiSpeechEvent',
  description: 'The data of an event, in the form of OpenAI’s API.',
  oneOf: [
    event('OpenAiDeltaEvent', 'speech.audio.delta', 'A piece of the audio.', {
      audio: text('Base64 of the piece.', { contentEncoding: 'base64' }),
    }),
    event('OpenAiDoneEvent', 'speech.audio.done', 'The audio is complete.', {
      usage: objectSchema(
        'OpenAiUsage',
        { input_tokens: count, output_tokens: count, total_tokens: count },
        'Characters instead of tokens.',
      ),
    }),
    openAiFailureSchema,
  ],
};

export const openAiEventContent = describeEvents(
  'Events; the data of each is an OpenAiSpeechEvent.',
  openAiEventSchema,
  [
    { type: 'speech.audio.delta', audio: '//uQxAAAAAAAAAAAAAAAAAAAAAAA' },
    { type: 'speech.audio.done', usage: { input_tokens: 6, output_tokens: 0, total_tokens: 6 } },
  ].map((data) => ({ data })),
);
