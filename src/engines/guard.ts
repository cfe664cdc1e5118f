// The guard around an engine: waits for a turn (`TakeTurn`), enforces the engine's contract (run.ts), retries, opens
// the circuit breaker, and rejects calls after the engine is closed. A segment is never repeated after any of its audio
// was sent. Until then, temporary failures are retried, a segment with faulty audio is spoken once more, and a suspect
// segment (speech-check.ts) up to twice; then its best take is sent. A recognizer may hear what each take says.
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, type Reason } from '../platform/errors.ts';
import type { Pace } from '../platform/pace.ts';
import { secondsOf } from '../platform/pcm.ts';
import { CircuitBreaker, type Try } from '../platform/runtime/circuit-breaker.ts';
import { createMetrics, createVoiceLabels, type Metrics } from '../platform/telemetry/prometheus.ts';
import type { Engine, EngineCapabilities, Segment, SpokenPcm, Voice } from './engine.ts';
import { type Run, SegmentReader } from './reader.ts';
import { type RunPace, runEngine } from './run.ts';
import { isSoundFault } from './sound-check.ts';
import { createSpeechCheck, type Heard, type SpeechFault } from './speech-check.ts';
import { createVoiceDurations, type VoiceDurations } from './voice-durations.ts';

type SeatCapabilities = Pick<
  EngineCapabilities,
  'firstSoundMsMax' | 'segmentsSpokenMax' | 'segmentsPerResource' | 'segmentsPerMinute' | 'cloneSegmentsPerMinute'
>;

/** The engine that speaks a segment, and the resource with which it speaks. */
export interface Seat {
  engine: { name: string; capabilities: SeatCapabilities; servers?: readonly unknown[] | undefined };
  /** Name of the resource; undefined or empty if the engine has no resources or the resource is unknown. */
  resource: string | undefined;
  isClone: boolean;
}

/** Permission to have a segment spoken by the engine. */
export interface Turn {
  /** Call when the engine is idle. A turn in which the engine was not called is unused and does not count. */
  end(isUnused?: boolean): void;
  /** Call before the same segment is retried after `ms`. */
  retryIn(ms: number): void;
}

/** Resolves when the segment may begin. A segment is urgent if its caller has received no audio yet. */
export type TakeTurn = (seat: Seat, isUrgent: boolean, signal: AbortSignal) => Promise<Turn>;

/** How a segment is spoken. */
export interface SegmentOptions {
  take: TakeTurn;
  /** The pace of the call's reader. Default: the reader is never slow. */
  pace?: Pace | undefined;
  /**
   * Receives the result of the checks before the end of the audio is read, and the result when a recognizer has heard a
   * segment that was sent before.
   */
  onChecked?: ((check: SegmentCheck, heard?: Promise<SegmentCheck>) => void) | undefined;
  /** Default: no recognizer hears the segment. */
  listen?: Listen | undefined;
  /** Whether a held segment is spoken again if its words differ. */
  repairs?: boolean | undefined;
  /** Time at which the caller gives up. Default: never. */
  deadlineMs?: number | undefined;
}

/**
 * Has a recognizer hear a complete take, until a time of `performance.now`. Undefined if the recognizer cannot be relied
 * on. Never rejects. `likelyRepeat` is the place, in seconds, where words may begin that were spoken before.
 */
export type Listen = (
  segment: Segment & { likelyRepeat?: number | undefined },
  pieces: readonly SpokenPcm[],
  signal: AbortSignal,
  untilMs: number,
) => Promise<Heard | undefined>;

/** What is known of the take that was sent. */
export interface SegmentCheck {
  /** How often the segment was spoken. */
  takes: number;
  /** The seed of the take, if one was used. */
  seed?: number | undefined;
  /** Undefined if the audio could not be judged. */
  faults?: readonly SpeechFault[] | undefined;
  /** The words that a recognizer heard, and the number of words in which they differ from the text. */
  heard?: string | undefined;
  wordErrors?: number | undefined;
}

type EngineGuard = ReturnType<typeof createEngineGuard>;

/** Returns the guard of an engine; each engine has one guard. */
export type EngineGuards = (engine: Engine) => EngineGuard;

export function createEngineGuards(metrics: Metrics = createMetrics(), durations?: VoiceDurations): EngineGuards {
  const guards = new Map<Engine, EngineGuard>();
  metrics.gauge('sonant_engine_state', '1 for the worst state of the circuit breakers of an engine.', () =>
    [...guards].flatMap(([{ name: engine }, guard]) =>
      states.map((state) => [{ engine, state }, Number(guard.state === state)] as const),
    ),
  );
  return (engine) => {
    const guard = guards.get(engine) ?? createEngineGuard(engine, metrics, durations);
    guards.set(engine, guard);
    return guard;
  };
}

