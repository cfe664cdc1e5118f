// Opens the guard around an engine with its own scheduler: segments are synthesized for callers, in turn.
import type { Engine, Segment } from '../../src/engines/engine.ts';
import { createEngineGuard } from '../../src/engines/guard.ts';
import type { Pace } from '../../src/platform/pace.ts';
import { join, type Pcm } from '../../src/platform/pcm.ts';
import { createMetrics } from '../../src/platform/telemetry/prometheus.ts';
import { Schedule } from '../../src/speech/schedule.ts';

export type OpenedGuard = ReturnType<typeof openGuard>;

export function openGuard(engine: Engine, metrics = createMetrics()) {
  const schedule = new Schedule({ speakingMax: 1000, waitingMax: 1000 });
  const guard = createEngineGuard(engine, metrics);
  return {
    speak: (segment: Segment, owner: string, signal: AbortSignal, pace?: Pace) =>
      guard.speak(segment, signal, {
        take: (seat, isUrgent, by) => schedule.turn(owner, seat, isUrgent ? 'first' : 'later', by),
        pace,
      }),
    restMs: guard.restMs,
    close: guard.close,
    get state() {
      return guard.state;
    },
    schedule,
  };
}

/** One guard per engine. */
export function openGuards() {
  const guards = new Map<Engine, OpenedGuard>();
  return (engine: Engine) => {
    const guard = guards.get(engine) ?? openGuard(engine);
    guards.set(engine, guard);
    return guard;
  };
}

/** A segment of a short text in the engine's first voice. */
export const segmentOf = (engine: Engine, more: Partial<Segment> = {}): Segment => ({
  ...{ voice: engine.voices[0]!, text: 'One two three.', languageCode: 'en', speakingRate: 1 },
  ...{ timings: false, urgent: true, ...more },
});

export const joinPcm = (pieces: readonly Pcm[]): Int16Array =>
  join(
    Int16Array,
    pieces.map(({ samples }) => samples),
  );
