// A call from its headers to its last result: admitted, started, limited in time, ended exactly once. It ends at once when
// it is aborted, whether or not the operation watches its signal.
import { checkScopes, type Presented } from '../access/admit.ts';
import type { KeyCaller } from '../access/key-verifier.ts';
import { Failure, failureTable, toFailure } from '../errors.ts';
import { type Span, within } from '../telemetry/trace.ts';
import { anonymous, type Call, callerLeft, type SpeechFacts } from './call.ts';
import type { EndedCall } from './ended-call.ts';
import type { Incoming, Shared } from './incoming-call.ts';
import type { Operation } from './operation.ts';

/** Failures that ended a call and were reported with it. */
const reported = new WeakSet<Failure>();
export const wasReported = (error: unknown): boolean => error instanceof Failure && reported.has(error);

export class RunningCall {
  #incoming: Incoming;
  readonly #shared: Shared;
  readonly #begunMs = performance.now();
  readonly #ending = new AbortController();
  readonly #span: Span | undefined;
  readonly #speech: SpeechFacts = {};
  #caller: KeyCaller | undefined;
  /** Those that it was admitted to: one of them is run. */
  #admittedTo: readonly Operation[] = [];
  #operation: Operation | undefined;
  #messageCount = 0;
  #hasEnded = false;
  /** Undo what `#start` and `admitAnyone` have set up. */
  #release = () => {};
  #leaveOpen = () => {};
  /** Since when a result of a stream waits to be read. */
  #waitingSinceMs: number | undefined;
  /** Rejects the result that is awaited. */
  #refuse: (reason: unknown) => void = () => {};

  constructor(incoming: Incoming, shared: Shared) {
    this.#incoming = incoming;
    this.#shared = shared;
    this.#span = shared.tracing?.begin(incoming.readTrace?.() ?? {}, { name: incoming.api, kind: 'server' });
  }

