// Slots on a clock of the test's own, and requests for them that are noted by name.
import type { Failure } from '../../../src/errors.ts';
import type { AdaptiveLimit, MeasuredStart } from '../../../src/speech/queue/adaptive-limit.ts';
import type { SlotUse } from '../../../src/speech/queue/slot-lanes.ts';
import { createSlots } from '../../../src/speech/queue/slots.ts';

const never = new AbortController().signal;
export const settle = () => new Promise((resolve) => setImmediate(resolve));
export const speech: SlotUse = { engine: 'e', voiceId: 'v', chars: 60, isBulk: false, seats: 2, bytesMax: 1 };
export const bulk = { ...speech, isBulk: true };

export function openSlots(
  options: { speakingMax?: number; waitingMax?: number; limit?: number; bytesMax?: number } = {},
) {
  const clock = { ms: 0 };
  const noted: MeasuredStart[] = [];
  const limit = { value: options.limit ?? 1, note: (start: MeasuredStart) => void noted.push(start) } as AdaptiveLimit;
  const slots = createSlots({
    ...{ speakingMax: options.speakingMax ?? 100, waitingMax: options.waitingMax ?? 100 },
    ...(options.bytesMax !== undefined && { bytesMax: options.bytesMax }),
    createLimit: () => limit,
    now: () => clock.ms,
  });
  /** Takes a slot, and notes under the name when it is there, or why it is not. */
  const admitted: string[] = [];
  const refused: string[] = [];
  const failures: Failure[] = [];
  const held = new Map<string, Awaited<ReturnType<typeof slots.take>>>();
  const ask = (name: string, use: SlotUse, more: { waitMsMax?: number; deadlineMs?: number } = {}) =>
    void slots.take(name[0]!, never, { use, ...more }).then(
      (slot) => {
        admitted.push(name);
        held.set(name, slot);
      },
      (error) => {
        refused.push(name);
        failures.push(error);
      },
    );
  /** So much later, it is heard and over. */
  const finish = async (name: string, ms = 100) => {
    clock.ms += ms;
    held.get(name)!.heard('e');
    held.get(name)!();
    await settle();
  };
  return { slots, clock, noted, admitted, refused, failures, held, ask, finish };
}

/** The same, of a line that is beyond saving: of `a`, ten have come while one was served, for three seconds. */
export async function openOverloaded() {
  const opened = openSlots({ limit: 1 });
  const { ask, admitted, finish } = opened;
  let n = 0;
  const askNext = () => ask(`a${n++}`, speech);
  askNext();
  await settle();
  const finishNewest = (ms = 100) => finish(admitted.at(-1)!, ms);
  for (let round = 0; round < 30; round++) {
    for (let i = 0; i < 10; i++) askNext();
    await finishNewest();
  }
  return { ...opened, askNext, finishNewest, nameOf: (ago: number) => `a${n - ago}` };
}