const states = ['closed', 'half_open', 'open'] as const;
const speakersKnownMax = 1_000;
const attemptsMax = 3;
/** How often a suspect segment is spoken again. */
const retakesMax = 2;
/** A retake may take this share of the time until the caller's deadline. */
const shareOfTime = 0.5;
/** Longer audio is sent before it is complete, and can then not be spoken again. */
const heldSecondsMax = 60;
const retryMsFirst = 250;
/** If a retry would have to wait longer, the segment fails at once with `retryAfterSeconds`. */
const retryMsMax = 2_000;
const retryJitter = 0.5;

export function createEngineGuard(
  engine: Engine,
  metrics: Metrics,
  durations: VoiceDurations = createVoiceDurations(),
) {
  const { name } = engine;
  const wait = metrics.distribution('sonant_engine_wait_seconds', 'Time that segments waited for an engine.');
  const retries = metrics.counter('sonant_engine_retries_total', 'Segments retried before their first audio.');
  const noteCheck = createCheckNote(engine, metrics);
  const observe = createObserver(engine, metrics);
  const breakers = createBreakers(engine);
  const closing = new AbortController();
  // Every segment that is being spoken listens.
  setMaxListeners(0, closing.signal);
  let closed: Promise<void> | undefined;

  async function takeTurn(segment: Segment, signal: AbortSignal, take: TakeTurn): Promise<Turn> {
    // Waiting for a turn is useless while the breaker is open.
    breakerOf(segment).check();
    const seat = { engine, resource: engine.resourceOf?.(segment), isClone: segment.clone !== undefined };
    const sinceMs = performance.now();
    const turn = await take(seat, segment.urgent, signal);
    wait({ engine: name, segment: segment.urgent ? 'first' : 'later' }, (performance.now() - sinceMs) / 1000);
    return turn;
  }

  const breakerOf = ({ voice, clone }: Segment) => breakers.of(voice.voiceId, clone !== undefined);

  const runOnce = (segment: Segment, turn: Turn, ...[push, signal]: Parameters<Run>): Promise<void> => {
    const observer = observe(segment, beginTry(breakerOf(segment), turn));
    return runEngine(engine, segment, push, signal, { ...observer, onIdle: () => turn.end() });
  };

  return {
    speak(asked: Segment, signal: AbortSignal, options: SegmentOptions): SegmentReader {
      const { take, pace, onChecked, listen, repairs, deadlineMs = Infinity } = options;
      const leftMs = () => Math.max(0, (deadlineMs - performance.now()) * shareOfTime);
      let segment = asked;
      const run: Run = async (push, by) => {
        let best: Take | undefined;
        let hearing: Promise<void> | undefined;
        let takes = 1;
        for (let attempts = 1; ; attempts++) {
          let turn: Turn | undefined;
          let isSent = false;
          let seconds = 0;
          const sinceMs = performance.now();
          const isLimited = best && deadlineMs < Infinity;
          const until = isLimited ? AbortSignal.any([by, AbortSignal.timeout(Math.floor(leftMs()))]) : by;
          const sound: SpokenPcm[] = [];
          const present: Take = { pieces: [], faults: undefined, seed: segment.seed };
          const check = createSpeechCheck(segment, durations, engine.capabilities);
          const receive = (piece: SpokenPcm) => {
            check.add(piece);
            present.pieces.push(piece);
            if (listen) sound.push(piece);
            present.server = piece.server;
            seconds += secondsOf(piece);
            if (segment.isHeld && (best || seconds <= heldSecondsMax)) return;
            isSent = true;
            for (const held of present.pieces.splice(0)) push(held);
          };
          try {
            turn = await takeTurn(segment, until, take);
            await runOnce(segment, turn, receive, until);
            present.faults = check.end();
          } catch (error) {
            by.throwIfAborted();
            if (!isSent && best) break;
            const isFaulty = isSoundFault(error) && !segment.isAgain;
            // An engine that fails in the middle is not asked again, even if its audio was held.
            const isLate = isSent || (present.pieces.length > 0 && !isFaulty);
            const mayTry = !isLate && attempts < attemptsMax && breakerOf(segment).restMs() === 0;
            const waitMs = isFaulty ? 0 : retryWaitMs(error, attempts);
            if (!mayTry || waitMs === undefined) throw error;
            if (isFaulty) {
              takes++;
              segment = again(segment);
            }
            retries({ engine: name });
            turn?.retryIn(waitMs);
            await sleep(waitMs, undefined, { signal: by });
            continue;
          }
          const spoken = { ...segment, likelyRepeat: check.likelyRepeat };
          const hearUntilMs = performance.now() + leftMs();
          hearing = listen?.(spoken, sound, spoken.isHeld ? by : signal, hearUntilMs).then((heard) => {
            present.heard = heard;
            noteCheck(spoken, present, heard === undefined);
          });
          if (!hearing) noteCheck(spoken, present);
          if (spoken.isHeld) await hearing;
          if (!best || isBetter(present, best)) best = present;
          const isGood = countFaults(best) === 0 && !(repairs && best.heard?.isSuspect);
          const isOutOfTime = leftMs() < performance.now() - sinceMs;
          if (isSent || isGood || isOutOfTime || takes > retakesMax || !mayDiffer(engine, asked)) break;
          takes++;
          const { seed } = engine.capabilitiesOf?.(segment.voice, segment.languageCode) ?? engine.capabilities;
          segment = again(segment, seed ? firstSeed : undefined);
          retries({ engine: name });
        }
        const sent = best;
        const checked = () => toCheck(sent, takes);
        onChecked?.(checked(), hearing?.then(checked));
        for (const piece of best.pieces) push(piece);
      };
      /** Repeats a segment whose audio was dropped. The repetition waits without priority. */
      const runLater: Run = async (push, by) => {
        const later = { ...segment, urgent: false };
        await runOnce(later, await takeTurn(later, by, take), push, by);
      };
      const repeat = () =>
        engine.capabilities.isRepeatable && !segment.clone && !segment.isAgain ? runLater : undefined;
      return new SegmentReader({ run, again: repeat, signals: [signal, closing.signal], pace });
    },
    /** Milliseconds until the engine may be called again for this voice or clone; 0 if it may be called now. */
    restMs: (voiceId: string, isClone: boolean): number => breakers.of(voiceId, isClone).restMs(),
    /** Makes running and future calls fail with `engine_unavailable`, and closes the engine. */
    close(): Promise<void> {
      closing.abort(new Failure('engine_unavailable'));
      closed ??= engine.close();
      return closed;
    },
    /** The worst state of all breakers. */
    get state(): CircuitBreaker['state'] {
      return breakers.worst();
    },
  };
}

