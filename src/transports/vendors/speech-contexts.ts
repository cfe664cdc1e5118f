// The contexts of one WebSocket from another vendor's client. Each context is a call of live speech, and all contexts
// speak at the same time. The vendor's writer converts events to messages. After a context is cancelled, only its last
// messages follow. When the service stops, the connection closes with 1012 as soon as no context is speaking.
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LiveStartSchema, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { monthlyQuotaOf } from '../../accounts.ts';
import {
  type Api,
  callerLeft,
  type LiveEvent,
  type LiveInput,
  liveWaitingCharsMax,
  type RunningCall,
} from '../../api.ts';
import { type Fields, isObject } from '../../contract.ts';
import { countChars } from '../../platform/count-chars.ts';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { liveMessageBytesMax } from '../../platform/net/request-limits.ts';
import { onAbort } from '../../platform/runtime/abort.ts';
import { PushQueue } from '../../platform/runtime/push-queue.ts';
import { toSnakeCase } from '../../platform/store/row-store.ts';
import { readRequest, type SpeechRequest } from '../../speech.ts';
import { MarkupFault, readMarkup } from '../../text.ts';
import { contextsPerSocketMax, firstMessageMs, keptSocketSilentMsMax } from '../http/http-limits.ts';
import type { RouteTools } from '../http/route-tools.ts';
import { acceptWebSocket, fieldsOfMessage } from '../http/web-socket.ts';
import { fromThrown } from '../net/failure-reply.ts';

export interface ContextWriter {
  write(event: LiveEvent): Iterable<object> | AsyncIterable<object>;
  fail(failure: Failure): Iterable<object>;
  /** The last messages, however the context ended. */
  end(): Iterable<object>;
}

export interface ContextSocket {
  send(message: object): Promise<void>;
  /** Closes the connection with a status code from RFC 6455, section 7.4. */
  close(code: number, reason?: string): void;
}

/** How a vendor's API handles messages from its client. */
export interface ContextProtocol {
  textField: string;
  /** Handles a message. A Failure that this function throws closes the connection. */
  handle(message: Fields): void;
  toError(failure: Failure): object & { message: string };
  /** Called when the last context has ended. If the service is stopping, a connection that is left open is closed. */
  onIdle?(isStopping: boolean): void;
}

/** Seconds of silence sent for a context without text. Clients treat a context without audio as a failure. */
export const emptyContextSeconds = 0.1;

/** Tags are not charged. A text with a faulty tag is refused when it is planned. */
function spokenCharsOf(text: string): number {
  try {
    return readMarkup(text, 'vendor').chars;
  } catch (error) {
    if (error instanceof MarkupFault) return countChars(text);
    throw error;
  }
}

/**
 * Returns the number of characters that are charged. Throws a Failure if the texts of one request exceed a monthly quota
 * of the caller or what is left of it, or the limit for text that waits to be spoken.
 */
export function checkTextFits(
  lines: readonly { text: string }[],
  { call, limitStatus }: Pick<FastifyRequest, 'call' | 'limitStatus'>,
  otherWay: string,
): number {
  const sumOf = (count: (text: string) => number) => lines.reduce((sum, { text }) => sum + count(text), 0);
  const chars = sumOf(spokenCharsOf);
  const quota = monthlyQuotaOf(call!.caller);
  quota.checkFits(chars);
  const actual = sumOf(countChars);
  const limit = liveWaitingCharsMax;
  if (actual > limit) {
    const message = `The text has ${actual} characters; the limit is ${limit}. ${otherWay}.`;
    throw new Failure('text_too_long', { message, limit, actual });
  }
  quota.checkLeft(chars, limitStatus);
  return chars;
}

export async function* soundOf(events: AsyncIterable<LiveEvent>): AsyncGenerator<Uint8Array> {
  for await (const event of events) if (event.type === 'audio') yield event.audio;
}

/** The start of live speech, from fields with the names of the proto. `faults` were found before. */
export const readStart = (start: Fields, faults: readonly FieldViolation[] = []): SpeechRequest =>
  readRequest(LiveStartSchema, start, { violations: faults }).request;

/**
 * Adds the space that clients omit between phrases. Adds no space after half of a surrogate pair, which the next phrase
 * completes.
 */
export const toPhrase = (text: string): string => (/[\s\uD800-\uDBFF]$/.test(text) ? text : `${text} `);

export class SpeechContext<Writer extends ContextWriter> {
  readonly writer: Writer;
  readonly inputs = new PushQueue<LiveInput>();
  isCancelled = false;
  call: RunningCall | undefined;
  /** Resolves when the last message has been sent. */
  ended: Promise<void> | undefined;

  constructor(writer: Writer) {
    this.writer = writer;
  }

  /** Whether the context accepts no more text, because its text has ended, or it was cancelled or has failed. */
  get isOver(): boolean {
    return this.inputs.isEnded;
  }

  /** Stops the audio of the context at once. */
  cancel(): void {
    this.isCancelled = true;
    this.call?.abort(callerLeft);
    this.inputs.end();
  }
}

interface SpeakingOptions {
  live: Api['live'];
  /** Admits another call with the connection's key. */
  beginCall(): Promise<RunningCall>;
  send(message: object): Promise<void>;
  onIdle(): void;
}

