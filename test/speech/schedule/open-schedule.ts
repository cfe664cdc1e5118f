// Opens a scheduler with a manual clock, and requests that are recorded by name. The owner of a request is the first
// letter of its name.
import type { EngineCapabilities } from '../../../src/engines/engine.ts';
import type { Seat } from '../../../src/engines/guard.ts';
import type { Failure } from '../../../src/platform/errors.ts';
import { type Admission, type Demand, Schedule, type ScheduleOptions } from '../../../src/speech/schedule.ts';

export const never = new AbortController().signal;
export const settle = () => new Promise((resolve) => setImmediate(resolve));

export const seatAt = (
  capabilities: Partial<EngineCapabilities> = {},
  more: Partial<Seat & { name: string }> = {},
): Seat => {
  const { name = 'e', resource, isClone = false } = more;
  return { engine: { name, capabilities }, resource, isClone };
};

export const demandAt = (seat: Seat, more: Partial<Demand> = {}): Demand => ({
  ...{ owner: 'a', kind: 'interactive', seat, bytesMax: 1 },
  ...more,
});

export function openSchedule(options: Partial<ScheduleOptions> = {}) {
  const clock = { ms: 0 };
  const schedule = new Schedule({ speakingMax: 100, waitingMax: 100, now: () => clock.ms, ...options });
  const admitted: string[] = [];
  const refused: string[] = [];
  const failures: Failure[] = [];
  const held = new Map<string, Admission & { seat: Seat }>();
  const ask = (name: string, seat: Seat, more: Partial<Demand> = {}, signal = never) =>
    void schedule.begin(demandAt(seat, { owner: name[0]!, ...more }), signal).then(
      (admission) => {
        admitted.push(name);
        held.set(name, { ...admission, seat });
      },
      (error) => {
        refused.push(name);
        failures.push(error);
      },
    );
  /** Finishes the request, with audio, after this time. */
  const finish = async (name: string, ms = 100) => {
    clock.ms += ms;
    const { turn, heard, end, seat } = held.get(name)!;
    const spoken = await turn(seat, true, never);
    heard();
    spoken.end();
    end();
    await settle();
  };
  return { schedule, clock, admitted, refused, failures, held, ask, finish };
}
