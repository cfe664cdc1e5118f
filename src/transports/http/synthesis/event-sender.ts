// Starts or resumes a stream of events, and sends it until it ends or its client disconnects. Nothing is sent before
// the first audio, so that an earlier failure can have its own status.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SpeechService } from '../../../../gen/sonant/v1/speech_pb.ts';
import type { Accounts } from '../../../accounts.ts';
import { type Api, scopesOf } from '../../../api.ts';
import { Failure, invalidField } from '../../../platform/errors.ts';
import type { SpeechEvent } from '../../../speech.ts';
import { type Admission, abortOnClose, limitReporter } from '../admission.ts';
import { sendPieces } from '../body-writer.ts';
import { keepaliveEveryMs } from '../http-limits.ts';
import { ignoredHeaders } from '../request-fields.ts';
import {
  eventHeaders,
  keepalive,
  numberOfEvent,
  type ResumableStream,
  type ResumableStreams,
  type StreamEvent,
  toEventText,
} from './resumable-stream.ts';
import { linkHeaders, type ReadSpeech, resultHeaders, type SpeechHeaders, soundHeaders } from './speech-over-http.ts';

export type EventSender = ReturnType<typeof createEventSender>;

/** The ticket that starts a stream, and the key that it was issued to. */
interface Ticket {
  ticketId: string;
  keyId: string;
}

const { streamSpeech } = SpeechService.method;

export function createEventSender(
  speech: Api['speech'],
  { admission, admit }: { admission: Admission; admit: Accounts['admit'] },
  streams: ResumableStreams,
) {
  /** Finds a stream of this replica. A request with a ticket carries no key, so the key of the stream is checked. */
  const find = async (request: FastifyRequest, reply: FastifyReply, audioId: string, holder: string) => {
    const stream = streams.find(audioId, holder);
    if (!stream) throw new Failure('stream_expired');
    const { ticketKeyId } = stream;
    const presented = { key: undefined, ticketKeyId, address: request.ip, reportLimits: limitReporter(reply) };
    if (!request.call) await admit(presented, scopesOf(streamSpeech));
    return stream;
  };
  const send = async (reply: FastifyReply, stream: ResumableStream, from: number, headers: SpeechHeaders = {}) => {
    await sendPieces(reply, { ...eventHeaders, ...headers }, readStream(stream, from, reply));
    return reply;
  };

  /** Resumes a stream after `Last-Event-ID`. `holder` is the id of the key or ticket. */
  const resume = async (request: FastifyRequest, reply: FastifyReply, audioId: string, holder: string) => {
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
        return send(reply, stream, next);
    }
  };

  return {
    resume,

    /** Starts a stream, with a ticket if there is one. Resumes a stream instead if the request has a Last-Event-ID. */
    async begin(request: FastifyRequest, reply: FastifyReply, read: ReadSpeech, ticket?: Ticket) {
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
      const stream = streams.open({
        audioId: info.audioId,
        voiceIds: [info, ...info.others].map(({ voice }) => voice.voiceId),
        holders: ticket ? [keyId, ticket.ticketId] : [keyId],
        ticketKeyId: ticket?.keyId,
        begun,
        source: { events: iterator, abort: (reason) => running.abort(reason), requestId: request.id },
      });
      return send(reply, stream, 0, headersOf(request, info, read));
    },

    /** Ends a stream, so that it cannot be resumed. */
    async leave(request: FastifyRequest, reply: FastifyReply, audioId: string, holder: string): Promise<void> {
      streams.leave(await find(request, reply, audioId, holder));
    },
  };
}

/**
 * The texts of the events from event `from` on, until another reader replaces this one, with keepalive comments during
 * pauses. The iterator is not a generator, because a generator would add awaits per event.
 */
function readStream(stream: ResumableStream, from: number, { raw }: FastifyReply): AsyncIterable<string> {
  let isReplaced = false;
  const leave = stream.attach(() => {
    isReplaced = true;
    raw.destroy();
  });
  const beat = setInterval(() => {
    if (raw.headersSent && !raw.writableNeedDrain) raw.write(keepalive);
  }, keepaliveEveryMs);
  raw.on('close', leave);
  let n = from;
  const next = async (): Promise<IteratorResult<string>> => {
    beat.refresh();
    const event = stream.held(n) ?? (await stream.at(n));
    if (!event || isReplaced) return { done: true, value: undefined };
    return { done: false, value: toEventText(stream.audioId, n++, event) };
  };
  const end = async () => {
    clearInterval(beat);
    leave();
    return { done: true as const, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

/** Reads the events up to and including the first audio. */
async function firstEvents(
  events: AsyncIterator<SpeechEvent>,
): Promise<{ info: SpeechEvent<'info'>; begun: StreamEvent[] }> {
  const begun: StreamEvent[] = [];
  for (let next = await events.next(); !next.done; next = await events.next()) {
    begun.push(next.value);
    if (next.value.type === 'audio') break;
  }
  const [info] = begun;
  if (info?.type !== 'info') throw new Error('a stream began without its info');
  return { info, begun };
}

const headersOf = (request: FastifyRequest, info: SpeechEvent<'info'>, { ignored }: ReadSpeech): SpeechHeaders => {
  const { 'content-type': _, 'Content-Disposition': __, ...headers } = soundHeaders(info, 'streaming');
  return { ...headers, ...resultHeaders(info), ...linkHeaders(info), ...ignoredHeaders(request, ignored) };
};

const badEventId = (message: string) => invalidField('Last-Event-ID', 'format', message);

/** The number of the event after the last event that the client received. */
function nextOf({ headers }: FastifyRequest, audioId: string): number {
  const last = headers['last-event-id'];
  if (last === undefined || last === '') return 0;
  const n = numberOfEvent(String(last), audioId);
  if (n === undefined) throw badEventId(`must be the id of an event of this stream, such as ${audioId}:0`);
  return n + 1;
}
