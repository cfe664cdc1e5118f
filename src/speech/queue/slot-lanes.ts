// The lane of an engine, or of a model of it: who waits for its slots, interactive and bulk requests in lines of their own,
// and what it holds.
import type { Release } from '../../runtime/slot-queue.ts';
import { type AdaptiveLimit, workOf } from './adaptive-limit.ts';
import { LinePace } from './line-pace.ts';
import { WaitingLine } from './waiting-line.ts';

/** The weight of the newest in the means from which waits are estimated. */
export const newestWeight = 0.1;
/** Estimates of whole texts are rough: so much of one must fit. */
const wholeShare = 0.5;

/** For so long after an interactive request, bulk ones leave a seat of the engine free. */
const seatLeftMs = 10_000;

/** What is to be heard. */
export interface SlotUse {
  engine: string;
  /** Of an engine whose models speak side by side, that of the voice, and how many segments it speaks at once. */
  model?: { name: string; seats: number } | undefined;
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

export interface SlotWait extends Pick<SlotWaiter, 'owner' | 'use'> {
  signal: AbortSignal;
  patienceMs: number;
}

export interface Line {
  waiters: WaitingLine<SlotWaiter>;
  pace: LinePace;
  /** Whether it is beyond saving; never for bulk, which has time. */
  isNewestFirst: boolean;
  /** After every change of who waits. */
  update(usualMs: number): void;
}

export interface Lane {
  name: string;
  engine: string;
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

export function openLane(use: SlotUse | undefined, limit: AdaptiveLimit | undefined, now: () => number): Lane {
  const openLine = (isBulk: boolean): Line => {
    const line: Line = {
      waiters: new WaitingLine(),
      pace: new LinePace(now),
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
  const { engine = '' } = use ?? {};
  return { name: laneNameOf(use), engine, limit, interactive: openLine(false), bulk: openLine(true), ...counts };
}

export const laneNameOf = (use: SlotUse | undefined): string =>
  use?.model === undefined ? (use?.engine ?? '') : `${use.engine} ${use.model.name}`;

/** How many segments are spoken at once of what a lane is for; undefined where its engine does not say. */
export const seatsOf = ({ model, seats }: SlotUse): number | undefined =>
  model === undefined ? seats : Math.min(model.seats, seats ?? Infinity);

export const lineOf = (lane: Lane, use: SlotUse | undefined): Line => (use?.isBulk ? lane.bulk : lane.interactive);

/**
 * Whether an engine has room for one more bulk request. Where somebody listens, a seat is left: a segment that has begun is
 * spoken to its end.
 */
export function hasBulkRoom(lanes: Iterable<Lane>, { engine, seats }: SlotUse, limit: number, nowMs: number): boolean {
  let [bulkHeld, interactiveAtMs] = [0, -Infinity];
  for (const lane of lanes) {
    if (lane.engine !== engine) continue;
    bulkHeld += lane.bulkHeld;
    interactiveAtMs = Math.max(interactiveAtMs, lane.interactiveAtMs);
  }
  const all = seats ?? limit;
  return bulkHeld < (nowMs - interactiveAtMs < seatLeftMs ? Math.max(1, all - 1) : all + 1);
}

/** A request is about to be heard. */
export function beginStart(lane: Lane, { engine, voiceId, chars }: SlotUse, now: () => number) {
  const sinceMs = now();
  const startingAtOnce = ++lane.starting;
  const notedBefore = lane.noted;
  let isStarting = true;
  const end = () => {
    if (isStarting) lane.starting--;
    isStarting = false;
  };
  const heard = (by: string) => {
    if (!isStarting) return;
    end();
    if (by === engine) {
      const ms = now() - sinceMs;
      lane.noted++;
      lane.meanStartMs += newestWeight * (ms / workOf(chars) - lane.meanStartMs);
      lane.limit?.note({ voiceId, chars, ms, startingAtOnce, notedBefore });
    }
  };
  return { end, heard };
}

/** How long the answer takes that is of use: a stream is heard from its first sound on. */
export const workMs = ({ meanStartMs, meanMsPerChar }: Lane, use: SlotUse | undefined): number =>
  use ? Math.max(meanStartMs * workOf(use.chars), wholeShare * meanMsPerChar * (use.wholeChars ?? 0)) : 0;
