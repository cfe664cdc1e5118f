// A call from its headers to its last result. It is admitted, started and given a time limit, and ends exactly once. An
// aborted call ends at once, even if the operation ignores its signal.
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { required_scopes } from '../../gen/sonant/v1/scope_pb.ts';
import { type Accounts, checkScopes, type KeyCaller, type LimitStatus } from '../accounts.ts';
import { Failure, failureTable, toFailure } from '../platform/errors.ts';
import { giveUpAfter, Pace } from '../platform/pace.ts';
import { oncePer } from '../platform/runtime/once-per.ts';
import { type Span, type TraceHeaders, type Tracing, within } from '../platform/telemetry/trace.ts';
import { anonymous, type Call, callerLeft, type EndedCall, type SpeechFacts } from './call.ts';
import type { KeyWatch } from './key-watch.ts';
import type { OpenCallLimits, OpenCalls } from './open-calls.ts';

export interface TimeLimits {
  unaryCallMs: number;
  streamCallMs: number;
  readerStallMs: number;
}

/** Properties of a call that are known once its headers have arrived. */
export interface Incoming {
  /** The API or protocol, such as "grpc", "connect", "rest" or "sse". */
  api: string;
  requestId: string;
  address: string;
  /** Identifies the connection of the call, if it is known. */
  connection?: object | undefined;
  deadlineMs?: KeyCaller['deadlineMs'];
  /** Reads the caller's trace headers. Called only if calls are traced. */
  readTrace?: (() => TraceHeaders) | undefined;
  reportLimits(status: LimitStatus): void;
  /** Converts between Failures and the errors of the API's library, if the library has its own errors. */
  errors?: { read(error: unknown): unknown; write(failure: Failure | typeof callerLeft): unknown };
}

/** Objects shared by all calls of a runner. */
export interface Shared {
  admit: Accounts['admit'];
  onCallEnd(call: EndedCall): void;
  /** Traces calls; undefined if calls are not traced. */
  tracing: Tracing | undefined;
  timeLimits: TimeLimits;
  openLimits: OpenCallLimits;
  openCalls: OpenCalls;
  keyWatch: KeyWatch;
  running: Set<{ abort(reason: unknown): void }>;
  leaving: AbortController;
  stopped: AbortController;
}

/** The credentials of a call. */
type Presented = Omit<Parameters<Accounts['admit']>[0], 'address' | 'reportLimits'>;

/** The results of a stream. Nothing is held until the first one is read. */
type Results<T> = AsyncIterable<T> | Promise<AsyncIterable<T>>;

