// GET /api/audio/speech/live: live speech over WebSocket, with a key or with a ticket from POST .../live/tickets in the
// query. The connection closes with 1000 after `done`, 1008 if a message or the caller is refused, 1011 if the service
// failed, and 1012 if the service is stopping. An error is sent as the last message.

import { create } from '@bufbuild/protobuf';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LiveSpeechRequestSchema, LiveSpeechResponseSchema, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { callerLeft, type LiveEvent, type LiveInput, scopesOf, toLiveInput, toLiveResponse } from '../../api.ts';
import { nameUnknown, Reading, readFrame, type UnknownField, writeMessage } from '../../contract.ts';
import { Failure, failureTable } from '../../platform/errors.ts';
import { liveMessageBytesMax } from '../../platform/net/request-limits.ts';
import { fromThrown, toFailureBody } from '../net/failure-reply.ts';
import { stream } from './admission.ts';
import { addWithoutBody, refuseUnknownQuery } from './request-fields.ts';
import { describeObject, documented, jsonAnswer, queryParameter, type RouteDocs, text } from './route-docs.ts';
import type { RouteTools } from './route-tools.ts';
import { acceptWebSocket, checkUpgrade, fieldsOfMessage, type WebSocketPeer } from './web-socket.ts';

// The messages of live speech over WebSocket, JSON in text frames:
// {"type":"start","voice_id",...,"audio":"binary"|"json"}  {"type":"text","text"}  {"type":"flush"}
// {"type":"interrupt","played_ms"?,"turn"?}  {"type":"end"}. The service answers with {"type":"info"|"timestamps"|"mark"|
// "flushed"|"checked"|"interrupted"|"done"|"warning"|"error",...}. Audio is sent as base64 in {"type":"audio"}, or as a
// binary frame, which belongs to the turn of the last `info`.

const audioForms = ['binary', 'json'] as const;

interface LiveMessage {
  input: LiveInput;
  /** The format in which audio is to be sent, if the message states a format. */
  audio: (typeof audioForms)[number] | undefined;
  ignored: readonly UnknownField[];
}

/** Parses a message. Throws a Failure with all faults of the message. */
async function parseLiveMessage(given: string | Buffer, isStrict: boolean): Promise<LiveMessage> {
  const fields = await fieldsOfMessage(given, 'text');
  const reading = new Reading(isStrict);
  const isStart = fields.type === 'start';
  const audio = isStart ? (fields.audio ?? undefined) : undefined;
  const isKnown = audio === undefined || audioForms.includes(audio as never);
  if (!isKnown)
    reading.violations.report('audio', 'enum', `must be one of ${audioForms.join(', ')}`, { allowed: audioForms });
  const message = create(LiveSpeechRequestSchema);
  readFrame(message, LiveSpeechRequestSchema, fields, reading, isStart ? ['audio'] : []);
  try {
    return { input: toLiveInput(message, reading), audio: audio as LiveMessage['audio'], ignored: reading.ignored };
  } catch (error) {
    throw nameUnknown(error, reading.ignored);
  }
}

function toFrame(event: LiveEvent, audio: 'binary' | 'json'): string | Uint8Array {
  if (event.type !== 'audio') {
    const { case: type, value } = toLiveResponse(event).event!;
    return JSON.stringify({ type, ...writeMessage(LiveSpeechResponseSchema.field[type!].message!, value!) });
  }
  if (audio === 'binary') return event.audio;
  return JSON.stringify({ type: 'audio', turn: event.turn, audio: Buffer.from(event.audio).toString('base64') });
}

const { liveSpeech } = SpeechService.method;
const url = '/api/audio/speech/live';

