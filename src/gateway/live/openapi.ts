// The OpenAPI documentation of live speech. OpenAPI describes the handshake; the messages are described in docs/live.md.
import { speechOperations } from '../../operations/operation.ts';
import type { RouteDocs } from '../http/route-docs.ts';

export const liveDocs: RouteDocs = {
  id: 'liveSpeech',
  tag: 'Streams',
  summary: 'Speak text while it is written (WebSocket)',
  description:
    'Text goes in as it is written, audio comes out as soon as a reader would draw breath. Messages are JSON in text ' +
    'frames: `start` first, then `text`, `flush`, `interrupt` and `end`; audio comes in binary frames.',
  scopes: speechOperations.liveSpeech.scopes,
  answers: { 101: { description: 'A WebSocket.' } },
  failures: ['invalid_request'],
};