/** Failures that have been reported as the end of a call. */
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
  #admission: Promise<KeyCaller> | undefined;
  /** The RPCs that admission has allowed. The call runs one of them. */
  #admittedTo: readonly DescMethod[] = [];
  /** The RPC that this call may run without a key. */
  #open: DescMethod | undefined;
  #method: DescMethod | undefined;
  #messageCount = 0;
  #hasEnded = false;
  /** Undo what the start and the admission have set up. */
  readonly #releases: (() => void)[] = [];
  readonly #pace = new Pace();
  /** Rejects the awaited result. */
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

  /** Sets the API of the call, if it is known only after the call has begun. */
  set api(api: string) {
    this.#incoming = { ...this.#incoming, api };
  }

  get callerId(): string | undefined {
    return this.#caller?.callerId;
  }

  /** Admits a caller that may call one of the RPCs. Throws a Failure if the caller is refused. */
  async admit(presented: Presented, ...methods: DescMethod[]): Promise<void> {
    const { address, reportLimits } = this.#incoming;
    const scopes = methods.map(scopesOf);
    const admit = () => this.#shared.admit({ ...presented, address, reportLimits }, ...scopes);
    this.#admission = within(this.#span, admit);
    this.#caller = await this.#admission;
    this.#admittedTo = methods;
  }

  /** Charges another request to the key, which must still be valid. */
  async admitAgain(): Promise<void> {
    const { address } = this.#incoming;
    // The client of a WebSocket may send messages before it is admitted.
    await this.#admission;
    await this.#shared.admit({ key: undefined, ticketKeyId: this.caller.keyId, address });
  }

  /** Admits a call to an RPC that needs no key. Throws a Failure if the call is refused. */
  admitAnyone(method: DescMethod): void {
    const { openCalls, openLimits } = this.#shared;
    this.#releases.push(openCalls.enter(this.#incoming));
    this.#open = method;
    this.#endAfter(method.methodKind === 'unary' ? openLimits.unaryMs : openLimits.streamMs);
  }

  /**
   * Restricts the call to one of the RPCs that admission has allowed. Throws `insufficient_scope` if the call's key may
   * not call that RPC.
   */
  narrow(method: DescMethod): void {
    checkScopes(this.caller, scopesOf(method));
    this.#admittedTo = [method];
  }

  /** Runs an RPC with one result. */
  run<T>(method: DescMethod, work: (call: Call) => Promise<T>): Promise<T> {
    const { unaryCallMs } = this.#shared.timeLimits;
    const take = () => {
      this.#messageCount = 1;
      this.#end('OK');
    };
    return this.#orAbort(
      () => work(this.#start(method, unaryCallMs)),
      take,
      (error) => this.thrown(error),
    );
  }

  /** Runs an RPC with a stream of results. */
  stream<T>(method: DescMethod, work: (call: Call) => Results<T>): AsyncIterable<T> {
    return this.streamFrom(() => work(this.startStream(method)));
  }

  /** Returns the results of a started stream. The stream ends when its reader returns or reads nothing for too long. */
  streamFrom<T>(open: () => Results<T>): AsyncIterable<T> {
    let source: AsyncIterator<T> | undefined;
    const leave = () => {
      // The result is not awaited, because an operation that ignores its signal would block the caller.
      source?.return?.()?.catch(() => {});
    };
    const begin = async () => {
      source = (await open())[Symbol.asyncIterator]();
      this.#ending.signal.throwIfAborted();
      return source.next();
    };
    const read = () => source?.next() ?? begin();
    const take = (result: IteratorResult<T>) => {
      if (result.done) return this.#end('OK');
      this.#messageCount++;
      this.#pace.given();
    };
    const next = (): Promise<IteratorResult<T>> => {
      this.#pace.taken();
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

  /** Ends a running call with its abort reason or, without one, with the error. Returns the reason for the end. */
  fail(error: unknown, method?: DescMethod): Failure | typeof callerLeft {
    this.#method ??= method;
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

  /** Ends the call with the error. Returns the error to throw to the API. */
  thrown(error: unknown): unknown {
    const failure = this.fail(error);
    return this.#incoming.errors?.write(failure) ?? failure;
  }

  /** Aborts the operation and rejects the awaited result. Has no effect on a call that has ended. */
  abort(reason: unknown): void {
    this.#ending.abort(reason);
    this.#refuse(this.#ending.signal.reason);
  }

  /** Starts an RPC whose results `streamFrom` reads. */
  startStream(method: DescMethod): Call {
    const { timeLimits, openLimits } = this.#shared;
    const call = this.#start(method, timeLimits.streamCallMs);
    const stallMs = method === this.#open ? openLimits.stallMs : timeLimits.readerStallMs;
    const message = `The client read nothing from the stream for ${stallMs / 1000} s.`;
    this.#releases.push(this.#pace.after(stallMs, () => this.abort(tooLate(message))));
    return call;
  }

  /** Starts the time limit and the watch of the key. */
  #start(method: DescMethod, timeoutMs: number): Call {
    this.#method = method;
    const isOpen = method === this.#open;
    const { requestId, address, deadlineMs, reportLimits } = this.#incoming;
    const caller = { ...(isOpen ? anonymous : this.caller), deadlineMs };
    if (this.#admittedTo.length > 1) this.narrow(method);
    const { signal } = this.#ending;
    signal.throwIfAborted();
    const { running, leaving, stopped } = this.#shared;
    if (stopped.signal.aborted) throw stopped.signal.reason;
    running.add(this);
    this.#releases.push(() => running.delete(this));
    if (!isOpen) this.#limit(method, timeoutMs);
    const reportSpeech = (facts: SpeechFacts) => void Object.assign(this.#speech, facts);
    const since = { requestId, address, begunMs: this.#begunMs };
    return { caller, ...since, reportLimits, reportSpeech, signal, pace: this.#pace, leaving: leaving.signal };
  }

  #limit({ parent }: DescMethod, timeoutMs: number): void {
    this.#endAfter(timeoutMs);
    // An RPC that revokes the key that calls it must not end its own call.
    if (parent === ApiKeyService) return;
    this.#releases.push(this.#shared.keyWatch.watch(this.caller.keyId, (failure) => this.abort(failure)));
  }

  #endAfter(timeoutMs: number): void {
    const giveUp = () => this.abort(tooLate(`The call did not finish within ${timeoutMs / 1000} s.`));
    this.#releases.push(giveUpAfter(timeoutMs, giveUp));
  }

  /**
   * Resolves with the result of the work, or rejects with the abort reason. `take` receives the result before the
   * caller does; `toThrown` converts an error thrown by the work. Spans started by the work belong to the call's trace.
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
    for (const release of this.#releases) release();
    const { requestId, api } = this.#incoming;
    const ended: EndedCall = {
      requestId,
      method: this.#method ? nameOf(this.#method) : '',
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

/** All scopes that a key needs to call the RPC. If there are none, any valid key is accepted. */
export const scopesOf = oncePer((method: DescMethod): readonly string[] => getOption(method, required_scopes));

/** The name of an RPC for logs and metrics, such as "sonant.v1.SpeechService/StreamSpeech". */
const nameOf = ({ parent, name }: DescMethod) => `${parent.typeName}/${name}`;

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