export function addLiveRoutes(app: FastifyInstance, tools: RouteTools): void {
  const { live, tickets, admission, isAllowedOrigin, isStrict, readerStallMs, baseUrl } = tools;
  const check = (request: FastifyRequest, reply: FastifyReply) => {
    checkUpgrade(request, reply, isAllowedOrigin);
    refuseUnknownQuery(request, isStrict);
  };

  const admit = async (request: FastifyRequest, reply: FastifyReply) => {
    const { ticket } = request.query as Readonly<Record<string, unknown>>;
    if (ticket === undefined) return admission.admit(request, reply, liveSpeech);
    // The request is checked first: if it cannot be served, it must not use up the ticket.
    check(request, reply);
    const taken = await tickets.useLive(String(ticket));
    if (!taken)
      throw new Failure('stream_expired', { message: 'The ticket is unknown, used or expired. Request a new one.' });
    await admission.admitWith({ key: undefined, ticketKeyId: taken.keyId }, request, reply, liveSpeech);
  };

  const speak = async (request: FastifyRequest, reply: FastifyReply) => {
    const peer = await acceptWebSocket(request, reply, { messageBytesMax: liveMessageBytesMax, readerStallMs });
    request.call!.api = 'websocket';
    let audio: NonNullable<LiveMessage['audio']> = 'binary';
    const inputs = readInputs(peer, isStrict, (chosen) => {
      audio = chosen;
    });
    try {
      const events = stream(request, reply, liveSpeech, (call) => live.liveSpeech(call, inputs));
      for await (const event of events) await peer.send(toFrame(event, audio));
      peer.close(1000);
    } catch (error) {
      if (error !== callerLeft) await closeWith(peer, error, request.id);
    }
  };

  app.get(url, { ...documented(liveDocs, admit), exposeHeadRoute: false }, async (request, reply) => {
    check(request, reply);
    await speak(request, reply);
    return reply;
  });

  addWithoutBody(app, (scope) => {
    scope.post(`${url}/tickets`, documented(liveTicketDocs, admission.admitTo(liveSpeech)), async (request, reply) => {
      const { ticketId, expiresAtMs } = await tickets.issueLive(request.call!.caller);
      const liveUrl = `${baseUrl().replace(/^http/, 'ws')}${url}?ticket=${ticketId}`;
      const body = { id: ticketId, live_url: liveUrl, expires_at: new Date(expiresAtMs).toISOString() };
      return reply.code(201).header('cache-control', 'no-store').send(body);
    });
  });
}

async function* readInputs(
  peer: WebSocketPeer,
  isStrict: boolean,
  onAudio: (audio: NonNullable<LiveMessage['audio']>) => void,
): AsyncGenerator<LiveInput> {
  for await (const message of peer.messages) {
    const { input, audio, ignored } = await parseLiveMessage(message, isStrict);
    if (audio) onAudio(audio);
    if (ignored.length > 0) {
      const ignored_fields = ignored.map(({ name }) => name);
      void peer.send(JSON.stringify({ type: 'warning', ignored_fields }));
    }
    yield input;
  }
}

/** Sends the error as the last message and closes the connection. */
async function closeWith(peer: WebSocketPeer, error: unknown, requestId: string): Promise<void> {
  const failure = fromThrown(error);
  await peer.send(JSON.stringify({ type: 'error', ...toFailureBody(failure, requestId) }));
  const isRestarting = failure.reason === 'overloaded';
  const isRefused = failureTable[failure.reason].status < 500;
  peer.close(isRestarting ? 1012 : isRefused ? 1008 : 1011, failure.reason);
}

const exampleTicketId = 'tkt_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';
const ticket = describeObject('LiveTicket', {
  id: [text('Id of the ticket.'), exampleTicketId],
  live_url: [
    text('URL that opens the WebSocket, once, without a key.', { format: 'uri' }),
    `ws://127.0.0.1:8080/api/audio/speech/live?ticket=${exampleTicketId}`,
  ],
  expires_at: [text('When the ticket expires.', { format: 'date-time' }), '2030-01-02T03:04:05.000Z'],
});

const liveDocs: RouteDocs = {
  id: 'liveSpeech',
  tag: 'Streams',
  summary: 'Speak text while it is written (WebSocket)',
  description:
    'Send text while it is written; audio starts at the first natural pause. Messages are JSON in text ' +
    'frames: `start` first, then `text`, `flush`, `interrupt` and `end`; audio comes in binary frames.',
  scopes: scopesOf(liveSpeech),
  parameters: [queryParameter('ticket', 'A ticket instead of a key: see `createLiveTicket`.')],
  answers: { 101: { description: 'A WebSocket.' } },
  failures: ['invalid_request', 'stream_expired'],
};

const liveTicketDocs: RouteDocs = {
  id: 'createLiveTicket',
  tag: 'Streams',
  summary: 'Create a ticket for a WebSocket in a browser',
  description:
    'A browser’s WebSocket cannot send an API key. The URL of a ticket opens one connection for live speech, within a minute.',
  scopes: scopesOf(liveSpeech),
  answers: { 201: jsonAnswer('The ticket.', ticket.schema, ticket.example, ['Cache-Control']) },
  failures: ['overloaded'],
};
