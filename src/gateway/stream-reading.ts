// Reading in a stream of events, from one of its events on: in one that this replica speaks, or through the relay in one
// that another does. The same words are said of both, and it is the replica that speaks it which decides who may read.
import type { Admit, Presented } from '../access/admit.ts';
import { Failure, type FailureFacts, type Reason, toFailure } from '../errors.ts';
import type { Answer, Relay } from '../redis/redis-relay.ts';
import { toEventText } from './event-stream.ts';
import type { SpeechStream } from './speech-stream.ts';
import type { SpeechStreams } from './speech-streams.ts';

export interface Reading {
  texts: AsyncIterable<string>;
  /** The reader has gone. */
  leave(): void;
}

/** Which stream, from which event on, and by whom. */
export interface ReadOn {
  audioId: string;
  next: number;
  /** The id of a key, or of a ticket. */
  holder: string;
  /** Whether the key has been admitted; who comes with the ticket has shown none. */
  isAdmitted: boolean;
  address: string;
}

/** Not `there`: it lies behind the last event, or is no longer held, or was never sent. */
export type Found = { state: 'there'; read(onReplaced: () => void): Reading } | { state: 'over' | 'lost' | 'never' };

type TellStanding = Presented['tell'];

export interface StreamReadingOptions {
  streams: SpeechStreams;
  admit: Admit;
  scopes: readonly string[];
  relay?: Relay | undefined;
}

/** Answers what finds a stream, wherever it is spoken; undefined where it is nowhere. */
export function createStreamReading({ streams, admit, scopes, relay }: StreamReadingOptions) {
  const findHere = async (asked: ReadOn, tell: TellStanding): Promise<Found | undefined> => {
    const { audioId, next, holder, isAdmitted, address } = asked;
    const stream = streams.find(audioId, holder);
    if (!stream) return undefined;
    if (!isAdmitted) await admit({ key: stream.apiKey, address, tell }, scopes);
    const state = stream.stateOf(next);
    return state === 'there' ? { state, read: (onReplaced) => readStream(stream, next, onReplaced) } : { state };
  };
  relay?.serve(async (question) => {
    const told = findHere(JSON.parse(question) as ReadOn, undefined);
    const found = await told.catch((error: unknown) => toFailure(error));
    return found && toAnswer(found);
  });
  return async (asked: ReadOn, tell: TellStanding): Promise<Found | undefined> => {
    const here = await findHere(asked, tell);
    if (here || !relay) return here;
    const answer = await relay.ask(JSON.stringify(asked));
    return answer && fromAnswer(answer);
  };
}

/** From that event on; a reader that comes after takes its place. */
export function readStream(stream: SpeechStream, from: number, onReplaced: () => void): Reading {
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

function toAnswer(found: Found | Failure): Answer {
  const tell = (head: Head) => JSON.stringify(head);
  const nothing = { lines: (async function* () {})(), leave() {} };
  if (found instanceof Failure) {
    const { reason, facts } = found;
    return { head: tell({ failure: { reason, facts } }), ...nothing };
  }
  const { state } = found;
  if (state !== 'there') return { head: tell({ state }), ...nothing };
  let isReplaced = false;
  const { texts, leave } = found.read(() => {
    isReplaced = true;
  });
  async function* lines() {
    yield* texts;
    if (isReplaced) throw new Error('another reader has come');
  }
  return { head: tell({ state }), lines: lines(), leave };
}

function fromAnswer({ head, lines, leave }: Answer): Found {
  const told = JSON.parse(head) as Head;
  if (!('failure' in told) && told.state === 'there') return { state: 'there', read: () => ({ texts: lines, leave }) };
  leave();
  if ('failure' in told) throw new Failure(told.failure.reason, told.failure.facts);
  return { state: told.state as 'over' | 'lost' | 'never' };
}
