// /api/audio/speech/sse: speech as events, by POST, by GET, or by GET with a ticket. GET .../{audio id} resumes a
// stream after its connection breaks; DELETE ends the stream.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isTicketId, type SpeechOperations, speechOperations, type Tickets } from '../../../api.ts';
import { Failure } from '../../../platform/errors.ts';
import type { AdmitTo } from '../admission.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { addWithoutBody, fieldsOf } from '../json-body.ts';
import { documented } from '../route-docs.ts';
import type { EventSender } from './event-sender.ts';
import { readEventBody, readEventQuery } from './speech-body.ts';
import {
  leaveDocs,
  resumeDocs,
  streamByBodyDocs,
  streamByQueryDocs,
  ticketDocs,
  ticketStreamDocs,
} from './sse-openapi.ts';

interface SseRoutesOptions {
  speech: Pick<SpeechOperations, 'check'>;
  admitTo: AdmitTo;
  eventSender: EventSender;
  tickets: Tickets;
  isStrict: boolean;
  baseUrl(): string;
}

type WithId = FastifyRequest<{ Params: { id: string } }>;

const url = '/api/audio/speech/sse';
const noSuchTicket = () =>
  new Failure('stream_expired', { message: 'The ticket is unknown, used or expired. Request a new one.' });

export function addSseRoutes(
  app: FastifyInstance,
  { speech, admitTo, eventSender, tickets, isStrict, baseUrl }: SseRoutesOptions,
): void {
  const onRequest = admitTo(speechOperations.streamSpeech);
  const read = (request: FastifyRequest) => readEventBody(fieldsOf(request), isStrict);

  app.post(url, documented(streamByBodyDocs, onRequest), (request, reply) =>
    eventSender.begin(request, reply, read(request)),
  );

  app.get(url, documented(streamByQueryDocs, onRequest), (request, reply) =>
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

  app.get(`${url}/tickets/:id`, documented(ticketStreamDocs), async (request: WithId, reply) => {
    const { id } = request.params;
    if (!isTicketId(id)) throw noSuchTicket();
    const last = request.headers['last-event-id'];
    if (last) return eventSender.resume(request, reply, String(last).split(':', 1)[0]!, id);
    const ticket = await tickets.use(id);
    if (!ticket) throw noSuchTicket();
    return eventSender.begin(request, reply, { request: ticket.request, ignored: [] }, ticket);
  });

  app.get(`${url}/:id`, documented(resumeDocs, onRequest), (request: WithId, reply) =>
    eventSender.resume(request, reply, request.params.id, request.call!.caller.keyId),
  );

  addWithoutBody(app, (scope) => {
    scope.delete(`${url}/:id`, documented(leaveDocs, onRequest), async (request: WithId, reply) => {
      await eventSender.leave(request, reply, request.params.id, request.call!.caller.keyId);
      return reply.code(204).send();
    });
  });
}
