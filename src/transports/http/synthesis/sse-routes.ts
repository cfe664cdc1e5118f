// /api/audio/speech/sse: speech as events, by POST, by GET, or by GET with a ticket. GET .../{audio id} resumes a
// stream after its connection breaks; DELETE ends the stream.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SpeechService, StreamSpeechRequestSchema } from '../../../../gen/sonant/v1/speech_pb.ts';
import { scopesOf } from '../../../api.ts';
import { memberSchema } from '../../../contract.ts';
import { Failure } from '../../../platform/errors.ts';
import { addWithoutBody, fieldsOf, ignoredHeaders } from '../request-fields.ts';
import {
  type Answer,
  describeObject,
  documented,
  jsonAnswer,
  type Parameter,
  pathId,
  type RouteDocs,
  requestHeader,
  type Schema,
  text,
} from '../route-docs.ts';
import type { RouteTools } from '../route-tools.ts';
import { eventContent } from './event-schemas.ts';
import {
  exampleAudioId,
  fieldSchemas,
  soundHeaderNames,
  speakingFailures,
  speechSchema,
  streamHeaders,
} from './openapi.ts';
import { readEventBody, readEventQuery } from './speech-over-http.ts';

// The OpenAPI documentation of speech as Server-Sent Events.

const { streamSpeech } = SpeechService.method;
const { captions: _, ...withoutCaptions } = fieldSchemas;

const streamSchemas: Readonly<Record<string, Schema>> = {
  ...withoutCaptions,
  return_format: memberSchema(StreamSpeechRequestSchema, 'return_format', 'request'),
  method: { ...fieldSchemas.method, description: 'The only value.', enum: ['streaming'], default: 'streaming' },
};
const streamRequestSchema = speechSchema(
  'StreamRequest',
  streamSchemas,
  'Like SpeechRequest; `text` is a single chunk, and `method` may be omitted.',
);

const exampleTicketId = 'tkt_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';
const ticket = describeObject('StreamTicket', {
  id: [text('Id of the ticket.'), exampleTicketId],
  sse_url: [
    text('URL that starts the stream, once.', { format: 'uri' }),
    `http://127.0.0.1:8080/api/audio/speech/sse/tickets/${exampleTicketId}`,
  ],
  expires_at: [text('When the ticket expires.', { format: 'date-time' }), '2030-01-02T03:04:05.000Z'],
});

const eventAnswer: Answer = {
  description: 'Events. Their audio, decoded and concatenated, equals the audio of a streamed reply, byte for byte.',
  headers: [
    ...soundHeaderNames.filter((name) => name !== 'Content-Disposition' && name !== 'X-Audio-Duration'),
    ...streamHeaders,
  ],
  content: eventContent,
};
const lastEventId = requestHeader('Last-Event-ID', 'Id of the last event received; the stream continues after it.');

const beginEventId = requestHeader(
  'Last-Event-ID',
  'Id of the last event received. If this key started its stream, that stream is resumed; nothing is started or charged.',
);
const streamAnswers = { 200: eventAnswer, 204: { description: 'There are no events after Last-Event-ID.' } };

const streamDocs: Omit<RouteDocs, 'id' | 'summary'> = {
  tag: 'Streams',
  scopes: scopesOf(streamSpeech),
  answers: { 200: eventAnswer },
  failures: speakingFailures,
};
const streamExamples = { chunks: { voice_id: 'clara', text_chunks: ['Hello, ', 'world.'], output_format: 'mp3' } };

const streamByBodyDocs: RouteDocs = {
  ...streamDocs,
  id: 'streamSpeech',
  summary: 'Stream speech as events',
  parameters: [beginEventId],
  body: { schema: streamRequestSchema, examples: streamExamples },
  answers: streamAnswers,
  failures: [...speakingFailures, 'stream_expired'],
};

const streamByQueryDocs: RouteDocs = {
  ...streamDocs,
  id: 'streamSpeechByQuery',
  summary: 'Stream speech as events, by query',
  parameters: Object.entries(streamSchemas)
    .map<Parameter>(([name, schema]) => ({
      in: 'query',
      name,
      description: String(schema.description ?? ''),
      schema,
      required: name === 'voice_id',
      ...(name === 'voice_id' && { example: 'clara' }),
      ...(name === 'text' && { example: 'Hello, world.' }),
    }))
    .concat(beginEventId),
  answers: streamAnswers,
  failures: [...speakingFailures, 'stream_expired'],
};

