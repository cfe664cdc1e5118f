// A speech stream that a client can resume after a broken connection, and the latest events of the stream. Events are
// produced on demand. Without a reader, synthesis continues for a limited time and number of bytes. Events are kept for
// a while after the last event.
//
// The events are Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html). The id consists of
// the audio id and the event's number, counted from 0; clients return the id in Last-Event-ID. The data is one line of
// ASCII JSON, followed by an empty line. A line that begins with a colon is a comment, such as `: keepalive`.
//     id: aud_01JD...:3
//     event: speech.audio.delta
//     data: {"type":"speech.audio.delta","chunk_index":0,"audio":"UklGR..."}
import { StreamSpeechResponseSchema } from '../../../../gen/sonant/v1/speech_pb.ts';
import { callerLeft, toStreamResponse } from '../../../api.ts';
import { type Fields, writeMessage } from '../../../contract.ts';
import { Failure } from '../../../platform/errors.ts';
import type { SpeechEvent } from '../../../speech.ts';
import { fromThrown, toFailureBody } from '../../net/failure-reply.ts';
import { eventBytesMax, eventBytesPerStreamMax, eventsKeptMs, readerGraceMs, unreadBytesMax } from '../http-limits.ts';

/** A running synthesis: its events, and a function that aborts it. */
interface EventSource {
  events: AsyncIterator<SpeechEvent>;
  abort(reason: unknown): void;
  /** The id of the request, which is part of the failure event. */
  requestId: string;
}

interface ResumableStreamOptions {
  audioId: string;
  voiceIds: readonly string[];
  /** Ids that may resume the stream: the id of the key and, if a ticket was used, the id of the ticket. */
  holders: readonly string[];
  /** The key that the ticket was issued to, if a ticket was used. */
  ticketKeyId?: string | undefined;
  /** The events that have already been produced. */
  begun: readonly StreamEvent[];
  source: EventSource;
  /** Called when the size changes, when the stream ends, and when the stream's events are discarded. */
  watcher: { resized(bytes: number): void; ended(): void; gone(): void };
}

export class ResumableStream {
  readonly audioId: string;
  readonly voiceIds: readonly string[];
  readonly holders: readonly string[];
  readonly ticketKeyId: string | undefined;
  readonly #source: EventSource;
  readonly #watcher: ResumableStreamOptions['watcher'];
  readonly #events: StreamEvent[] = [];
  /** Number of the first event that is kept. */
  #first = 0;
  #chunkIndex = 0;
  #pulling: Promise<void> | undefined;
  #hasEnded = false;
  #isGone = false;
  /** Ends the reader, of which a stream has one at a time. */
  #endReader: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Total bytes of all events so far. */
  #madeBytes = 0;
  heldBytes = 0;
  /** Whether the stream can never be resumed again. */
  isForgotten = false;

  constructor({ audioId, voiceIds, holders, ticketKeyId, begun, source, watcher }: ResumableStreamOptions) {
    this.audioId = audioId;
    this.voiceIds = voiceIds;
    this.holders = holders;
    this.ticketKeyId = ticketKeyId;
    this.#source = source;
    this.#watcher = watcher;
    for (const event of begun) this.#hold(event);
  }

