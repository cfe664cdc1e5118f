// All that stands between the heart and an engine: its quotas (the governor), how long it is waited for, what is tried
// again, and when it is left in peace (the breaker). Engines do none of it themselves. A segment of which anything was
// heard is never said again; one of which nothing was may be, after a failure that says that it may pass.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine, Segment, SpokenPcm } from '../engines/engine.ts';
import { Failure, type Reason } from '../errors.ts';
import { type Breaker, createCircuitBreaker, type Try } from './circuit-breaker.ts';
import { eagerly } from './eager.ts';
import { createEngineQuota, createSeats, type EngineLimits, type EngineQuota } from './engine-quota.ts';

export interface EngineGuard {
  speak(segment: Segment, callerId: string, signal: AbortSignal): AsyncIterable<SpokenPcm>;
  /** How long until the engine may be asked again for that voice, a clone or one of its own; 0 for now. */
  restMs(voiceId: string, isClone: boolean): number;
  /** The worst that any of its breakers is in. */
  readonly state: Breaker['state'];
  /** Segments that wait for their turn. */
  readonly waiting: number;
}

/** What happened at an engine, for whoever counts. */
export interface EngineWatch {
  onSegment(engine: string, ended: { outcome: 'spoken' | 'left' | Reason; firstSoundMs: number | undefined }): void;
  onRetry(engine: string): void;
}

/** The guard of an engine, one for each. */
export type EngineGuards = (engine: Engine) => EngineGuard;

export function createEngineGuards(watch?: EngineWatch): EngineGuards {
  const guards = new WeakMap<Engine, EngineGuard>();
  return (engine) => {
    const guard = guards.get(engine) ?? createEngineGuard(engine, watch);
    guards.set(engine, guard);
    return guard;
  };
}

const usual = { firstSoundMsMax: 60_000, stallMsMax: 30_000 };
const states = ['closed', 'half_open', 'open'] as const;
const speakersKnownMax = 1_000;
const attemptsMax = 3;
const retryMsFirst = 250;
/** Who is to wait longer than this is told so instead. */
const retryMsMax = 2_000;
const retryJitter = 0.5;

/** What is counted together: all of an engine, or its clones apart from its own voices. */
interface Lane {
  breaker: Breaker;
  quota: EngineQuota | undefined;
}

function openLane(limits: EngineLimits): Lane {
  const isLimited = Object.values(limits).some((limit) => limit !== undefined);
  return { breaker: createCircuitBreaker(), quota: isLimited ? createEngineQuota(limits) : undefined };
}

