// Finds a stream of events to resume or to end, on this replica or, through the relay, on another. The replica that
// owns the stream decides who may read it.
import type { Admit, Presented } from '../../access/admit.ts';
import { isTicketId } from '../../api/stream-tickets.ts';
import { Failure, type FailureFacts, type Reason, toFailure } from '../../errors.ts';
import type { Answer, Relay } from '../../store/redis-relay.ts';
import type { ResumableStream } from './resumable-stream.ts';
import type { ResumableStreams } from './resumable-streams.ts';
import { toEventText } from './server-sent-events.ts';

export interface Reading {
  texts: AsyncIterable<string>;
  /** The caller must call this function when the reader disconnects. */
  leave(): void;
}

/** A request to read a stream from a given event on, or to end the stream. */
interface StreamRequest {
  audioId: string;
  next: number | 'end';
  /** The id of a key or of a ticket. */
  holder: string;
  /** Whether the request's key was admitted. False for a request with a ticket, which carries no key. */
  isAdmitted: boolean;
  address: string;
}

/**
 * `over`: the stream ended before this event; `lost`: the event is no longer kept; `never`: the event does not exist
 * yet.
 */
type Found = { state: 'there'; read(onReplaced: () => void): Reading } | { state: 'over' | 'lost' | 'never' };

const audioIdShape = /^aud_[0-9A-Z]{20,80}$/;

type ReportLimits = Presented['reportLimits'];

interface StreamReadingOptions {
  streams: ResumableStreams;
  admit: Admit;
  scopes: readonly string[];
  relay?: Relay | undefined;
  /** Called with internal errors of readers on other replicas. */
  onFault(fault: unknown): void;
}

export function createStreamReading({ streams, admit, scopes, relay, onFault }: StreamReadingOptions) {
  const findHere = async (wanted: StreamRequest, reportLimits: ReportLimits): Promise<Found | undefined> => {
    const { audioId, next, holder, isAdmitted, address } = wanted;
    // Without an admitted key, only a ticket id is accepted: key ids are not secret.
    const stream = isAdmitted || isTicketId(holder) ? streams.find(audioId, holder) : undefined;
    if (!stream) return undefined;
    const { ticketKeyId } = stream;
    if (!isAdmitted) await admit({ key: undefined, ticketKeyId, address, reportLimits }, scopes);
    if (next === 'end') {
      streams.leave(stream);
      return { state: 'over' };
    }
    const state = stream.stateOf(next);
    return state === 'there' ? { state, read: (onReplaced) => readStream(stream, next, onReplaced) } : { state };
  };
  const readElsewhere = new Set<Promise<void>>();
  const note = (read: Promise<void>) => {
    readElsewhere.add(read);
    void read.finally(() => readElsewhere.delete(read));
  };
  relay?.serve(async (question) => {
    const finding = findHere(JSON.parse(question) as StreamRequest, undefined);
    const found = await finding.catch((error: unknown) => {
      const failure = toFailure(error);
      if (failure.reason === 'internal_error') onFault(error);
      return failure;
    });
    return toAnswer(found ?? { state: 'lost' }, note);
  });
  return {
    async find(wanted: StreamRequest, reportLimits: ReportLimits): Promise<Found> {
      const here = await findHere(wanted, reportLimits);
      const answer =
        here || !audioIdShape.test(wanted.audioId)
          ? undefined
          : await relay?.ask(wanted.audioId, JSON.stringify(wanted));
      return here ?? (answer ? fromAnswer(answer) : { state: 'lost' });
    },
    async untilReadElsewhere(): Promise<void> {
      await Promise.all(readElsewhere);
    },
  };
}

/** Reads from event `from` on, until another reader replaces this one. */
export function readStream(stream: ResumableStream, from: number, onReplaced: () => void): Reading {
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

type Head = { state: Found['state'] } | { failure: { reason: Reason; facts: FailureFacts } };

function toAnswer(found: Found | Failure, note: (read: Promise<void>) => void): Answer {
  const toText = (head: Head) => JSON.stringify(head);
  const nothing = { lines: (async function* () {})(), leave() {} };
  if (found instanceof Failure) {
    const { reason, facts } = found;
    return { head: toText({ failure: { reason, facts } }), ...nothing };
  }
  if (found.state !== 'there') return { head: toText({ state: found.state }), ...nothing };
  const { state, read } = found;
  const { promise, resolve } = Promise.withResolvers<void>();
  let isReplaced = false;
  let reading: Reading | undefined;
  // A new reader replaces the previous one only when it requests its first line.
  async function* lines() {
    note(promise);
    const begun = read(() => {
      isReplaced = true;
    });
    reading = begun;
    yield* begun.texts;
    if (isReplaced) throw new Failure('stream_expired', { message: 'Another client is reading this stream now.' });
  }
  const leave = () => {
    reading?.leave();
    resolve();
  };
  return { head: toText({ state }), lines: lines(), leave };
}

function fromAnswer({ head, lines, leave }: Answer): Found {
  const parsed = JSON.parse(head) as Head;
  if (!('failure' in parsed) && parsed.state === 'there')
    return { state: 'there', read: () => ({ texts: lines, leave }) };
  leave();
  if ('failure' in parsed) throw new Failure(parsed.failure.reason, parsed.failure.facts);
  return { state: parsed.state as 'over' | 'lost' | 'never' };
}
