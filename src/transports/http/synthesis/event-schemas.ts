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
import { memberSchema, messageSchema } from '../../../contract.ts';
import { openAiFailureSchema } from '../documented-failures.ts';
import { type Content, objectSchema, type Schema, text } from '../route-docs.ts';
import { unsentMembers } from './resumable-stream.ts';

/** The schema of a member that is always set, as the protos describe the field of the same name. */
export const member = (desc: DescMessage, name: string): Schema => memberSchema(desc, name, 'event');

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

/** The schema of an event with the members of a message, and `more`. */
const eventOf = (title: string, type: string, desc: DescMessage, more: Readonly<Record<string, Schema>> = {}) => {
  const { description, required, properties } = messageSchema(desc, 'event') as Readonly<Record<string, any>>;
  const sent = Object.entries<Schema>(properties).filter(([name]) => !unsentMembers.includes(name));
  const [optional, members] = [false, true].map((isGiven) =>
    Object.fromEntries(sent.filter(([name]) => required.includes(name) === isGiven)),
  );
  return event(title, type, description, { ...members, ...more }, optional);
};

const { chars, duration } = Object.fromEntries(
  ['chars', 'duration'].map((name) => [name, member(SpeechDoneSchema, name)]),
);
const audio_url = {
  type: ['string', 'null'],
  format: 'uri',
  description: 'URL of the stored audio; null if not stored.',
};
const usage = objectSchema(
  'SpeechUsage',
  { characters: chars!, audio_seconds: duration! },
  'Characters that are charged, and seconds of audio.',
);
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
  oneOf: [
    eventOf('SpeechInfoEvent', 'speech.audio.info', SpeechInfoSchema, {
      method: text('The only value.', { enum: ['streaming'] }),
      format: text('The requested `output_format`.'),
    }),
    eventOf('SpeechDeltaEvent', 'speech.audio.delta', SpeechAudioSchema),
    eventOf('SpeechTimestampsEvent', 'speech.audio.timestamps', SpeechTimestampsSchema),
    eventOf('SpeechMarkEvent', 'speech.mark', SpeechMarkSchema),
    eventOf('SpeechChunkDoneEvent', 'speech.chunk.done', SpeechChunkDoneSchema),
    eventOf('SpeechDoneEvent', 'speech.audio.done', SpeechDoneSchema, {
      id: member(SpeechInfoSchema, 'id'),
      status: text('The only value.', { enum: ['success'] }),
      audio_url,
      usage,
    }),
    errorSchema,
  ],
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