  get caller(): KeyCaller {
    if (!this.#caller) throw new Error('the call was not admitted');
    return this.#caller;
  }

  /** The API that the call comes through, where that is known only after its beginning. */
  set api(api: string) {
    this.#incoming = { ...this.#incoming, api };
  }

  get callerId(): string | undefined {
    return this.#caller?.callerId;
  }

  /** Admits a caller who may call one of the operations, or throws the Failure that refuses it. */
  async admit(presented: Omit<Presented, 'address' | 'reportLimits'>, ...operations: Operation[]): Promise<void> {
    const { address, reportLimits } = this.#incoming;
    const scopes = operations.map((operation) => operation.scopes);
    const admit = () => this.#shared.admit({ ...presented, address, reportLimits }, ...scopes);
    this.#caller = await within(this.#span, admit);
    this.#admittedTo = operations;
  }

  /** Charges another request to the key, which must still be valid. */
  async admitAgain(): Promise<void> {
    const { address } = this.#incoming;
    await this.#shared.admit({ key: undefined, ticketKeyId: this.caller.keyId, address });
  }

  /** Admits a call to an operation that needs no key, or throws the Failure that refuses it. */
  admitAnyone({ isOpen }: Operation): void {
    this.#leaveOpen = this.#shared.openCalls.enter({
      address: this.#incoming.address,
      connection: this.#incoming.connection,
      isStream: isOpen === 'stream',
      waitingSinceMs: () => this.#waitingSinceMs,
      abort: (failure) => this.abort(failure),
    });
  }

  /** Narrows a call that was admitted to several operations to this one, or throws `insufficient_scope`. */
  narrow(operation: Operation): void {
    checkScopes(this.caller, operation.scopes);
    this.#admittedTo = [operation];
  }

  /** Runs an operation that has one result. */
  run<T>(operation: Operation, work: (call: Call) => Promise<T>): Promise<T> {
    const { unaryCallMs } = this.#shared.timeLimits;
    const take = () => {
      this.#messageCount = 1;
      this.#end('OK');
    };
    return this.#orAbort(
      () => work(this.#start(operation, unaryCallMs)),
      take,
      (error) => this.thrown(error),
    );
  }

  /** Runs an operation that has a stream of results. */
  stream<T>(operation: Operation, work: (call: Call) => AsyncIterable<T>): AsyncIterable<T> {
    return this.streamFrom(() => work(this.startStream(operation)));
  }

  /** The results of a stream that was started. It is ended when its reader returns, or reads nothing for too long. */
  streamFrom<T>(open: () => AsyncIterable<T>): AsyncIterable<T> {
    const stall = this.#watchStall();
    let source: AsyncIterator<T> | undefined;
    const leave = () => {
      stall.close();
      // Not awaited: an operation that does not watch its signal would keep the caller waiting.
      source?.return?.()?.catch(() => {});
    };
    const read = () => {
      source ??= open()[Symbol.asyncIterator]();
      return source.next();
    };
    const take = (result: IteratorResult<T>) => {
      if (result.done) {
        stall.close();
        this.#end('OK');
      } else {
        this.#messageCount++;
        stall.wait();
      }
    };
    const next = (): Promise<IteratorResult<T>> => {
      this.#waitingSinceMs = undefined;
      const refused = (error: unknown) => {
        leave();
        return this.thrown(error);
      };
      return this.#orAbort(read, take, refused);
    };
    const end = async () => {
      this.fail(callerLeft);
      this.abort(callerLeft);
      leave();
      return { done: true as const, value: undefined };
    };
    this.#ending.signal.addEventListener('abort', leave, { once: true });
    return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Ends the call, if it has not ended, with the reason for which it was aborted, or with the error. Returns either. */
  fail(error: unknown, operation?: Operation): Failure | typeof callerLeft {
    this.#operation ??= operation;
    const { signal } = this.#ending;
    const reason = signal.aborted ? signal.reason : (this.#incoming.errors?.read(error) ?? error);
    if (reason === callerLeft) {
      this.#end('CANCELLED');
      return callerLeft;
    }
    const failure = toFailure(reason);
    reported.add(failure);
    this.#end(failureTable[failure.reason].code, failure);
    return failure;
  }

  /** Ends the call with the error, and returns what is to be thrown to the API. */
  thrown(error: unknown): unknown {
    const failure = this.fail(error);
    return this.#incoming.errors?.write(failure) ?? failure;
  }

  /** Aborts the operation; whoever waits for its result gets the reason. Without effect on a call that has ended. */
  abort(reason: unknown): void {
    this.#ending.abort(reason);
    this.#refuse(this.#ending.signal.reason);
  }

  /** Starts an operation whose results `streamFrom` reads. */
  startStream(operation: Operation): Call {
    return this.#start(operation, this.#shared.timeLimits.streamCallMs);
  }

  /** From here on the call is limited in time, and ends when its key does. */
  #start(operation: Operation, timeoutMs: number): Call {
    this.#operation = operation;
    const { requestId, address, deadlineMs, reportLimits } = this.#incoming;
    const caller = { ...(operation.isOpen ? anonymous : this.caller), deadlineMs };
    if (this.#admittedTo.length > 1) this.narrow(operation);
    const { signal } = this.#ending;
    signal.throwIfAborted();
    const { running, leaving, stopped } = this.#shared;
    if (stopped.signal.aborted) throw stopped.signal.reason;
    running.add(this);
    this.#release = () => running.delete(this);
    if (!operation.isOpen) this.#limit(operation, timeoutMs);
    const reportSpeech = (facts: SpeechFacts) => void Object.assign(this.#speech, facts);
    const since = { requestId, address, begunMs: this.#begunMs };
    return { caller, ...since, reportLimits, reportSpeech, signal, leaving: leaving.signal };
  }

  #limit({ managesKeys }: Operation, timeoutMs: number): void {
    const { keyWatch, deadlines, running } = this.#shared;
    const giveUp = () => this.abort(tooLate(`The call was not done within ${timeoutMs / 1000} s.`));
    const inTime = deadlines.watch(timeoutMs, giveUp);
    const unwatch = managesKeys ? undefined : keyWatch.watch(this.caller.keyId, (failure) => this.abort(failure));
    this.#release = () => {
      inTime();
      unwatch?.();
      running.delete(this);
    };
  }

  /** One timer for a whole stream; it counts only while a result waits to be read. Calls without a key share theirs. */
  #watchStall() {
    const { readerStallMs: stallMs } = this.#shared.timeLimits;
    const giveUp = () => {
      if (this.#waitingSinceMs !== undefined)
        this.abort(tooLate(`Nothing of the stream was read for ${stallMs / 1000} s.`));
    };
    let timer: NodeJS.Timeout | undefined;
    return {
      wait: () => {
        this.#waitingSinceMs = performance.now();
        if (this.#operation?.isOpen) return;
        timer ??= setInterval(giveUp, stallMs).unref();
        timer.refresh();
      },
      close: () => clearInterval(timer),
    };
  }

  /**
   * The result of the work, or the reason for which the call was aborted meanwhile; `take` has the result before it is
   * awaited, `toThrown` makes the error of what it failed with. What the work starts belongs to the trace of the call.
   */
  #orAbort<T>(work: () => Promise<T>, take: (result: T) => void, toThrown: (error: unknown) => unknown): Promise<T> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const refuse = (error: unknown) => {
        if (isOver) return;
        isOver = true;
        reject(toThrown(error));
      };
      const settle = (result: T) => {
        if (isOver) return;
        isOver = true;
        take(result);
        resolve(result);
      };
      const { signal } = this.#ending;
      this.#refuse = refuse;
      try {
        within(this.#span, work).then(settle, refuse);
        if (signal.aborted) refuse(signal.reason);
      } catch (error) {
        refuse(error);
      }
    });
  }

  #end(status: string, failure?: Failure): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#release();
    this.#leaveOpen();
    const { requestId, api } = this.#incoming;
    const ended: EndedCall = {
      requestId,
      method: this.#operation?.name ?? '',
      api,
      callerId: this.callerId,
      keyId: this.#caller?.keyId,
      traceId: this.#span?.traceId,
      speech: this.#speech,
      status,
      failure,
      durationMs: performance.now() - this.#begunMs,
      messageCount: this.#messageCount,
    };
    if (this.#span) endCallSpan(this.#span, ended);
    this.#shared.onCallEnd(ended);
  }
}

const tooLate = (message: string) => new Failure('engine_timeout', { message });

function endCallSpan(span: Span, { requestId, method, api, status, keyId, speech, failure }: EndedCall): void {
  const { voiceId, engine, format, characters, isCached, audioSeconds, firstSoundMs } = speech;
  span.name = method || api;
  span.set({
    'rpc.method': method,
    'rpc.response.status_code': status,
    'sonant.api': api,
    'sonant.request_id': requestId,
    'sonant.key_id': keyId,
    'sonant.voice_id': voiceId,
    'sonant.engine': engine,
    'sonant.format': format,
    'sonant.characters': characters,
    'sonant.cached': isCached,
    'sonant.audio_seconds': audioSeconds,
    'sonant.first_sound_seconds': firstSoundMs === undefined ? undefined : firstSoundMs / 1000,
  });
  span.end(failure?.reason);
}
