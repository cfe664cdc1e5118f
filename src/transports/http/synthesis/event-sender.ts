// Starts or resumes a stream of events, and sends it until it ends or its client disconnects. Nothing is sent before
// the first audio, so that an earlier failure can have its own status.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Admit } from '../../../accounts.ts';
import { isTicketId, type SpeechOperations, speechOperations, type Ticket } from '../../../api.ts';
import { Failure } from '../../../platform/errors.ts';
import type { ReadRequest, SpeechEvent, SpeechInfo } from '../../../speech.ts';
import { type Admission, abortOnClose, limitReporter } from '../admission.ts';
import { sendPieces } from '../body-writer.ts';
import { keepaliveEveryMs } from '../http-limits.ts';
import { ignoredHeaders } from '../ignored-fields.ts';
import { fromThrown } from '../thrown-failure.ts';
import type { EventSource, ResumableStream } from './resumable-stream.ts';
import type { ResumableStreams } from './resumable-streams.ts';
import { eventHeaders, keepalive, numberOfEvent, type StreamEvent, toEventText } from './server-sent-events.ts';
import { linkHeaders, resultHeaders, type SpeechHeaders, soundHeaders } from './speech-headers.ts';

export interface EventSender {
  /** Starts a stream, with a ticket if there is one. Resumes a stream instead if the request has a Last-Event-ID. */
  begin(request: FastifyRequest, reply: FastifyReply, read: ReadRequest, ticket?: Ticket): Promise<FastifyReply>;
  /** Resumes a stream after `Last-Event-ID`. `holder` is the id of the key or ticket. */
  resume(request: FastifyRequest, reply: FastifyReply, audioId: string, holder: string): Promise<FastifyReply>;
  /** Ends a stream, so that it cannot be resumed. */
  leave(request: FastifyRequest, reply: FastifyReply, audioId: string, holder: string): Promise<void>;
}

interface EventSenderOptions {
  speech: SpeechOperations;
  admission: Admission;
  streams: ResumableStreams;
  admit: Admit;
}

const { streamSpeech } = speechOperations;

export function createEventSender({ speech, admission, streams, admit }: EventSenderOptions): EventSender {
  /** Finds a stream of this replica. A request with a ticket carries no key, so the key of the stream is checked. */
  const find = async (request: FastifyRequest, reply: FastifyReply, audioId: string, holder: string) => {
    const isAdmitted = request.call !== undefined;
    // Without an admitted key, only a ticket id is accepted: key ids are not secret.
    const stream = isAdmitted || isTicketId(holder) ? streams.find(audioId, holder) : undefined;
    if (!stream) throw new Failure('stream_expired');
    const { ticketKeyId } = stream;
    const presented = { key: undefined, ticketKeyId, address: request.ip, reportLimits: limitReporter(reply) };
    if (!isAdmitted) await admit(presented, streamSpeech.scopes);
    return stream;
  };
  const send = async (reply: FastifyReply, reading: Reading, headers: SpeechHeaders = {}) => {
    await sendPieces(reply, { ...eventHeaders, ...headers }, textsOf(reply, reading));
    return reply;
  };

  const resume: EventSender['resume'] = async (request, reply, audioId, holder) => {
    const next = nextOf(request, audioId);
    const stream = await find(request, reply, audioId, holder);
    switch (stream.stateOf(next)) {
      case 'lost':
        throw new Failure('stream_expired');
      case 'never':
        throw badEventId('must be the id of an event that was sent');
      case 'over':
        // An EventSource does not reconnect after a 204.
        return reply.code(204).send();
      case 'there':
        return send(reply, readStream(stream, next, leaver(reply)));
    }
  };

  return {
    resume,

    async begin(request, reply, read, ticket) {
      const last = request.headers['last-event-id'];
      // An EventSource whose connection broke requests the same URL again. Starting the text again would charge it
      // twice, so the stream is resumed. If its events have expired, the request is refused, which stops the
      // EventSource.
      if (last && !ticket) return resume(request, reply, String(last).split(':', 1)[0]!, request.call!.caller.keyId);
      if (ticket)
        await admission.admitWith({ key: undefined, ticketKeyId: ticket.keyId }, request, reply, streamSpeech);
      const running = request.call!;
      running.api = 'sse';
      const stayOn = abortOnClose(running, reply);
      const events = running.stream(streamSpeech, (call) => speech.streamSpeech(call, read.request));
      const iterator = events[Symbol.asyncIterator]();
      const { info, begun } = await firstEvents(iterator);
      // The stream can be resumed from now on, so a closed connection does not end it at once.
      stayOn();
      const { keyId } = running.caller;
      const toFailed: EventSource['toFailed'] = (error, chunkIndex) => ({
        type: 'failed',
        failure: fromThrown(error),
        chunkIndex,
        requestId: request.id,
      });
      const stream = streams.open({
        audioId: info.audioId,
        voiceIds: [info, ...info.others].map(({ voice }) => voice.voiceId),
        holders: ticket ? [keyId, ticket.ticketId] : [keyId],
        ticketKeyId: ticket?.keyId,
        begun,
        source: { events: iterator, abort: (reason) => running.abort(reason), toFailed },
      });
      return send(reply, readStream(stream, 0, leaver(reply)), headersOf(request, info, read));
    },

    async leave(request, reply, audioId, holder) {
      streams.leave(await find(request, reply, audioId, holder));
    },
  };
}