/** The audio of a segment that has not been sent, and its faults. */
interface Take {
  pieces: SpokenPcm[];
  faults: readonly SpeechFault[] | undefined;
  seed: number | undefined;
  server?: string | undefined;
  heard?: Heard | undefined;
}

const countFaults = ({ faults }: Take): number => faults?.length ?? 0;

/**
 * Whether a later take is better. What a recognizer hears only decides between takes with equally many faults, so that a
 * wrong recognizer cannot replace good audio by worse.
 */
function isBetter(later: Take, best: Take): boolean {
  const [count, countBest] = [countFaults(later), countFaults(best)];
  if (count !== countBest) return count < countBest && later.faults !== undefined;
  return later.heard !== undefined && later.heard.longestRun < (best.heard?.longestRun ?? Infinity);
}

/** All faults of a take; undefined if it could not be judged. */
const faultsOf = ({ faults, heard }: Take): readonly SpeechFault[] | undefined =>
  heard ? [...(faults ?? []), ...(heard.isSuspect ? ['words_differ' as const] : [])] : faults;

function toCheck(take: Take, takes: number): SegmentCheck {
  const { seed, heard } = take;
  return { takes, seed, faults: faultsOf(take), heard: heard?.text, wordErrors: heard?.wordErrors };
}

/**
 * Whether a segment may sound different when it is spoken again. A seed that the caller states is kept, unless the
 * caller asked for other audio.
 */
const mayDiffer = ({ capabilities }: Engine, { seed, isAgain }: Segment): boolean =>
  (seed === undefined || isAgain === true) && (capabilities.seed === true || capabilities.isRepeatable !== true);

/** The seed of the second take. Engines use 0 or 1 if none is stated. */
const firstSeed = 2;

/** The segment for another take. The same seed would repeat the fault; `first` is for a segment without a seed. */
const again = (segment: Segment, first?: number): Segment => {
  const next = segment.seed === undefined ? first : (segment.seed + 1) % 2 ** 32;
  return { ...segment, ...(next !== undefined && { seed: next }), isAgain: true };
};

