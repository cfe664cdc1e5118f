// The contexts of one WebSocket of a client of Cartesia: each is a call of live speech, and all of them speak at the same
// time. `done` is the last message of a context; after `cancel`, nothing else of it follows.
import { PushQueue } from '../../concurrency/push-queue.ts';
import { Failure } from '../../errors.ts';
import { callerLeft } from '../../operations/call.ts';
import type { LiveInput } from '../../operations/live-session.ts';
import type { LiveOperations } from '../../operations/live-speech.ts';
import { speechOperations } from '../../operations/operation.ts';
import type { RunningCall } from '../../operations/running-call.ts';
import { fromThrown } from '../http/failure-reply.ts';
import type { Fields } from '../http/known-fields.ts';
import { contextsPerSocketMax } from '../http/limits.ts';
import { type CartesiaMessage, createEventWriter, doneMessage } from './events.ts';
import { toErrorMessage } from './failure-reply.ts';
import { type Generation, parseGeneration } from './generation.ts';

export interface ContextsOptions {
  live: LiveOperations;
  requestId: string;
  /** Admits another call with the key of the connection. */
  beginCall(): Promise<RunningCall>;
  send(message: CartesiaMessage): Promise<void>;
  /** Called when the last context has ended. */
  onIdle(): void;
}

interface Context {
  inputs: PushQueue<LiveInput>;
  turn: number;
  flushed: Set<number>;
  isCancelled: boolean;
  call: RunningCall | undefined;
}

export class CartesiaContexts {
  readonly #options: ContextsOptions;
  readonly #contexts = new Map<string, Context>();

  constructor(options: ContextsOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#contexts.size === 0;
  }

  /** Takes a message; what is wrong with it is told to the client. */
  handle(message: Fields): void {
    const { context_id: contextId } = message;
    try {
      if (typeof contextId !== 'string' || contextId === '') {
        const details = [{ field: 'context_id', reason: 'required', message: 'must name the context' }];
        throw new Failure('invalid_request', { details });
      }
      if (message.cancel === true) this.#cancel(contextId);
      else this.#generate(contextId, message);
    } catch (error) {
      const context = typeof contextId === 'string' ? this.#contexts.get(contextId) : undefined;
      if (context) context.inputs.fail(error);
      else this.#fail(String(contextId ?? ''), error);
    }
  }

  /** The client has left. */
  close(): void {
    for (const { call, inputs } of this.#contexts.values()) {
      call?.abort(callerLeft);
      inputs.end();
    }
  }

  #generate(contextId: string, message: Fields): void {
    const known = this.#contexts.get(contextId);
    const generation = known ? undefined : parseGeneration(message);
    if (!known && this.#contexts.size >= contextsPerSocketMax) {
      const text = `At most ${contextsPerSocketMax} contexts can be spoken on one connection.`;
      throw new Failure('rate_limit_exceeded', {
        message: text,
        limitReason: 'concurrency',
        limit: contextsPerSocketMax,
      });
    }
    const context = known ?? this.#open(contextId, generation!);
    const { transcript = '', flush, continue: isContinued } = message;
    if (typeof transcript !== 'string') {
      const details = [{ field: 'transcript', reason: 'type', message: 'must be a string' }];
      throw new Failure('invalid_request', { details });
    }
    if (transcript !== '') context.inputs.push({ type: 'text', text: transcript });
    if (flush === true) {
      context.flushed.add(context.turn++);
      context.inputs.push({ type: 'flush' });
    }
    if (isContinued !== true) context.inputs.end();
  }

  #cancel(contextId: string): void {
    const context = this.#contexts.get(contextId);
    if (!context) return;
    context.isCancelled = true;
    context.call?.abort(callerLeft);
    context.inputs.end();
  }

  #open(contextId: string, generation: Generation): Context {
    const context: Context = {
      inputs: new PushQueue(),
      turn: 0,
      flushed: new Set(),
      isCancelled: false,
      call: undefined,
    };
    this.#contexts.set(contextId, context);
    context.inputs.push({ type: 'start', start: generation.start });
    void this.#speak(contextId, context, generation);
    return context;
  }

  async #speak(contextId: string, context: Context, generation: Generation): Promise<void> {
    const { live, send, beginCall, onIdle } = this.#options;
    const writer = createEventWriter(generation, (turn) => context.flushed.has(turn));
    try {
      const call = await beginCall();
      context.call = call;
      if (context.isCancelled) call.abort(callerLeft);
      const events = call.stream(speechOperations.liveSpeech, (begun) => live.liveSpeech(begun, context.inputs.pull()));
      for await (const event of events) {
        for (const message of writer.write(event)) {
          if (!context.isCancelled) await send({ ...message, context_id: contextId });
        }
      }
    } catch (error) {
      if (!context.isCancelled && error !== callerLeft) this.#fail(contextId, error);
    }
    this.#contexts.delete(contextId);
    await send({ ...doneMessage, context_id: contextId });
    if (this.isIdle) onIdle();
  }

  #fail(contextId: string, error: unknown): void {
    const message = toErrorMessage(fromThrown(error), this.#options.requestId);
    void this.#options.send({ ...message, context_id: contextId });
  }
}
