// Wraps an engine with its concurrency limit and quota, its contract (engine-run.ts), retries and a circuit breaker, and
// answers for it once it is closed; engines implement none of these. A segment of which any sound was sent is never spoken
// again; after a failure before the first sound that says that it may pass, the segment is tried again, and once after a
// fault in its sound.
import { setTimeout as sleep } from 'node:timers/promises';
import { CircuitBreaker, type Try } from '../engines/circuit-breaker.ts';
import type { Engine, Segment, SpokenPcm, Voice } from '../engines/engine.ts';
import { readAtEngineSpeed } from '../engines/engine-reader.ts';
import { type RunPace, runEngine } from '../engines/engine-run.ts';
import { isSoundFault } from '../engines/sound-fault.ts';
import { Failure, type Reason } from '../errors.ts';
import { type Begun, relay } from '../runtime/relay.ts';
import type { EndTurn } from './engine-quota.ts';
import { createEngineTurns, type SpeakingWith, type TurnRequest } from './engine-turns.ts';
import { type BackgroundTurns, createBackgroundTurns } from './queue/background-turns.ts';

export interface EngineGuard {
  /** Where the segment is urgent, it waits for its turn until `waitUntilMs` at most, on the clock of `performance.now`. */
  speak(segment: Segment, callerId: string, signal: AbortSignal, options?: SpeakOptions): AsyncIterable<SpokenPcm>;
  /** How long until the engine may be called again for that voice, a clone or one of its own; 0 for now. */
  restMs(voiceId: string, isClone: boolean): number;
  /** Ends what is running, as any later call, with `engine_unavailable`, and closes the engine. */
  close(): Promise<void>;
  /** The worst state of its breakers. */
  readonly state: CircuitBreaker['state'];
  /** Segments that wait for their turn. */
  readonly waiting: number;
  /** Whether what has begun with the voice, and so many that are about to be heard, keep the engine too busy for more. */
  isBehind(speaking: SpeakingWith, starting: number): boolean;
}

export interface SpeakOptions {
  waitUntilMs?: number | undefined;
  /** Whether interactive requests go before it. */
  isBackground?: boolean;
  /** Nobody listens. */
  isBulk?: boolean;
}

/** What metrics are made of. */
export interface EngineWatch {
  /** The segment, the first of its request or not, has waited so long for its turn. */
  onTurn?(engine: string, isFirst: boolean, waitedMs: number): void;
  onSegment(engine: string, ended: EndedSegment): void;
  onRetry(engine: string): void;
}

export interface EndedSegment {
  /** Empty where the engine does not tell it. */
  model: string;
  outcome: 'spoken' | 'left' | Reason;
  firstSoundMs: number | undefined;
  /** Of what was spoken. */
  pace?: RunPace | undefined;
}

/** The guard of an engine, one for each. */
export interface EngineGuards {
  (engine: Engine): EngineGuard;
  /** Of all these engines together. */
  readonly background: BackgroundTurns;
}

export function createEngineGuards(watch?: EngineWatch): EngineGuards {
  const guards = new WeakMap<Engine, EngineGuard>();
  const background = createBackgroundTurns();
  const guardOf = (engine: Engine) => {
    const guard = guards.get(engine) ?? createEngineGuard(engine, watch, background);
    guards.set(engine, guard);
    return guard;
  };
  return Object.assign(guardOf, { background });
}

interface GuardedTurn extends TurnRequest {
  /** The engine has finished its work, of this attempt. */
  onIdle?(): void;
}

const states = ['closed', 'half_open', 'open'] as const;
const speakersKnownMax = 1_000;
const attemptsMax = 3;
const retryMsFirst = 250;
/** Longer waits fail at once with `retryAfterSeconds`. */
const retryMsMax = 2_000;
const retryJitter = 0.5;

