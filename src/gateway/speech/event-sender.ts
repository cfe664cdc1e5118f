// Begins a stream of events, or reads on in one, and sends it until it ends or its reader leaves. Nothing is sent before
// the first sound: whatever fails until then is an ordinary failure with a status of its own.
import type { Client } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type SpeechInfo, SpeechService, type StreamSpeechResponse } from '../../../gen/sonant/v1/speech_pb.ts';
import { Failure } from '../../errors.ts';
import type { Admit } from '../../operations/admit.ts';
import type { Relay } from '../../redis/redis-relay.ts';
import { admittedKey } from '../../rpc/call.ts';
import { apiKeyHeader, requiredScopesOf } from '../../rpc/gate.ts';
import { limitStatusWriter } from '../http/admission.ts';
import { sendPieces } from '../http/body-writer.ts';
import { callOptionsOf, clientLeft, signalOf } from '../http/call-options.ts';
import { fromThrown } from '../http/failure-reply.ts';
import { keepaliveEveryMs } from '../http/limits.ts';
import { type AskedSpeech, inTermsOfText, toStream } from './fields.ts';
import { expiresHeader, ignoredHeader, type SpeechHeaders, soundHeaders } from './headers.ts';
import type { ResumableStreams } from './resumable-streams.ts';
import { eventHeaders, keepalive, numberOfEvent, type StreamEvent } from './server-sent-events.ts';
import { createStreamReading, type Reading, readStream } from './stream-reading.ts';
import type { Ticket } from './stream-tickets.ts';

export interface EventSender {
  /** Begins what was asked, on a ticket if there is one. */
  begin(request: FastifyRequest, reply: FastifyReply, asked: AskedSpeech, ticket?: Ticket): Promise<FastifyReply>;
  /** Reads on after `Last-Event-ID`, for the key or the ticket with that id. */
  resume(request: FastifyRequest, reply: FastifyReply, audioId: string, holder: string): Promise<FastifyReply>;
  /** Ends the stream: nobody will read on in it. */
  leave(request: FastifyRequest, audioId: string, holder: string): Promise<void>;
  /** Until nobody elsewhere reads what is spoken here. */
  untilReadElsewhere(): Promise<void>;
}

export interface EventSenderOptions {
  client: Client<typeof SpeechService>;
  streams: ResumableStreams;
  admit: Admit;
  relay?: Relay | undefined;
  onFault(fault: unknown): void;
}

const scopes = requiredScopesOf(SpeechService.method.streamSpeech);

export function createEventSender({ client, streams, ...more }: EventSenderOptions): EventSender {
  const { find, untilReadElsewhere } = createStreamReading({ streams, scopes, ...more });
  const send = async (reply: FastifyReply, reading: Reading, headers: SpeechHeaders = {}) => {
    await sendPieces(reply, { ...eventHeaders, ...headers }, textsOf(reply, reading));
    return reply;
  };

  return {
    async begin(request, reply, asked, ticket) {
      const left = signalOf(reply);
      const ending = new AbortController();
      const leave = () => ending.abort(clientLeft);
      left.addEventListener('abort', leave);
      const options = callOptionsOf(request, reply, 'sse', ending.signal);
      if (ticket) options.headers[apiKeyHeader] = ticket.apiKey;
      const messages = client.streamSpeech(toStream(asked), options)[Symbol.asyncIterator]();
      const { info, begun } = await firstEvents(messages, asked);
      // From here on the stream has an id, and lives on for a while without its reader.
      left.removeEventListener('abort', leave);
      const caller = options.contextValues.get(admittedKey)!.caller;
      const toBroken = (error: unknown, chunkIndex: number): StreamEvent => ({
        case: 'broken',
        value: { failure: fromThrown(error), chunkIndex, requestId: request.id },
      });
      const stream = streams.open({
        audioId: info.audioId,
        voiceId: info.voiceId,
        holders: ticket ? [caller.keyId, ticket.ticketId] : [caller.keyId],
        apiKey: ticket?.apiKey,
        begun,
        source: { messages, abort: (reason) => ending.abort(reason), toBroken },
      });
      return send(reply, readStream(stream, 0, leaver(reply)), headersOf(info, asked));
    },

    untilReadElsewhere,

    async leave({ ip: address }, audioId, holder) {
      const { state } = await find({ audioId, next: 'end', holder, isAdmitted: true, address }, undefined);
      if (state === 'lost') throw new Failure('stream_expired');
    },

    async resume(request, reply, audioId, holder) {
      const isAdmitted = request.caller !== undefined;
      const asked = { audioId, next: nextOf(request, audioId), holder, isAdmitted, address: request.ip };
      const found = await find(asked, limitStatusWriter(reply));
      switch (found.state) {
        case 'lost':
          throw new Failure('stream_expired');
        case 'never':
          throw badEventId('names an event that was not sent');
        case 'over':
          // Tells an EventSource that there is nothing more to come back for.
          return reply.code(204).send();
        case 'there':
          return send(reply, found.read(leaver(reply)));
      }
    },
  };
}

/** The events up to the first sound. */
async function firstEvents(
  messages: AsyncIterator<StreamSpeechResponse>,
  asked: AskedSpeech,
): Promise<{ info: SpeechInfo; begun: StreamEvent[] }> {
  const begun: StreamEvent[] = [];
  try {
    for (let next = await messages.next(); !next.done; next = await messages.next()) {
      const { event } = next.value;
      begun.push(event);
      if (event.case === 'audio') break;
    }
  } catch (error) {
    throw asked.isSingleText ? inTermsOfText(error) : error;
  }
  const [first] = begun;
  if (first?.case !== 'info') throw new Error('a stream began without its info');
  return { info: first.value, begun };
}

const leaver =
  ({ raw }: FastifyReply) =>
  () =>
    void raw.destroy();

/** What is read, with a sign of life where nothing comes. */
async function* textsOf({ raw }: FastifyReply, { texts, leave }: Reading): AsyncGenerator<string> {
  const beat = setInterval(() => {
    if (raw.headersSent && !raw.writableNeedDrain) raw.write(keepalive);
  }, keepaliveEveryMs);
  raw.once('close', leave);
  try {
    for await (const text of texts) {
      beat.refresh();
      yield text;
    }
  } finally {
    clearInterval(beat);
    leave();
  }
}

const headersOf = (info: SpeechInfo, { ignored }: AskedSpeech): SpeechHeaders => {
  const { 'content-type': _, 'Content-Disposition': __, ...headers } = soundHeaders(info, 'streaming');
  return { ...headers, ...linkHeaders(info), ...ignoredHeader(ignored) };
};

/** Where a stream that is kept will be found. */
export const linkHeaders = (info: SpeechInfo): SpeechHeaders =>
  info.audioUrl === '' ? {} : { 'X-Audio-Url': info.audioUrl, ...expiresHeader(info) };

const badEventId = (message: string) =>
  new Failure('invalid_request', { details: [{ field: 'Last-Event-ID', reason: 'format', message }] });

/** The number of the event after the last one that the reader has. */
function nextOf({ headers }: FastifyRequest, audioId: string): number {
  const last = headers['last-event-id'];
  if (last === undefined || last === '') return 0;
  const n = numberOfEvent(String(last), audioId);
  if (n === undefined) throw badEventId(`must be the id of an event of this stream, such as ${audioId}:0`);
  return n + 1;
}
