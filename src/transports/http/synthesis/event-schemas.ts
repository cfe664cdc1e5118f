// The schemas of the events of a stream. The data of an event is JSON, and its `type` names its schema. The protos
// define the members that RPCs also have.
import type { DescMessage } from '@bufbuild/protobuf';
import {
  SpeechAudioSchema,
  SpeechChunkDoneSchema,
  SpeechDoneSchema,
  SpeechInfoSchema,
  SpeechMarkSchema,
  SpeechTimestampsSchema,
} from '../../../../gen/sonant/v1/speech_pb.ts';
import { memberSchema } from '../../../contract.ts';
import { openAiFailureSchema } from '../documented-failures.ts';
import { type Content, objectSchema, type Schema, text } from '../route-docs.ts';

/** The schema of a member that is always set, as the protos describe the field of the same name. */
export const member = (desc: DescMessage, name: string): Schema => memberSchema(desc, name, 'event');
const membersOf = (desc: DescMessage): Readonly<Record<string, Schema>> =>
  Object.fromEntries(desc.fields.map(({ name }) => [name, member(desc, name)]));

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

const { warnings: _, audio_url, expires_at, cached, ...infoMembers } = membersOf(SpeechInfoSchema);
const infoSchema = event('SpeechInfoEvent', 'speech.audio.info', 'The first event: the properties of the audio.', {
  ...infoMembers,
  method: text('The only value.', { enum: ['streaming'] }),
  format: text('The requested `output_format`.'),
});
const deltaSchema = event(
  'SpeechDeltaEvent',
  'speech.audio.delta',
  'A piece of the audio.',
  membersOf(SpeechAudioSchema),
);
const { language_code, ...timestampMembers } = membersOf(SpeechTimestampsSchema);
const timestampsSchema = event(
  'SpeechTimestampsEvent',
  'speech.audio.timestamps',
  'Word timestamps; only if `timestamps` is `word`.',
  timestampMembers,
  { language_code: member(SpeechTimestampsSchema, 'language_code') },
);
const markSchema = event(
  'SpeechMarkEvent',
  'speech.mark',
  'A mark of the markup is reached, or another voice begins to speak.',
  membersOf(SpeechMarkSchema),
);
const chunkDoneSchema = event(
  'SpeechChunkDoneEvent',
  'speech.chunk.done',
  'A chunk is complete: no more audio has its index. Audio that the encoder holds back is sent with the next chunk.',
  membersOf(SpeechChunkDoneSchema),
);
const chars = member(SpeechDoneSchema, 'chars');
const duration = member(SpeechDoneSchema, 'duration');
const doneSchema = event('SpeechDoneEvent', 'speech.audio.done', 'The last event: the audio is complete.', {
  id: member(SpeechInfoSchema, 'id'),
  status: text('The only value.', { enum: ['success'] }),
  chars,
  duration,
  bytes: member(SpeechDoneSchema, 'bytes'),
  audio_url: { type: ['string', 'null'], format: 'uri', description: 'URL of the stored audio; null if not stored.' },
  usage: objectSchema(
    'SpeechUsage',
    { characters: chars, audio_seconds: duration },
    'Characters that are charged, and seconds of audio.',
  ),
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
    chunk_index: member(SpeechAudioSchema, 'chunk_index'),
    request_id: text('Id of the request; include it when you contact the operator.'),
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