const ticketDocs: RouteDocs = {
  ...streamDocs,
  id: 'createStreamTicket',
  summary: 'Create a ticket for EventSource',
  description:
    'A browser’s EventSource cannot send an API key. The URL of a ticket starts the stream, once, within a minute.',
  body: { schema: streamRequestSchema, examples: streamExamples },
  answers: {
    201: jsonAnswer('The ticket.', ticket.schema, ticket.example, ['Location', 'Cache-Control']),
  },
};

const ticketStreamDocs: RouteDocs = {
  id: 'streamSpeechByTicket',
  tag: 'Streams',
  summary: 'Stream speech as events, by ticket',
  isOnBehalf: true,
  parameters: [pathId('Id of the ticket.', exampleTicketId, 'tkt_'), lastEventId],
  answers: streamAnswers,
  failures: [...speakingFailures, 'stream_expired'],
};

const resumeDocs: RouteDocs = {
  ...streamDocs,
  id: 'resumeStream',
  summary: 'Resume a stream of events',
  description:
    'Only the key that started the stream can resume it. Events are stored for a minute after the last one; without a reader, synthesis continues for ten seconds.',
  parameters: [pathId('Id of the audio.', exampleAudioId, 'aud_'), lastEventId],
  answers: streamAnswers,
  failures: ['stream_expired'],
};

const leaveDocs: RouteDocs = {
  id: 'leaveStream',
  tag: 'Streams',
  summary: 'End a stream of events',
  description:
    'Only the key that started the stream can end it. Ends the synthesis at once; after a lost connection, synthesis would continue for ten seconds.',
  scopes: scopesOf(streamSpeech),
  parameters: [pathId('Id of the audio.', exampleAudioId, 'aud_')],
  answers: { 204: { description: 'The synthesis has ended, and its events are discarded.' } },
  failures: ['stream_expired'],
};

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/audio/speech/sse';
const noSuchTicket = () =>
  new Failure('stream_expired', { message: 'The ticket is unknown, used or expired. Request a new one.' });

export function addSseRoutes(
  app: FastifyInstance,
  { speech, admission, eventSender, tickets, isStrict, baseUrl }: RouteTools,
): void {
  const onRequest = admission.admitTo(streamSpeech);
  // A stream has no HEAD, because a request for it starts work or uses up a ticket.
  const withoutHead = { exposeHeadRoute: false };
  const read = (request: FastifyRequest) => readEventBody(fieldsOf(request), isStrict);

  app.post(url, documented(streamByBodyDocs, onRequest), (request, reply) =>
    eventSender.begin(request, reply, read(request)),
  );

  app.get(url, { ...documented(streamByQueryDocs, onRequest), ...withoutHead }, (request, reply) =>
    eventSender.begin(request, reply, { request: readEventQuery(request, isStrict), ignored: [] }),
  );

  app.post(`${url}/tickets`, documented(ticketDocs, onRequest), async (request, reply) => {
    const { request: wanted, ignored } = read(request);
    const { caller } = request.call!;
    await speech.check(wanted, caller);
    const { ticketId, expiresAtMs } = await tickets.issue(wanted, caller);
    const address = `${baseUrl()}${url}/tickets/${ticketId}`;
    const headers = { Location: address, 'cache-control': 'no-store', ...ignoredHeaders(request, ignored) };
    const body = { id: ticketId, sse_url: address, expires_at: new Date(expiresAtMs).toISOString() };
    return reply.code(201).headers(headers).send(body);
  });

  app.get(`${url}/tickets/:id`, { ...documented(ticketStreamDocs), ...withoutHead }, async (request: WithId, reply) => {
    const { id } = request.params;
    // Without a key, only the id of a ticket resumes a stream: key ids are not secret.
    if (!tickets.isId(id)) throw noSuchTicket();
    const last = request.headers['last-event-id'];
    if (last) return eventSender.resume(request, reply, String(last).split(':', 1)[0]!, id);
    const ticket = await tickets.use(id);
    if (!ticket) throw noSuchTicket();
    return eventSender.begin(request, reply, { request: ticket.request, ignored: [] }, ticket);
  });

  app.get(`${url}/:id`, { ...documented(resumeDocs, onRequest), ...withoutHead }, (request: WithId, reply) =>
    eventSender.resume(request, reply, request.params.id, request.call!.caller.keyId),
  );

  addWithoutBody(app, (scope) => {
    scope.delete(`${url}/:id`, documented(leaveDocs, onRequest), async (request: WithId, reply) => {
      await eventSender.leave(request, reply, request.params.id, request.call!.caller.keyId);
      return reply.code(204).send();
    });
  });
}
