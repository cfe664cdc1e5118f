// The guard around an engine: it waits for a turn, holds the engine to its contract (run.ts), retries, has a circuit breaker,
// and answers for an engine that is closed. Engines implement none of these. A segment of which any audio was sent is never
// spoken again. A failure before the first audio is retried if it is marked as temporary, and once if the audio was faulty.
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, type Reason } from '../errors.ts';
import { CircuitBreaker, type Try } from './circuit-breaker.ts';
import type { Engine, EngineCapabilities, Segment, SpokenPcm, Voice } from './engine.ts';
import { readAtEngineSpeed } from './reader.ts';
import { type RunPace, runEngine } from './run.ts';
import { isSoundFault } from './sound-check.ts';

type SeatCapabilities = Pick<
  EngineCapabilities,
  'segmentsSpokenMax' | 'segmentsPerResource' | 'segmentsPerMinute' | 'cloneSegmentsPerMinute'
>;

/** What a segment is spoken by. */
export interface Seat {
  engine: { name: string; capabilities: SeatCapabilities; servers?: readonly unknown[] | undefined };
  /** Undefined or empty if the engine has no resources, or it is not known which one. */
  resource: string | undefined;
  isClone: boolean;
}

/** The right to have a segment spoken. */
export interface Turn {
  /** The engine is idle. A turn in which it was not called is unused, and does not count. */
  end(isUnused?: boolean): void;
  /** The same segment is tried again after this time. */
  retryIn(ms: number): void;
}

/** Resolves when the segment may begin. It is urgent if its caller has heard nothing yet. */
export type TakeTurn = (seat: Seat, isUrgent: boolean, signal: AbortSignal) => Promise<Turn>;

export interface EngineGuard {
  /** Without `take`, the segment begins at once, and is made only as fast as it is read. */
  speak(segment: Segment, signal: AbortSignal, take?: TakeTurn): AsyncGenerator<SpokenPcm, void>;
  /** How long until the engine may be called again for that voice, a clone or one of its own; 0 for now. */
  restMs(voiceId: string, isClone: boolean): number;
  /** Ends what is running, as any later call, with `engine_unavailable`, and closes the engine. */
  close(): Promise<void>;
  /** The worst state of its breakers. */
  readonly state: CircuitBreaker['state'];
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

/** Returns the guard of an engine, one for each. */
export type EngineGuards = (engine: Engine) => EngineGuard;

export function createEngineGuards(watch?: EngineWatch): EngineGuards {
  const guards = new Map<Engine, EngineGuard>();
  return (engine) => {
    const guard = guards.get(engine) ?? createEngineGuard(engine, watch);
    guards.set(engine, guard);
    return guard;
  };
}

const states = ['closed', 'half_open', 'open'] as const;
const speakersKnownMax = 1_000;
const attemptsMax = 3;
const retryMsFirst = 250;
/** Longer waits fail at once with `retryAfterSeconds`. */
const retryMsMax = 2_000;
const retryJitter = 0.5;

export function createEngineGuard(engine: Engine, watch?: EngineWatch): EngineGuard {
  const breakers = createBreakers(engine);
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  async function takeTurn(
    segment: Segment,
    signal: AbortSignal,
    take: TakeTurn | undefined,
  ): Promise<Turn | undefined> {
    // No segment waits for a turn at an engine that is not called.
    breakerOf(segment).check();
    const seat = { engine, resource: engine.resourceOf?.(segment), isClone: segment.clone !== undefined };
    const sinceMs = performance.now();
    const turn = await take?.(seat, segment.urgent, signal);
    watch?.onTurn?.(engine.name, segment.urgent, performance.now() - sinceMs);
    return turn;
  }

  const breakerOf = ({ voice, clone }: Segment) => breakers.of(voice.voiceId, clone !== undefined);

  function run(segment: Segment, signal: AbortSignal, turn: Turn | undefined): AsyncGenerator<SpokenPcm> {
    const observer = createObserver(engine, segment, beginTry(breakerOf(segment), turn), watch);
    return runEngine(engine, segment, signal, { ...observer, onIdle: () => turn?.end() });
  }

  /** For a reader that goes on after audio that it had not read was dropped. It waits for a turn like a later segment. */
  async function* speakAgain(segment: Segment, signal: AbortSignal, take: TakeTurn): AsyncGenerator<SpokenPcm> {
    const later = { ...segment, urgent: false };
    yield* run(later, signal, await takeTurn(later, signal, take));
  }

  function read(segment: Segment, signal: AbortSignal, turn: Turn | undefined, take: TakeTurn | undefined) {
    if (!turn || !take) return run(segment, signal, undefined);
    const isRepeatable = engine.capabilities.isRepeatable && !segment.clone && !segment.isAgain;
    return readAtEngineSpeed({
      run: (by) => run(segment, by, turn),
      again: isRepeatable ? (by) => speakAgain(segment, by, take) : undefined,
      signal,
    });
  }

  return {
    async *speak(asked, callersSignal, take) {
      const signal = AbortSignal.any([callersSignal, closing.signal]);
      signal.throwIfAborted();
      let segment = asked;
      for (let attempts = 1; ; attempts++) {
        let turn: Turn | undefined;
        let isHeard = false;
        try {
          turn = await takeTurn(segment, signal, take);
          for await (const piece of read(segment, signal, turn, take)) {
            isHeard = true;
            yield piece;
          }
          return;
        } catch (error) {
          signal.throwIfAborted();
          const mayTry = !isHeard && attempts < attemptsMax && breakerOf(segment).restMs() === 0;
          const isFaulty = isSoundFault(error) && !segment.isAgain;
          const waitMs = isFaulty ? 0 : retryWaitMs(error, attempts);
          if (!mayTry || waitMs === undefined) throw error;
          if (isFaulty) segment = { ...segment, isAgain: true };
          watch?.onRetry(engine.name);
          turn?.retryIn(waitMs);
          await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
        }
      }
    },
    restMs: (voiceId, isClone) => breakers.of(voiceId, isClone).restMs(),
    close() {
      closing.abort(new Failure('engine_unavailable'));
      closed ??= engine.close();
      return closed;
    },
    get state() {
      return breakers.worst();
    },
  };
}

/** A turn whose try the breaker refuses is unused. */
function beginTry(breaker: CircuitBreaker, turn: Turn | undefined): Try {
  try {
    return breaker.begin();
  } catch (error) {
    turn?.end(true);
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

/** The model that speaks with the voice, if its engine states one. */
const modelOf = ({ labels }: Voice): string => labels.model ?? labels.base ?? '';

/** Reports to the breaker and the metrics how a run went. */
function createObserver(engine: Engine, { voice }: Segment, trial: Try, watch: EngineWatch | undefined) {
  const model = modelOf(voice);
  const startedMs = performance.now();
  let firstSoundMs: number | undefined;
  let isOver = false;
  const end = (outcome: EndedSegment['outcome'], pace?: RunPace) => {
    if (!isOver) watch?.onSegment(engine.name, { model, outcome, firstSoundMs, pace });
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
      if (!('error' in ended && isOfEngine(error))) trial.succeeded();
      // One of its servers failed, and gets no requests; others do.
      else if (engine.servers?.some(({ limit }) => limit > 0)) trial.cancelled();
      else trial.failed(restMs > retryMsMax ? restMs : 0);
      if (!('error' in ended)) end('spoken', pace);
      else end(error instanceof Failure ? error.reason : 'internal_error');
    },
    onLeave(): void {
      trial.cancelled();
      end('left');
    },
  };
}