export class SpeechContexts<Writer extends ContextWriter> {
  readonly #options: SpeakingOptions;
  readonly #contexts = new Map<string, SpeechContext<Writer>>();

  constructor(options: SpeakingOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#contexts.size === 0;
  }

  all(): Iterable<SpeechContext<Writer>> {
    return this.#contexts.values();
  }

  get(id: string): SpeechContext<Writer> | undefined {
    return this.#contexts.get(id);
  }

  /** Opens a new context, whose first input must be the start. Throws a Failure if there are too many contexts. */
  open(id: string, writer: Writer): SpeechContext<Writer> {
    const limit = contextsPerSocketMax;
    if (this.#contexts.size >= limit) {
      const message = `A connection can have at most ${limit} contexts. Close one first.`;
      throw new Failure('rate_limit_exceeded', { message, limitReason: 'concurrency', limit });
    }
    const context = new SpeechContext(writer);
    this.#contexts.set(id, context);
    context.ended = this.#speak(id, context);
    return context;
  }

  /** Ends every context with the failure, because clients that wait for a context overlook failures of the connection. */
  async fail(failure: Failure): Promise<void> {
    const contexts = [...this.all()];
    for (const { call, inputs } of contexts) (call ?? inputs).abort(failure);
    await Promise.all(contexts.map(({ ended }) => ended));
  }

  /** Called when the client has disconnected. */
  close(): void {
    for (const context of this.#contexts.values()) context.cancel();
  }

  async #speak(id: string, context: SpeechContext<Writer>): Promise<void> {
    const { live, send, beginCall, onIdle } = this.#options;
    const { writer, inputs } = context;
    try {
      const call = await beginCall();
      context.call = call;
      if (context.isCancelled) call.abort(callerLeft);
      const events = call.stream(SpeechService.method.liveSpeech, (begun) => live.liveSpeech(begun, inputs.pull()));
      for await (const event of events) {
        for await (const message of writer.write(event)) if (!context.isCancelled) await send(message);
      }
    } catch (error) {
      inputs.discard();
      if (!context.isCancelled && error !== callerLeft) {
        for (const message of writer.fail(fromThrown(error))) await send(message);
      }
    }
    this.#contexts.delete(id);
    for (const message of writer.end()) await send(message);
    if (this.isIdle) onIdle();
  }
}

/** The message with names such as `context_id`. */
const withSnakeNames = (message: object): object =>
  Object.fromEntries(
    Object.entries(message).map(([name, value]) => [
      toSnakeCase(name),
      isObject(value) ? withSnakeNames(value) : value,
    ]),
  );

/** Reads the first message; undefined if none arrives in time. */
type ReadFirst = () => Promise<Fields | undefined>;

/**
 * Serves a WebSocket until it is closed. `api` names the vendor's API in logs. The upgrade must have been checked
 * before. `begin` admits the caller, if no hook of the route has done so, and returns the first message if it has read it.
 */
export async function serveContexts<Writer extends ContextWriter>(
  {
    live,
    admission,
    runner: { leaving },
    readerStallMs,
    api,
    hasSnakeNames,
  }: RouteTools & { api: string; hasSnakeNames?: boolean },
  [request, reply]: [FastifyRequest, FastifyReply],
  open: (contexts: SpeechContexts<Writer>, socket: ContextSocket) => ContextProtocol,
  begin: (readFirst: ReadFirst) => ReturnType<ReadFirst> = async () => undefined,
): Promise<void> {
  const limits = { messageBytesMax: liveMessageBytesMax, readerStallMs, silentMsMax: keptSocketSilentMsMax };
  const peer = await acceptWebSocket(request, reply, limits);
  const send = (message: object) => peer.send(JSON.stringify(hasSnakeNames ? withSnakeNames(message) : message));
  const contexts = new SpeechContexts<Writer>({
    live,
    beginCall: () => admission.beginCall(request, api, SpeechService.method.liveSpeech),
    send,
    onIdle: () => {
      // A connection that has done its work closes with its own code, also while the service stops.
      protocol.onIdle?.(leaving.aborted);
      if (leaving.aborted) leave();
    },
  });
  const protocol = open(contexts, { send, close: peer.close });
  const { messages } = peer;
  const late = delay(firstMessageMs, undefined, { ref: false });
  const readFirst = async () => {
    const first = await Promise.race([messages.next(), late]);
    return first?.value === undefined ? undefined : fieldsOfMessage(first.value, protocol.textField);
  };
  let isRefused = false;
  const leave = () => {
    if (contexts.isIdle && !isRefused) peer.close(1012, fromThrown(leaving.reason).message);
  };
  using _ = onAbort(leaving, leave);
  try {
    const first = await begin(readFirst);
    if (first) protocol.handle(first);
    for await (const message of messages) protocol.handle(await fieldsOfMessage(message, protocol.textField));
  } catch (error) {
    const failure = fromThrown(error);
    isRefused = true;
    await contexts.fail(failure);
    const last = protocol.toError(failure);
    await send(last);
    peer.close(1008, last.message);
  } finally {
    contexts.close();
    // The result is not awaited, because it waits for the next message. Reading continues, up to the close frame.
    void messages.return();
  }
}
