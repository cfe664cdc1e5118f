// The OpenAPI documentation of live speech. OpenAPI can describe only the handshake; docs/live.md describes the
// messages.
import { speechOperations } from '../../api/operation.ts';
import { describeObject, jsonAnswer, queryParameter, type RouteDocs, text } from '../route-docs.ts';

const exampleTicketId = 'tkt_01JD3Q8S6V5W2K9YB4XJ7M0C3F6H';
const ticket = describeObject('LiveTicket', {
  id: [text('Id of the ticket.'), exampleTicketId],
  live_url: [
    text('URL that opens the WebSocket, once, without a key.', { format: 'uri' }),
    `ws://127.0.0.1:8080/api/audio/speech/live?ticket=${exampleTicketId}`,
  ],
  expires_at: [text('When the ticket expires.', { format: 'date-time' }), '2030-01-02T03:04:05.000Z'],
});

export const liveDocs: RouteDocs = {
  id: 'liveSpeech',
  tag: 'Streams',
  summary: 'Speak text while it is written (WebSocket)',
  description:
    'Text goes in as it is written, audio comes out as soon as a reader would draw breath. Messages are JSON in text ' +
    'frames: `start` first, then `text`, `flush`, `interrupt` and `end`; audio comes in binary frames.',
  scopes: speechOperations.liveSpeech.scopes,
  parameters: [queryParameter('ticket', 'A ticket, in place of a key: see `createLiveTicket`.')],
  answers: { 101: { description: 'A WebSocket.' } },
  failures: ['invalid_request', 'stream_expired'],
};

export const liveTicketDocs: RouteDocs = {
  id: 'createLiveTicket',
  tag: 'Streams',
  summary: 'Create a ticket for a WebSocket in a browser',
  description:
    'A browser’s WebSocket cannot send an API key. The URL of a ticket opens one connection for live speech, within a minute.',
  scopes: speechOperations.liveSpeech.scopes,
  answers: { 201: jsonAnswer('The ticket.', ticket.schema, ticket.example, ['Cache-Control']) },
  failures: ['overloaded'],
};
