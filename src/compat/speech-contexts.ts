// The contexts of one WebSocket of a client of another vendor: each is a call of live speech, and all of them speak at the
// same time. The vendor's writer puts events into words; after a context is cancelled, only its last messages follow. While
// the service stops, the connection closes with 1012 as soon as no context speaks.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerLeft } from '../api/call.ts';
import type { LiveEvent, LiveInput } from '../api/live-session.ts';
import type { LiveOperations } from '../api/live-speech.ts';
import { speechOperations } from '../api/operation.ts';
import type { RunningCall } from '../api/running-call.ts';
import type { VoiceOperations } from '../api/voices.ts';
import type { Fields } from '../contract/unknown-fields.ts';
import { Failure } from '../errors.ts';
import type { Admission } from '../http/admission.ts';
import { contextsPerSocketMax } from '../http/http-limits.ts';
import { fromThrown } from '../http/thrown-failure.ts';
import { acceptWebSocket, fieldsOfMessage } from '../http/web-socket.ts';
import { liveMessageBytesMax } from '../net/request-limits.ts';
import { onAbort } from '../runtime/abort.ts';
import { PushQueue } from '../runtime/push-queue.ts';

/** The messages of a context, in the vendor's words. */
export interface ContextWriter {
  write(event: LiveEvent): Iterable<object> | AsyncIterable<object>;
  fail(failure: Failure): Iterable<object>;
  /** The last, however the context ended. */
  end(): Iterable<object>;
}

interface ContextsOptions {
  live: LiveOperations;
  admission: Pick<Admission, 'beginCall'>;
  /** Aborts when the service begins to stop. */
  leaving: AbortSignal;
  readerStallMs: number;
}

/** What the routes of a vendor's API are made of. */
export interface VendorRoutesOptions extends ContextsOptions {
  voices: VoiceOperations;
  admission: Admission;
  isAllowedOrigin(origin: string): boolean;
}

export interface ContextSocket {
  send(message: object): Promise<void>;
  /** Closes the connection, with a code of RFC 6455, section 7.4. */
  close(code: number): void;
}

/** What a vendor makes of the messages of its client. */
export interface ContextProtocol {
  /** The member of a message that has its text. */
  textField: string;
  /** A Failure that it throws closes the connection. */
  handle(message: Fields): void;
  toError(failure: Failure): object;
  /** Called when the last context has ended. */
  onIdle?(): void;
}

/** Clients send phrases without the space that stands between them. Half of a surrogate pair goes on in the next one. */
export const toPhrase = (text: string): string => (/[\s\uD800-\uDBFF]$/.test(text) ? text : `${text} `);

export class SpeechContext<Writer extends ContextWriter> {
  readonly writer: Writer;
  readonly inputs = new PushQueue<LiveInput>();
  isCancelled = false;
  call: RunningCall | undefined;

  constructor(writer: Writer) {
    this.writer = writer;
  }

  /** Whether its call accepts no more text, because it was cancelled or has failed. */
  get isOver(): boolean {
    return this.inputs.isEnded;
  }

  /** Stops its sound at once. */
  cancel(): void {
    this.isCancelled = true;
    this.call?.abort(callerLeft);
    this.inputs.end();
  }
}

interface SpeakingOptions {
  live: LiveOperations;
  /** Admits another call with the key of the connection. */
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

  /** Opens a context that is not there; its first input is to be the start. A Failure where there are too many. */
  open(id: string, writer: Writer): SpeechContext<Writer> {
    const limit = contextsPerSocketMax;
    if (this.#contexts.size >= limit) {
      const message = `A connection can have at most ${limit} contexts. Close one first.`;
      throw new Failure('rate_limit_exceeded', { message, limitReason: 'concurrency', limit });
    }
    const context = new SpeechContext(writer);
    this.#contexts.set(id, context);
    void this.#speak(id, context);
    return context;
  }

  /** The client has left. */
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
      const events = call.stream(speechOperations.liveSpeech, (begun) => live.liveSpeech(begun, inputs.pull()));
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

/** Serves a WebSocket whose upgrade has been checked, until it is closed. */
export async function serveContexts<Writer extends ContextWriter>(
  { live, admission, leaving, readerStallMs, door }: ContextsOptions & { door: string },
  [request, reply]: [FastifyRequest, FastifyReply],
  open: (contexts: SpeechContexts<Writer>, socket: ContextSocket) => ContextProtocol,
): Promise<void> {
  const peer = await acceptWebSocket(request, reply, { messageBytesMax: liveMessageBytesMax, readerStallMs });
  const send = (message: object) => peer.send(JSON.stringify(message));
  const contexts = new SpeechContexts<Writer>({
    live,
    beginCall: () => admission.beginCall(request, door, speechOperations.liveSpeech),
    send,
    onIdle: () => (leaving.aborted ? leave() : protocol.onIdle?.()),
  });
  const protocol = open(contexts, { send, close: (code) => peer.close(code) });
  const leave = () => {
    if (contexts.isIdle) peer.close(1012);
  };
  using _ = onAbort(leaving, leave);
  try {
    for await (const message of peer.messages) protocol.handle(await fieldsOfMessage(message, protocol.textField));
  } catch (error) {
    await send(protocol.toError(fromThrown(error)));
    peer.close(1008);
  } finally {
    contexts.close();
  }
}
