// Finding a stream of events, to read in it from one of its events on or to end it: one that this replica speaks, or through
// the relay one that another does. The same is said of both, and it is the replica that speaks it which decides who may.

import { Failure, type FailureFacts, type Reason, toFailure } from '../../errors.ts';
import type { Admit, Presented } from '../../operations/admit.ts';
import type { Answer, Relay } from '../../redis/redis-relay.ts';
import type { ResumableStream } from './resumable-stream.ts';
import type { ResumableStreams } from './resumable-streams.ts';
import { toEventText } from './server-sent-events.ts';

export interface Reading {
  texts: AsyncIterable<string>;
  /** The reader has gone. */
  leave(): void;
}

/** Which stream, and by whom: to be read from that event on, or to be ended. */
export interface StreamRequest {
  audioId: string;
  next: number | 'end';
  /** The id of a key, or of a ticket. */
  holder: string;
  /** Whether the key has been admitted; who comes with the ticket has shown none. */
  isAdmitted: boolean;
  address: string;
}

/** Not `there`: it lies behind the last event or has been ended, or is no longer held, or was never sent. */
export type Found = { state: 'there'; read(onReplaced: () => void): Reading } | { state: 'over' | 'lost' | 'never' };

const audioIdShape = /^aud_[0-9A-Z]{20,80}$/;

type ReportLimits = Presented['reportLimits'];

export interface StreamReadingOptions {
  streams: ResumableStreams;
  admit: Admit;
  scopes: readonly string[];
  relay?: Relay | undefined;
  /** Hears of what fails for a reader elsewhere. */
  onFault(fault: unknown): void;
}

/** Answers what finds a stream, wherever it is spoken: `lost` where it is nowhere; and what waits for readers elsewhere. */
export function createStreamReading({ streams, admit, scopes, relay, onFault }: StreamReadingOptions) {
  const findHere = async (asked: StreamRequest, reportLimits: ReportLimits): Promise<Found | undefined> => {
    const { audioId, next, holder, isAdmitted, address } = asked;
    const stream = streams.find(audioId, holder);
    if (!stream) return undefined;
    if (!isAdmitted) await admit({ key: stream.apiKey, address, reportLimits }, scopes);
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
    const told = findHere(JSON.parse(question) as StreamRequest, undefined);
    const found = await told.catch((error: unknown) => {
      const failure = toFailure(error);
      if (failure.reason === 'internal_error') onFault(error);
      return failure;
    });
    return toAnswer(found ?? { state: 'lost' }, note);
  });
  return {
    async find(asked: StreamRequest, reportLimits: ReportLimits): Promise<Found> {
      const here = await findHere(asked, reportLimits);
      const answer =
        here || !audioIdShape.test(asked.audioId) ? undefined : await relay?.ask(asked.audioId, JSON.stringify(asked));
      return here ?? (answer ? fromAnswer(answer) : { state: 'lost' });
    },
    async untilReadElsewhere(): Promise<void> {
      await Promise.all(readElsewhere);
    },
  };
}

/** From that event on; a reader that comes after takes its place. */
export function readStream(stream: ResumableStream, from: number, onReplaced: () => void): Reading {
  let isReplaced = false;
  const leave = stream.attach({
    leave() {
      isReplaced = true;
      onReplaced();
    },
  });
  async function* texts() {
    for (let n = from; ; n++) {
      const event = await stream.at(n);
      if (!event || isReplaced) return;
      yield toEventText(stream.audioId, n, event);
    }
  }
  return { texts: texts(), leave };
}

type Head = { state: Found['state'] } | { failure: { reason: Reason; facts: FailureFacts } };

function toAnswer(found: Found | Failure, note: (read: Promise<void>) => void): Answer {
  const tell = (head: Head) => JSON.stringify(head);
  const nothing = { lines: (async function* () {})(), leave() {} };
  if (found instanceof Failure) {
    const { reason, facts } = found;
    return { head: tell({ failure: { reason, facts } }), ...nothing };
  }
  if (found.state !== 'there') return { head: tell({ state: found.state }), ...nothing };
  const { state, read } = found;
  const { promise, resolve } = Promise.withResolvers<void>();
  let isReplaced = false;
  let reading: Reading | undefined;
  // Nobody makes room for a reader before that one takes the first line.
  async function* lines() {
    note(promise);
    const begun = read(() => {
      isReplaced = true;
    });
    reading = begun;
    yield* begun.texts;
    if (isReplaced) throw new Error('another reader has come');
  }
  const leave = () => {
    reading?.leave();
    resolve();
  };
  return { head: tell({ state }), lines: lines(), leave };
}

function fromAnswer({ head, lines, leave }: Answer): Found {
  const told = JSON.parse(head) as Head;
  if (!('failure' in told) && told.state === 'there') return { state: 'there', read: () => ({ texts: lines, leave }) };
  leave();
  if ('failure' in told) throw new Failure(told.failure.reason, told.failure.facts);
  return { state: told.state as 'over' | 'lost' | 'never' };
}
