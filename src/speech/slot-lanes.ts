// The lane of an engine: who waits for its slots, interactive and bulk requests in lines of their own, and what it holds.
import type { Release } from '../concurrency/slot-queue.ts';
import type { AdaptiveLimit } from './adaptive-limit.ts';
import { AdmissionPace } from './admission-pace.ts';
import { WaitingLine } from './waiting-line.ts';

/** What is to be heard. */
export interface SlotUse {
  engine: string;
  voiceId: string;
  /** Of the first segment. */
  chars: number;
  /** Of the whole text, where the answer is all of it. */
  wholeChars?: number | undefined;
  /** Nobody listens: it waits behind those who do. */
  isBulk: boolean;
  /** How many segments the engine speaks at once, where it says so. */
  seats: number | undefined;
  /** The most memory that it takes for sound. */
  bytesMax: number;
  /** Whether the engine is behind with what has begun, where so many are about to be heard. Default: never. */
  isBehind?: (starting: number) => boolean;
}

/** Gives the slot back. `heard` tells that the first sound is there, made by that engine. */
export type Slot = Release & { heard(engine: string): void };

export interface SlotWaiter {
  owner: string;
  use: SlotUse | undefined;
  /** When it began to wait. */
  sinceMs: number;
  resolve(slot: Slot): void;
  reject(error: unknown): void;
}

export interface Line {
  waiters: WaitingLine<SlotWaiter>;
  pace: AdmissionPace;
  /** Whether it is beyond saving; never for bulk, which has time. */
  isNewestFirst: boolean;
  /** After every change of who waits. */
  update(usualMs: number): void;
}

export interface Lane {
  name: string;
  /** Undefined for what is not heard. */
  limit: AdaptiveLimit | undefined;
  interactive: Line;
  bulk: Line;
  /** Interactive requests that were admitted and not heard yet. */
  starting: number;
  interactiveHeld: number;
  bulkHeld: number;
  /** When the last interactive request was admitted. */
  interactiveAtMs: number;
  /** Starts that the limit was told. */
  noted: number;
  /** From the admission of an interactive request to its first sound, by the work of its first segment. */
  meanStartMs: number;
  /** From the admission of a whole text to its end, by its characters. */
  meanMsPerChar: number;
  /** Interactive admissions since the last bulk one. */
  sinceBulk: number;
}

export function openLane(name: string, limit: AdaptiveLimit | undefined, now: () => number): Lane {
  const openLine = (isBulk: boolean): Line => {
    const line: Line = {
      waiters: new WaitingLine(),
      pace: new AdmissionPace(now),
      isNewestFirst: false,
      update(usualMs) {
        line.isNewestFirst = !isBulk && line.pace.isBeyondSaving(line.waiters.count, usualMs);
      },
    };
    return line;
  };
  const counts = {
    starting: 0,
    interactiveHeld: 0,
    bulkHeld: 0,
    interactiveAtMs: -Infinity,
    noted: 0,
    meanStartMs: 0,
    meanMsPerChar: 0,
    sinceBulk: 0,
  };
  return { name, limit, interactive: openLine(false), bulk: openLine(true), ...counts };
}

export const lineOf = (lane: Lane, use: SlotUse | undefined): Line => (use?.isBulk ? lane.bulk : lane.interactive);