/** Begins a call to the engine. If the breaker refuses the call, the turn ends unused. */
function beginTry(breaker: CircuitBreaker, turn: Turn): Try {
  try {
    return breaker.begin();
  } catch (error) {
    turn.end(true);
    throw error;
  }
}

/** One breaker for all voices, a second one for clones with a separate quota, or one breaker per voice. */
function createBreakers({ capabilities }: Engine) {
  const own = new CircuitBreaker();
  const clones = capabilities.cloneSegmentsPerMinute === undefined ? own : new CircuitBreaker();
  /** Breakers per voice, if speakers fail separately. The least recently used are dropped. */
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

/** Milliseconds until the next retry; undefined if a retry cannot help soon. */
function retryWaitMs(error: unknown, attempts: number): number | undefined {
  const afterMs = retryAfterMs(error);
  if (afterMs === undefined || afterMs > retryMsMax) return undefined;
  // Random jitter separates the retries of requests that failed together.
  return afterMs + retryMsFirst * 2 ** (attempts - 1) * (1 - retryJitter * Math.random());
}

const retryAfterMs = (error: unknown): number | undefined => {
  if (!(error instanceof Failure) || error.facts.retryAfterSeconds === undefined) return undefined;
  return error.facts.retryAfterSeconds * 1000;
};

/** Whether the engine, not the text, caused the failure. */
const isOfEngine = (error: unknown): boolean =>
  !(error instanceof Failure) ||
  error.reason === 'engine_unavailable' ||
  error.reason === 'engine_timeout' ||
  (error.reason === 'engine_error' && error.facts.retryAfterSeconds !== undefined);

/** The voice's model, if its engine states one. */
const modelOf = ({ labels }: Voice): string => labels.model ?? labels.base ?? '';

/** Returns a function that counts the results of checks by voice and server. Clones get no label of their own. */
function createCheckNote({ name }: Engine, metrics: Metrics) {
  const help = 'Takes of segments by the result of the check: good, unchecked, or the first fault.';
  const checks = metrics.counter('sonant_speech_checks_total', help);
  const labelOf = createVoiceLabels();
  // A take is unheard if a recognizer should have heard it, and did not.
  return ({ voice: { voiceId }, clone }: Segment, take: Take, isUnheard = false): void => {
    const voice = labelOf(voiceId, !clone);
    const { server = '' } = take;
    const faults = faultsOf(take);
    const result = faults?.[0] ?? (faults && !isUnheard ? 'good' : 'unchecked');
    checks({ engine: name, voice, server, result });
  };
}

/** Returns a function that reports the result of a run to the breaker and the metrics. */
function createObserver(engine: Engine, metrics: Metrics) {
  const { name } = engine;
  const segments = metrics.counter('sonant_engine_segments_total', 'Segments sent to an engine, by outcome.');
  const firstSoundHelp = 'Time to the first audio of a segment.';
  const firstSound = metrics.distribution('sonant_engine_first_sound_seconds', firstSoundHelp);
  const soundHelp = 'Audio generated by engines for complete segments, in seconds, by model.';
  const sound = metrics.counter('sonant_engine_sound_seconds_total', soundHelp);
  const work = metrics.counter('sonant_engine_work_seconds_total', 'Seconds that engines took to generate that audio.');
  return ({ voice }: Segment, trial: Try) => {
    const startedMs = performance.now();
    let firstSoundMs: number | undefined;
    let isOver = false;
    const end = (outcome: 'spoken' | 'left' | Reason, pace?: RunPace) => {
      if (isOver) return;
      isOver = true;
      segments({ engine: name, outcome });
      if (firstSoundMs !== undefined) firstSound({ engine: name }, firstSoundMs / 1000);
      if (!pace) return;
      const labels = { engine: name, model: modelOf(voice) };
      sound(labels, pace.soundSeconds);
      work(labels, pace.workSeconds);
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
        // Another server of the engine still accepts requests, so the breaker stays closed.
        else if (engine.servers?.some(({ limit, isFull }) => limit > 0 && !isFull)) trial.cancelled();
        else trial.failed(restMs > retryMsMax ? restMs : 0);
        if (!('error' in ended)) end('spoken', pace);
        else end(error instanceof Failure ? error.reason : 'internal_error');
      },
      onLeave(): void {
        trial.cancelled();
        end('left');
      },
    };
  };
}