export function createEngineGuard(engine: Engine, watch?: EngineWatch): EngineGuard {
  const { segmentsPerMinute, segmentsSpokenMax, cloneSegmentsPerMinute } = engine.capabilities;
  const seats = segmentsSpokenMax === undefined ? undefined : createSeats(segmentsSpokenMax);
  const own = openLane({ segmentsPerMinute, seats });
  const clones =
    cloneSegmentsPerMinute === undefined ? own : openLane({ segmentsPerMinute: cloneSegmentsPerMinute, seats });
  const laneOf = (isClone: boolean) => (isClone ? clones : own);
  /** Of speakers that fail one by one; the least lately used are forgotten. */
  const speakerBreakers = new Map<string, Breaker>();
  const breakerOf = (voiceId: string, isClone: boolean): Breaker => {
    if (!engine.capabilities.speakersFailAlone) return laneOf(isClone).breaker;
    const breaker = speakerBreakers.get(voiceId) ?? createCircuitBreaker();
    speakerBreakers.delete(voiceId);
    speakerBreakers.set(voiceId, breaker);
    if (speakerBreakers.size > speakersKnownMax) speakerBreakers.delete(speakerBreakers.keys().next().value!);
    return breaker;
  };
  const breakerFor = ({ voice, clone }: Segment) => breakerOf(voice.voiceId, clone !== undefined);

  async function* attempt(segment: Segment, callerId: string, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const { quota } = laneOf(segment.clone !== undefined);
    const breaker = breakerFor(segment);
    // Nobody waits for a turn at an engine that is left in peace.
    if (quota) breaker.check();
    const giveBack = await quota?.take({ callerId, urgent: segment.urgent, signal });
    let trial: Try;
    try {
      trial = breaker.begin();
    } catch (error) {
      giveBack?.(true);
      throw error;
    }
    const spoken = watched(engine, segment, { signal, trial, watch });
    if (giveBack) yield* eagerly(spoken, giveBack);
    else yield* spoken;
  }

  async function* speak(segment: Segment, callerId: string, signal: AbortSignal): AsyncGenerator<SpokenPcm> {
    const breaker = breakerFor(segment);
    for (let attempts = 1; ; attempts++) {
      let isHeard = false;
      try {
        for await (const piece of attempt(segment, callerId, signal)) {
          isHeard = true;
          yield piece;
        }
        return;
      } catch (error) {
        signal.throwIfAborted();
        const mayTry = attempts < attemptsMax && !isHeard && breaker.restMs() === 0;
        const waitMs = mayTry ? passesInMs(error, attempts) : undefined;
        if (waitMs === undefined) throw error;
        watch?.onRetry(engine.name);
        await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  return {
    speak,
    restMs: (voiceId, isClone) => breakerOf(voiceId, isClone).restMs(),
    get state() {
      const breakers = [own.breaker, clones.breaker, ...speakerBreakers.values()];
      return states.findLast((state) => breakers.some((breaker) => breaker.state === state)) ?? 'closed';
    },
    get waiting() {
      const lanes = new Set([own, clones]);
      return lanes.values().reduce((count, { quota }) => count + (quota?.waiting ?? 0), 0);
    },
  };
}

/** How long to wait before another try; undefined where none can help, or not soon. */
function passesInMs(error: unknown, attempts: number): number | undefined {
  const askedMs = peaceMsOf(error);
  if (askedMs === undefined || askedMs > retryMsMax) return undefined;
  // Not all at once, when the time that was told is over.
  return askedMs + retryMsFirst * 2 ** (attempts - 1) * (1 - retryJitter * Math.random());
}

/** How long the engine asks for peace, where what failed may go well after it. */
const peaceMsOf = (error: unknown): number | undefined => {
  if (!(error instanceof Failure) || error.facts.retryAfterSeconds === undefined) return undefined;
  return error.facts.retryAfterSeconds * 1000;
};

/** Whether it tells of the engine's state, and not of the text. */
const isOfEngine = (error: unknown): boolean =>
  !(error instanceof Failure) ||
  error.reason === 'engine_unavailable' ||
  error.reason === 'engine_timeout' ||
  (error.reason === 'engine_error' && error.facts.retryAfterSeconds !== undefined);

interface Watching {
  signal: AbortSignal;
  trial: Try;
  watch: EngineWatch | undefined;
}

/** The engine's sound, given up when none comes; tells the breaker and whoever counts how it went. */
async function* watched(
  engine: Engine,
  segment: Segment,
  { signal, trial, watch }: Watching,
): AsyncGenerator<SpokenPcm> {
  const { firstSoundMsMax, stallMsMax } = { ...usual, ...engine.capabilities };
  const startedMs = performance.now();
  let firstSoundMs: number | undefined;
  let outcome: Parameters<EngineWatch['onSegment']>[1]['outcome'] = 'left';
  const patience = createPatience(firstSoundMsMax);
  const pieces = engine.speak(segment, AbortSignal.any([signal, patience.signal]))[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await patience.await(pieces.next());
      if (done) break;
      if (firstSoundMs === undefined) {
        firstSoundMs = performance.now() - startedMs;
        trial.isHeard();
        patience.last(stallMsMax);
      }
      yield value;
    }
    trial.wentWell();
    outcome = 'spoken';
  } catch (error) {
    if (!signal.aborted) {
      outcome = error instanceof Failure ? error.reason : 'internal_error';
      const peaceMs = peaceMsOf(error) ?? 0;
      if (isOfEngine(error)) trial.failed(peaceMs > retryMsMax ? peaceMs : 0);
      else trial.wentWell();
    }
    throw error;
  } finally {
    trial.calledOff();
    patience.end();
    if (outcome === 'left') pieces.return?.()?.catch(() => {});
    watch?.onSegment(engine.name, { outcome, firstSoundMs });
  }
}

/** Waits for so long and no longer, while it is waited for and not between. */
function createPatience(firstMs: number) {
  const givenUp = new AbortController();
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  let ms = firstMs;
  let timer: NodeJS.Timeout | undefined;
  const giveUp = () => {
    const failure = new Failure('engine_timeout', {}, new Error(`no sound for ${ms} ms`));
    givenUp.abort(failure);
    late.reject(failure);
  };
  return {
    signal: givenUp.signal,
    last: (nextMs: number) => {
      ms = nextMs;
    },
    async await<T>(work: Promise<T>): Promise<T> {
      timer = setTimeout(giveUp, ms);
      try {
        return await Promise.race([work, late.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    end: () => clearTimeout(timer),
  };
}