export function createEngineGuard(
  engine: Engine,
  watch?: EngineWatch,
  background = createBackgroundTurns(),
): EngineGuard {
  const turns = createEngineTurns(engine);
  const breakers = createBreakers(engine);
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  const attempt = createAttempts(engine, { turns, breakers, watch });

  async function beginSpeaking(segment: Segment, turn: GuardedTurn): Promise<Begun<SpokenPcm>> {
    const { signal } = turn;
    signal.throwIfAborted();
    const breaker = breakers.of(segment.voice.voiceId, segment.clone !== undefined);
    let isAgain = false;
    for (let attempts = 1; ; attempts++) {
      const { begun, ofAttempt } = idleOnceBegun(turn);
      try {
        return begun(await attempt(isAgain ? { ...segment, isAgain } : segment, ofAttempt));
      } catch (error) {
        signal.throwIfAborted();
        const mayTry = attempts < attemptsMax && breaker.restMs() === 0;
        const isFaulty: boolean = isSoundFault(error) && !isAgain;
        const waitMs = isFaulty ? 0 : retryWaitMs(error, attempts);
        if (!mayTry || waitMs === undefined) throw error;
        isAgain ||= isFaulty;
        watch?.onRetry(engine.name);
        await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  return {
    speak: createSpeak(beginSpeaking, closing.signal, background),
    restMs: (voiceId, isClone) => breakers.of(voiceId, isClone).restMs(),
    close() {
      closing.abort(new Failure('engine_unavailable'));
      closed ??= engine.close();
      return closed;
    },
    get state() {
      return breakers.worst();
    },
    get waiting() {
      return turns.waiting();
    },
    isBehind: turns.isBehind,
  };
}

/** What is idle after an attempt that is followed by another is at work for the same segment soon. */
function idleOnceBegun({ onIdle, ...turn }: GuardedTurn) {
  let isBegun = false;
  let isIdle = false;
  return {
    ofAttempt: {
      ...turn,
      onIdle() {
        isIdle = true;
        if (isBegun) onIdle?.();
      },
    },
    begun<Result>(result: Result): Result {
      isBegun = true;
      if (isIdle) onIdle?.();
      return result;
    },
  };
}

interface Attempting {
  turns: ReturnType<typeof createEngineTurns>;
  breakers: ReturnType<typeof createBreakers>;
  watch: EngineWatch | undefined;
}

/** One attempt to have a segment spoken, in its turn. */
function createAttempts(engine: Engine, { turns, breakers, watch }: Attempting) {
  async function take(segment: Segment, turn: GuardedTurn) {
    const breaker = breakers.of(segment.voice.voiceId, segment.clone !== undefined);
    // No segment waits for a turn at an engine that is not called.
    breaker.check();
    const sinceMs = performance.now();
    const endTurn = await turns.take(segment, turn);
    watch?.onTurn?.(engine.name, segment.urgent, performance.now() - sinceMs);
    const observer = createObserver(engine.name, segment, beginTry(breaker, endTurn), watch);
    const onIdle = () => {
      endTurn?.();
      turn.onIdle?.();
    };
    return { endTurn, run: (by: AbortSignal) => runEngine(engine, segment, by, { ...observer, onIdle }) };
  }

  /** For a reader that goes on after what it had not read was dropped. It waits for a turn like any later segment. */
  async function* speakAgain(segment: Segment, callerId: string, signal: AbortSignal) {
    const { run } = await take({ ...segment, urgent: false }, { callerId, signal });
    yield* run(signal);
  }

  return async function attempt(segment: Segment, turn: GuardedTurn): Promise<Begun<SpokenPcm>> {
    const { callerId, signal } = turn;
    const { endTurn, run } = await take(segment, turn);
    const isRepeatable = engine.capabilities.isRepeatable && !segment.clone && !segment.isAgain;
    const again = isRepeatable ? (by: AbortSignal) => speakAgain(segment, callerId, by) : undefined;
    const source = endTurn ? readAtEngineSpeed({ run, again, signal }) : run(signal);
    return { first: await source.next(), source };
  };
}

type BeginSpeaking = (segment: Segment, turn: GuardedTurn) => Promise<Begun<SpokenPcm>>;

/** Interactive speech is known as such until the engine has finished its work. */
function createSpeak(begin: BeginSpeaking, closing: AbortSignal, background: BackgroundTurns): EngineGuard['speak'] {
  return (segment, callerId, callersSignal, { waitUntilMs, isBackground = false, isBulk = isBackground } = {}) => {
    let leave = () => {};
    const beginNow = () => {
      const signal = AbortSignal.any([callersSignal, closing]);
      if (!isBackground) leave = background.enter();
      return begin(segment, { callerId, signal, waitUntilMs, isBulk, onIdle: () => leave() });
    };
    return relay(beginNow, () => leave());
  };
}

/** A turn whose try the breaker refuses is unused. */
function beginTry(breaker: CircuitBreaker, endTurn: EndTurn | undefined): Try {
  try {
    return breaker.begin();
  } catch (error) {
    endTurn?.(true);
    throw error;
  }
}

/** A breaker for the engine's own voices and one for its clones, where these have a quota; or one for each voice. */
function createBreakers({ capabilities }: Engine) {
  const own = new CircuitBreaker();
  const clones = capabilities.cloneSegmentsPerMinute === undefined ? own : new CircuitBreaker();
  /** Where speakers fail one by one; the least recently used are dropped. */
  const bySpeaker = new Map<string, CircuitBreaker>();

  return {
    of(voiceId: string, isClone: boolean): CircuitBreaker {
      if (!capabilities.speakersFailAlone) return isClone ? clones : own;
      const breaker = bySpeaker.get(voiceId) ?? new CircuitBreaker();
      bySpeaker.delete(voiceId);
      bySpeaker.set(voiceId, breaker);
      if (bySpeaker.size > speakersKnownMax) bySpeaker.delete(bySpeaker.keys().next().value!);
      return breaker;
    },
    worst(): CircuitBreaker['state'] {
      const all = [own, clones, ...bySpeaker.values()];
      return states.findLast((state) => all.some((breaker) => breaker.state === state)) ?? 'closed';
    },
  };
}

/** How long to wait before another try; undefined where none can help, or not soon. */
function retryWaitMs(error: unknown, attempts: number): number | undefined {
  const afterMs = retryAfterMs(error);
  if (afterMs === undefined || afterMs > retryMsMax) return undefined;
  // Jitter, so that requests that failed together are not tried again together.
  return afterMs + retryMsFirst * 2 ** (attempts - 1) * (1 - retryJitter * Math.random());
}

const retryAfterMs = (error: unknown): number | undefined => {
  if (!(error instanceof Failure) || error.facts.retryAfterSeconds === undefined) return undefined;
  return error.facts.retryAfterSeconds * 1000;
};

/** Whether the failure is the engine's, and not that of the text. */
const isOfEngine = (error: unknown): boolean =>
  !(error instanceof Failure) ||
  error.reason === 'engine_unavailable' ||
  error.reason === 'engine_timeout' ||
  (error.reason === 'engine_error' && error.facts.retryAfterSeconds !== undefined);

/** The model that speaks with the voice, where its engine says so. */
export const modelOf = ({ labels }: Voice): string => labels.model ?? labels.base ?? '';

/** Reports to the breaker and the metrics how a run went. */
function createObserver(engine: string, { voice }: Segment, trial: Try, watch: EngineWatch | undefined) {
  const model = modelOf(voice);
  const startedMs = performance.now();
  let firstSoundMs: number | undefined;
  let isOver = false;
  const end = (outcome: EndedSegment['outcome'], pace?: RunPace) => {
    if (!isOver) watch?.onSegment(engine, { model, outcome, firstSoundMs, pace });
    isOver = true;
  };
  return {
    onFirstSound(): void {
      firstSoundMs = performance.now() - startedMs;
      trial.hasSound();
    },
    onEnd(ended: { error?: unknown; pace?: RunPace }): void {
      const { error, pace } = ended;
      const restMs = retryAfterMs(error) ?? 0;
      if ('error' in ended && isOfEngine(error)) trial.failed(restMs > retryMsMax ? restMs : 0);
      else trial.succeeded();
      if (!('error' in ended)) end('spoken', pace);
      else end(error instanceof Failure ? error.reason : 'internal_error');
    },
    onLeave(): void {
      trial.cancelled();
      end('left');
    },
  };
}
