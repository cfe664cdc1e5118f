// The documentation of the routes that speak as events.
import { speechOperations } from '../../operations/operation.ts';
import type { Answer, RouteDocs, Schema } from '../http/route-docs.ts';
import { eventContent } from './event-schemas.ts';
import {
  exampleAudioId,
  fieldSchemas,
  pathId,
  requestHeader,
  soundHeaders,
  speakingFailures,
  streamHeaders,
} from './openapi.ts';

const { streamSpeech } = speechOperations;
const { captions: _, ...streamSchemas } = fieldSchemas;

const streamRequestSchema: Schema = {
  title: 'StreamRequest',
  description: 'As a SpeechRequest; `text` is a single chunk, and `method` may be left out.',
  type: 'object',
  required: ['voice_id'],
  properties: {
    ...streamSchemas,
    method: {
      type: 'string',
      enum: ['streaming'],
      default: 'streaming',
      description: 'A stream is what it always is here.',
    },
  },
};

const ticketSchema: Schema = {
  title: 'StreamTicket',
  type: 'object',
  required: ['id', 'sse_url', 'expires_at'],
  properties: {
    id: { type: 'string', description: 'Id of the ticket.' },
    sse_url: { type: 'string', format: 'uri', description: 'Begins the stream, once.' },
    expires_at: { type: 'string', format: 'date-time', description: 'Until when it must be used.' },
  },
};

const exampleTicketId = 'tkt_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';
const exampleTicket = {
  id: exampleTicketId,
  sse_url: `http://127.0.0.1:8080/api/audio/speech/sse/tickets/${exampleTicketId}`,
  expires_at: '2030-01-02T03:04:05.000Z',
};

const eventAnswer: Answer = {
  description: 'Events. Their audio, decoded and joined, is byte for byte the audio of a streamed reply.',
  headers: [
    ...soundHeaders.filter((name) => name !== 'Content-Disposition' && name !== 'X-Audio-Duration'),
    ...streamHeaders,
  ],
  content: eventContent,
};
const lastEventId = requestHeader('Last-Event-ID', 'The id of the last event received; the stream goes on behind it.');

const streamDocs: Omit<RouteDocs, 'id' | 'summary'> = {
  tag: 'Streams',
  scopes: streamSpeech.scopes,
  answers: { 200: eventAnswer },
  failures: speakingFailures,
};
const streamExamples = { chunks: { voice_id: 'clara', text_chunks: ['Hello, ', 'world.'], output_format: 'mp3' } };

export const streamByBodyDocs: RouteDocs = {
  ...streamDocs,
  id: 'streamSpeech',
  summary: 'Speak as events',
  body: { schema: streamRequestSchema, examples: streamExamples },
};

export const streamByQueryDocs: RouteDocs = {
  ...streamDocs,
  id: 'streamSpeechByQuery',
  summary: 'Speak as events, asked for in the address',
  parameters: Object.entries(streamRequestSchema.properties as Readonly<Record<string, Schema>>).map(
    ([name, schema]) => ({
      in: 'query',
      name,
      description: String(schema.description ?? ''),
      schema,
      required: name === 'voice_id',
      ...(name === 'voice_id' && { example: 'clara' }),
      ...(name === 'text' && { example: 'Hello, world.' }),
    }),
  ),
};

export const ticketDocs: RouteDocs = {
  ...streamDocs,
  id: 'createStreamTicket',
  summary: 'Get an address for EventSource',
  description:
    'A browser’s EventSource sends no key. This answers with an address that begins the stream, once, within a minute.',
  body: { schema: streamRequestSchema, examples: streamExamples },
  answers: {
    201: {
      description: 'The ticket.',
      headers: ['Location', 'Cache-Control', 'X-Ignored-Fields'],
      content: { 'application/json': { schema: ticketSchema, example: exampleTicket } },
    },
  },
};

const resumedAnswers = { 200: eventAnswer, 204: { description: 'Nothing comes behind that event.' } };

export const ticketStreamDocs: RouteDocs = {
  id: 'streamSpeechByTicket',
  tag: 'Streams',
  summary: 'Speak as events, on a ticket',
  isOnBehalf: true,
  parameters: [pathId('Id of the ticket.', exampleTicketId), lastEventId],
  answers: resumedAnswers,
  failures: [...speakingFailures, 'stream_expired'],
};

export const resumeDocs: RouteDocs = {
  ...streamDocs,
  id: 'resumeStream',
  summary: 'Read on in a stream of events',
  description:
    'With the key that began it. Events are kept for a minute after the last; a stream whose reader is lost goes on for ten seconds.',
  parameters: [pathId('Id of the audio.', exampleAudioId), lastEventId],
  answers: resumedAnswers,
  failures: ['stream_expired'],
};

export const leaveDocs: RouteDocs = {
  id: 'leaveStream',
  tag: 'Streams',
  summary: 'Leave a stream of events',
  description:
    'With the key that began it. It is ended at once, where a connection that is lost leaves it ten seconds to be read on in.',
  ...(streamDocs.scopes && { scopes: streamDocs.scopes }),
  parameters: [pathId('Id of the audio.', exampleAudioId)],
  answers: { 204: { description: 'Its synthesis has ended, and nothing of it is held.' } },
  failures: ['stream_expired'],
};