  /**
   * Resolves to event `n` once it is produced, or to undefined after the last event. Throws if the event is no longer
   * kept.
   */
  async at(n: number): Promise<StreamEvent | undefined> {
    for (;;) {
      if (n < this.#first || this.#isGone) throw new Failure('stream_expired');
      const event = this.#events[n - this.#first];
      if (event || this.#hasEnded) return event;
      await this.#pull();
    }
  }

  held(n: number): StreamEvent | undefined {
    return n < this.#first || this.#isGone ? undefined : this.#events[n - this.#first];
  }

  /** Whether a reader can start at event `n`, which must be a kept event or the next event. */
  stateOf(n: number): 'there' | 'over' | 'lost' | 'never' {
    const next = this.#first + this.#events.length;
    if (n < this.#first || this.#isGone) return 'lost';
    if (n > next) return 'never';
    return n === next && this.#hasEnded ? 'over' : 'there';
  }

  /** Attaches a reader; `end` ends it when another one replaces it. Returns the function to call when it disconnects. */
  attach(end: () => void): () => void {
    this.#endReader?.();
    this.#endReader = end;
    if (!this.#hasEnded) clearTimeout(this.#timer);
    return () => {
      if (this.#endReader !== end) return;
      this.#endReader = undefined;
      if (!this.#hasEnded) this.#continueUnread();
    };
  }

  /** Discards the oldest events until the remaining ones fit into `bytesMax`. */
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

  /** Aborts the synthesis if it runs, and discards all events. */
  drop(reason: unknown): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#timer);
    if (!this.#hasEnded) {
      this.#source.abort(reason);
      // A call whose results nobody awaits ends only when its iterator returns.
      void this.#source.events.return?.();
    }
    this.#resize(-this.heldBytes);
    this.#events.length = 0;
    this.#watcher.gone();
  }

  /** Ends the synthesis with a failure as the last event. */
  end(message: string): void {
    this.#source.abort(new Failure('stream_expired', { message }));
    void this.#pull();
  }

  #continueUnread(): void {
    const unread = () => this.end('The client stopped reading, so the rest was not spoken.');
    this.#timer = setTimeout(unread, readerGraceMs).unref();
    const stopBytes = this.#madeBytes + unreadBytesMax;
    const goOn = async () => {
      while (!this.#endReader && !this.#hasEnded && !this.#isGone && this.#madeBytes < stopBytes) await this.#pull();
    };
    void goOn();
  }

  /** Produces the next event. Concurrent calls share one result. */
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
      const { requestId } = this.#source;
      this.#hold({ type: 'failed', failure: fromThrown(error), chunkIndex: this.#chunkIndex, requestId });
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

  /**
   * Copies the audio of all kept events into one buffer. The C library returns a large buffer to the system, but keeps
   * the memory of small ones: those that are kept for a minute lie between others, so the free memory is in many parts.
   */
  #joinAudio(): void {
    const sounds = this.#events.filter((event) => event.type === 'audio');
    const all = Buffer.concat(sounds.map(({ audio }) => audio));
    let at = 0;
    for (const [n, event] of this.#events.entries()) {
      if (event.type !== 'audio') continue;
      const { length } = event.audio;
      this.#events[n] = { ...event, audio: all.subarray(at, at + length) };
      at += length;
    }
  }

  #resize(bytes: number): void {
    this.heldBytes += bytes;
    this.#watcher.resized(bytes);
  }

  #end(): void {
    this.#hasEnded = true;
    this.#joinAudio();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.drop(callerLeft), eventsKeptMs).unref();
    this.#watcher.ended();
  }
}

/** Bytes that are freed at once when the memory is full, because freeing looks at all streams. */
const roomBytes = eventBytesMax / 16;

/**
 * All speech streams that are running or can be resumed, within a shared memory limit. Running streams have equal
 * shares. Ended streams are discarded first, starting with the oldest of the key that has most of them.
 */
export class ResumableStreams {
  readonly #running = new Map<string, ResumableStream>();
  /** Ended streams, in the order in which they ended. */
  readonly #ended = new Map<string, ResumableStream>();
  #heldBytes = 0;

  open(options: Omit<ResumableStreamOptions, 'watcher'>) {
    const { audioId } = options;
    const watcher = {
      resized: (bytes: number) => {
        this.#heldBytes += bytes;
        if (bytes > 0) this.#makeRoom(this.#running.get(audioId));
      },
      ended: () => {
        this.#running.delete(audioId);
        this.#ended.set(audioId, stream);
      },
      gone: () => {
        this.#running.delete(audioId);
        this.#ended.delete(audioId);
      },
    };
    const stream = new ResumableStream({ ...options, watcher });
    this.#running.set(audioId, stream);
    for (const other of this.#running.values()) other.shrink(this.#partBytes);
    return stream;
  }

  /** Returns the stream with this id if it exists and the key or ticket may read it. */
  find(audioId: string, holder: string): ResumableStream | undefined {
    const stream = this.#running.get(audioId) ?? this.#ended.get(audioId);
    if (!stream || stream.isForgotten) return undefined;
    return stream.holders.includes(holder) ? stream : undefined;
  }

  /** Ends the stream with a failure, so that it cannot be resumed. */
  leave(stream: ResumableStream): void {
    stream.isForgotten = true;
    if (this.#ended.has(stream.audioId)) stream.drop(undefined);
    else stream.end('The stream was ended by its own key.');
  }

  /**
   * Prevents streams of this voice from being resumed. The operation that deletes the voice ends the running streams.
   */
  forgetVoice(voiceId: string): void {
    const isOfVoice = (stream: ResumableStream) => stream.voiceIds.includes(voiceId);
    for (const stream of [...this.#ended.values()].filter(isOfVoice)) stream.drop(undefined);
    for (const stream of [...this.#running.values()].filter(isOfVoice)) stream.isForgotten = true;
  }

  close(reason: unknown): void {
    for (const stream of [...this.#running.values(), ...this.#ended.values()]) stream.drop(reason);
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get #partBytes(): number {
    return Math.min(eventBytesPerStreamMax, eventBytesMax / Math.max(1, this.#running.size));
  }

  #makeRoom(grown: ResumableStream | undefined): void {
    grown?.shrink(this.#partBytes);
    if (this.#heldBytes <= eventBytesMax) return;
    const ofKeys = [...Map.groupBy(this.#ended.values(), ({ holders }) => holders[0]).values()];
    while (this.#heldBytes > eventBytesMax - roomBytes) {
      const most = ofKeys.reduce((longest, each) => (each.length > longest.length ? each : longest), []);
      const oldest = most.shift();
      if (!oldest) return;
      oldest.drop(undefined);
    }
  }
}

/** A failure after the first audio. */
interface StreamFailed {
  type: 'failed';
  failure: Failure;
  chunkIndex: number;
  requestId: string;
}

export type StreamEvent = SpeechEvent | StreamFailed;

export const eventHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

export const keepalive = ': keepalive\n\n';

export function toEventText(audioId: string, n: number, event: StreamEvent): string {
  // Audio is most of a stream, and base64 needs no JSON escaping.
  if (event.type === 'audio') {
    const { buffer, byteOffset, byteLength } = event.audio;
    const audio = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
    return `id: ${audioId}:${n}\nevent: speech.audio.delta\ndata: {"type":"speech.audio.delta","chunk_index":${event.chunkIndex},"audio":"${audio}"}\n\n`;
  }
  const data = toData(audioId, event);
  return `id: ${audioId}:${n}\nevent: ${data.type}\ndata: ${toAscii(JSON.stringify(data))}\n\n`;
}

const toAscii = (json: string): string =>
  json.replace(/[^\0-~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

function toData(audioId: string, event: Exclude<StreamEvent, { type: 'audio' }>): Fields & { type: string } {
  if (event.type === 'failed') return { type: 'error', ...toErrorData(event) };
  const { case: name, value } = toStreamResponse(event).event!;
  const members = writeMessage(StreamSpeechResponseSchema.field[name!].message!, value!);
  const type = eventNames[event.type];
  if (event.type === 'info') {
    const told = Object.entries(members).filter(([name]) => !unsentMembers.includes(name));
    return { type, ...Object.fromEntries(told), method: 'streaming' };
  }
  if (event.type !== 'done') return { type, ...members };
  const usage = { characters: members.chars, audio_seconds: members.duration };
  return { type, id: audioId, status: 'success', ...members, audio_url: members.audio_url || null, usage };
}

/** Members of the first event's message that the headers of the reply have instead. */
export const unsentMembers: readonly string[] = ['warnings', 'audio_url', 'expires_at', 'cached'];

const eventNames = {
  info: 'speech.audio.info',
  timestamps: 'speech.audio.timestamps',
  mark: 'speech.mark',
  chunk_done: 'speech.chunk.done',
  done: 'speech.audio.done',
};

function toErrorData({ failure, chunkIndex, requestId }: StreamFailed) {
  const { error, message, status, retry_after, request_id } = toFailureBody(failure, requestId);
  const retryable = retry_after !== undefined;
  return { error, message, status, retryable, ...(retryable && { retry_after }), chunk_index: chunkIndex, request_id };
}

/** The event number in a `Last-Event-ID`; undefined if the id is malformed or belongs to another stream. */
export function numberOfEvent(lastEventId: string, audioId: string): number | undefined {
  const [, id, n] = /^(aud_[0-9A-Z]+):(\d{1,9})$/.exec(lastEventId) ?? [];
  return id === audioId ? Number(n) : undefined;
}

/** Approximate memory use of an event. */
export function bytesOf(event: StreamEvent): number {
  if (event.type === 'audio') return event.audio.length + 200;
  return event.type === 'timestamps' ? 200 * (event.words.length + 1) : 500;
}
