// One stream of speech and what is held of it, so that who lost the connection can read on where it broke. Events are
// made when a reader asks for them, and not before. Without a reader it goes on for a while, not far ahead, and then
// ends its synthesis; the latest events are held until a while after the last.
import { Failure } from '../../errors.ts';
import { callerLeft } from '../../operations/call.ts';
import type { SpeechEvent } from '../../speech/speech-events.ts';
import { eventsKeptMs, readerGraceMs, unreadBytesMax } from '../http/limits.ts';
import { bytesOf, type StreamEvent, type StreamFailed } from './server-sent-events.ts';

/** A running synthesis: its further events, how to end it, and the event of its failure. */
export interface EventSource {
  events: AsyncIterator<SpeechEvent>;
  abort(reason: unknown): void;
  toFailed(error: unknown, chunkIndex: number): StreamFailed;
}

export interface ResumableStreamOptions {
  audioId: string;
  /** Who may read it again: the id of the key, and of the ticket if there was one. */
  holders: readonly string[];
  /** The key that a ticket stands for, where one was used. */
  apiKey?: string | undefined;
  /** Events there are already. */
  begun: readonly StreamEvent[];
  source: EventSource;
  /** Told when its size has changed, when it has ended, and when nothing is held any more. */
  watcher: { resized(bytes: number): void; ended(): void; gone(): void };
}

/** Someone who reads it; there is one at a time, and a new one takes the place of the old. */
export interface Reader {
  leave(): void;
}

export class ResumableStream {
  readonly audioId: string;
  readonly holders: readonly string[];
  readonly apiKey: string | undefined;
  readonly #source: EventSource;
  readonly #watcher: ResumableStreamOptions['watcher'];
  readonly #events: StreamEvent[] = [];
  /** The number of the first event held. */
  #first = 0;
  #chunkIndex = 0;
  #pulling: Promise<void> | undefined;
  #hasEnded = false;
  #isGone = false;
  #reader: Reader | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Of all events made so far. */
  #madeBytes = 0;
  heldBytes = 0;

  constructor({ audioId, holders, apiKey, begun, source, watcher }: ResumableStreamOptions) {
    this.audioId = audioId;
    this.holders = holders;
    this.apiKey = apiKey;
    this.#source = source;
    this.#watcher = watcher;
    for (const event of begun) this.#hold(event);
  }

  /** The event with that number, waiting for it to be made; undefined behind the last. Fails if it is no longer held. */
  async at(n: number): Promise<StreamEvent | undefined> {
    for (;;) {
      if (n < this.#first || this.#isGone) throw new Failure('stream_expired');
      const event = this.#events[n - this.#first];
      if (event || this.#hasEnded) return event;
      await this.#pull();
    }
  }

  /** Whether a reader can begin with that event: it is held, or the next to come, or lies behind the last. */
  stateOf(n: number): 'there' | 'over' | 'lost' | 'never' {
    const next = this.#first + this.#events.length;
    if (n < this.#first || this.#isGone) return 'lost';
    if (n > next) return 'never';
    return n === next && this.#hasEnded ? 'over' : 'there';
  }

  /** Answers how the reader says that it has left. */
  attach(reader: Reader): () => void {
    this.#reader?.leave();
    this.#reader = reader;
    if (!this.#hasEnded) clearTimeout(this.#timer);
    return () => {
      if (this.#reader !== reader) return;
      this.#reader = undefined;
      if (!this.#hasEnded) this.#goOnAlone();
    };
  }

  /** Lets go of the oldest events until what is held fits. */
  shrink(bytesMax: number): void {
    let freed = 0;
    let count = 0;
    while (this.heldBytes - freed > bytesMax && count < this.#events.length - 1)
      freed += bytesOf(this.#events[count++]!);
    if (count === 0) return;
    this.#events.splice(0, count);
    this.#first += count;
    this.#resize(-freed);
  }

  /** Ends the synthesis, if it runs, and lets go of everything. */
  drop(reason: unknown): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#timer);
    if (!this.#hasEnded) this.#source.abort(reason);
    this.#resize(-this.heldBytes);
    this.#events.length = 0;
    this.#watcher.gone();
  }

  /** Ends the synthesis, which is the last that a reader hears. */
  end(message: string): void {
    this.#source.abort(new Failure('stream_expired', { message }));
    void this.#pull();
  }

  #goOnAlone(): void {
    const unread = () => this.end('Nobody read on, and so the rest was not spoken.');
    this.#timer = setTimeout(unread, readerGraceMs).unref();
    const stopBytes = this.#madeBytes + unreadBytesMax;
    const goOn = async () => {
      while (!this.#reader && !this.#hasEnded && !this.#isGone && this.#madeBytes < stopBytes) await this.#pull();
    };
    void goOn();
  }

  /** Has the next event made; whoever asks meanwhile waits for the same. */
  #pull(): Promise<void> {
    this.#pulling ??= this.#next();
    return this.#pulling;
  }

  async #next(): Promise<void> {
    try {
      const { done, value } = await this.#source.events.next();
      if (this.#isGone) return;
      if (done) this.#end();
      else this.#hold(value);
    } catch (error) {
      if (this.#isGone) return;
      this.#hold(this.#source.toFailed(error, this.#chunkIndex));
      this.#end();
    } finally {
      this.#pulling = undefined;
    }
  }

  #hold(event: StreamEvent): void {
    if (event.type === 'audio' || event.type === 'chunk_done') this.#chunkIndex = event.chunkIndex;
    this.#events.push(event);
    this.#madeBytes += bytesOf(event);
    this.#resize(bytesOf(event));
  }

  #resize(bytes: number): void {
    this.heldBytes += bytes;
    this.#watcher.resized(bytes);
  }

  #end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.drop(callerLeft), eventsKeptMs).unref();
    this.#watcher.ended();
  }
}