interface Reading {
  texts: AsyncIterable<string>;
  /** The caller must call this function when the reader disconnects. */
  leave(): void;
}

/** Reads from event `from` on, until another reader replaces this one. */
function readStream(stream: ResumableStream, from: number, onReplaced: () => void): Reading {
  let isReplaced = false;
  const leave = stream.attach({
    leave() {
      isReplaced = true;
      onReplaced();
    },
  });
  let n = from;
  // The iterator is not a generator, because a generator would add two awaits per event.
  const next = async (): Promise<IteratorResult<string>> => {
    const event = stream.held(n) ?? (await stream.at(n));
    if (!event || isReplaced) return { done: true, value: undefined };
    return { done: false, value: toEventText(stream.audioId, n++, event) };
  };
  return { texts: { [Symbol.asyncIterator]: () => ({ next }) }, leave };
}

/** Reads the events up to and including the first audio. */
async function firstEvents(events: AsyncIterator<SpeechEvent>): Promise<{ info: SpeechInfo; begun: StreamEvent[] }> {
  const begun: StreamEvent[] = [];
  for (let next = await events.next(); !next.done; next = await events.next()) {
    begun.push(next.value);
    if (next.value.type === 'audio') break;
  }
  const [info] = begun;
  if (info?.type !== 'info') throw new Error('a stream began without its info');
  return { info, begun };
}

const leaver =
  ({ raw }: FastifyReply) =>
  () =>
    void raw.destroy();

/** The texts of the events, with keepalive comments during pauses. The iterator's `return` detaches the reader. */
function textsOf({ raw }: FastifyReply, { texts, leave }: Reading): AsyncIterable<string> {
  const beat = setInterval(() => {
    if (raw.headersSent && !raw.writableNeedDrain) raw.write(keepalive);
  }, keepaliveEveryMs);
  raw.on('close', leave);
  const source = texts[Symbol.asyncIterator]();
  const next = () => {
    beat.refresh();
    return source.next();
  };
  const end = async () => {
    clearInterval(beat);
    leave();
    await source.return?.();
    return { done: true as const, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

const headersOf = (request: FastifyRequest, info: SpeechInfo, { ignored }: ReadRequest): SpeechHeaders => {
  const { 'content-type': _, 'Content-Disposition': __, ...headers } = soundHeaders(info, 'streaming');
  return { ...headers, ...resultHeaders(info), ...linkHeaders(info), ...ignoredHeaders(request, ignored) };
};

const badEventId = (message: string) =>
  new Failure('invalid_request', { details: [{ field: 'Last-Event-ID', reason: 'format', message }] });

/** The number of the event after the last event that the client received. */
function nextOf({ headers }: FastifyRequest, audioId: string): number {
  const last = headers['last-event-id'];
  if (last === undefined || last === '') return 0;
  const n = numberOfEvent(String(last), audioId);
  if (n === undefined) throw badEventId(`must be the id of an event of this stream, such as ${audioId}:0`);
  return n + 1;
}
