// Slots of the service: so many requests are spoken at once and, where they are to be heard, so many of each engine are about
// to be heard as it can begin without a queue (adaptive-limit.ts), and none more while what has begun keeps the engine too
// busy. So many wait, interactive requests before bulk ones, and slots go round the owners. Who would wait longer than it may
// is refused at once, with the time to come again. Where the line is beyond saving, the newest go first, and what is too much
// of it is refused, the oldest first.
import { Failure } from '../../errors.ts';
import { createAdaptiveLimit } from './adaptive-limit.ts';
import { lineMsTarget } from './line-pace.ts';
import { createRetryTimes } from './retry-times.ts';
import {
  beginStart,
  hasBulkRoom,
  type Lane,
  type Line,
  laneNameOf,
  lineOf,
  newestWeight,
  openLane,
  type Slot,
  type SlotUse,
  type SlotWait,
  type SlotWaiter,
  seatsOf,
  workMs,
} from './slot-lanes.ts';

export interface SlotOptions {
  /** Default: as long as it takes. */
  waitMsMax?: number | undefined;
  /** Until when the answer is of use, on the clock of the slots. */
  deadlineMs?: number | undefined;
  /** Default: nothing is to be heard. */
  use?: SlotUse | undefined;
}

export interface SlotsOptions {
  speakingMax: number;
  waitingMax: number;
  /** The most memory for sound of all that are spoken; one is spoken whatever it takes. Default: as much as they take. */
  bytesMax?: number;
  createLimit?: typeof createAdaptiveLimit;
  /** Default: `performance.now`. */
  now?: () => number;
  /** Called with each that gets a slot. */
  onAdmit?: ((kind: 'interactive' | 'bulk', waitedMs: number) => void) | undefined;
}

const limitMin = 2;
/** Of a line beyond saving, one of an owner waits for this part of the time between two admissions before the next may. */
const freshShare = 0.5;
/** How often admission is tried again while no slot is given back. */
const lookAgainMs = 100;
/** Of the admissions while bulk requests wait, one in so many is theirs. */
const bulkTurnEvery = 10;
const timerMsMax = 2 ** 31 - 1;

export const createSlots = (options: SlotsOptions): Slots => new Slots(options);

export class Slots {
  readonly #options: SlotsOptions;
  readonly #now: () => number;
  readonly #returns: ReturnType<typeof createRetryTimes>;
  readonly #lanes = new Map<string, Lane>();
  #held = 0;
  #heldBytes = 0;
  #meanHoldMs = 1000;
  #isLookingAgain = false;

  constructor(options: SlotsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#returns = createRetryTimes(this.#now);
  }

  get speaking(): number {
    return this.#held;
  }

  get waiting(): number {
    return this.waitingOf('interactive') + this.waitingOf('bulk');
  }

  waitingOf(kind: 'interactive' | 'bulk'): number {
    return this.#lanes.values().reduce((sum, lane) => sum + lane[kind].waiters.count, 0);
  }

  /** How many requests of each engine may be about to be heard. */
  limits(): (readonly [engine: string, limit: number])[] {
    const limits = new Map<string, number>();
    for (const { engine, limit } of this.#lanes.values())
      if (limit) limits.set(engine, (limits.get(engine) ?? 0) + limit.value);
    return [...limits];
  }

  /** Throws the Failure with which the same would be refused at once, as early as that is known; takes nothing. */
  check(owner: string, options: SlotOptions = {}): void {
    const lane = this.#laneOf(options.use);
    const line = lineOf(lane, options.use);
    if (!this.#isFree(lane, line, options.use)) this.#checkWait(owner, lane, line, options);
  }

  /** Resolves with the slot. Rejects when aborted, full, or waited for too long. */
  async take(owner: string, signal: AbortSignal, options: SlotOptions = {}): Promise<Slot> {
    signal.throwIfAborted();
    const { use } = options;
    const lane = this.#laneOf(use);
    const line = lineOf(lane, use);
    if (this.#isFree(lane, line, use)) return this.#hold(lane, use, 0);
    const { patienceMs, displaced } = this.#checkWait(owner, lane, line, options);
    if (displaced) this.#refuse(displaced.line, displaced.waiter);
    return this.#wait(line, { owner, use, signal, patienceMs });
  }

  #isFree(lane: Lane, line: Line, use: SlotUse | undefined): boolean {
    const isFirst = line.waiters.count === 0 && lane.interactive.waiters.count === 0;
    return isFirst && this.#hasRoom(lane, use);
  }

  /** How long it may wait, and who has to leave for it; the refusal where it would wait in vain. */
  #checkWait(owner: string, lane: Lane, line: Line, { waitMsMax, deadlineMs, use }: SlotOptions) {
    const leftMs = deadlineMs === undefined ? Infinity : deadlineMs - this.#now() - workMs(lane, use);
    const patienceMs = Math.min(waitMsMax ?? Infinity, leftMs);
    const waitMs = line.pace.waitMs(line.waiters.countBefore(owner, line.isNewestFirst), this.#usualMs);
    const isFull = this.waiting >= this.#options.waitingMax;
    const displaced = isFull ? this.#inTheWayOf(owner, lane, line) : undefined;
    const hasFresh = this.#hasFresh(owner, line);
    if (hasFresh) line.pace.refused();
    if (waitMs > patienceMs || (isFull && !displaced) || hasFresh) throw this.#overloaded(owner, line, waitMs);
    return { patienceMs, displaced };
  }

  /** Whether, of a line beyond saving, one of the owner has only just begun to wait: the next would push it out in vain. */
  #hasFresh(owner: string, line: Line): boolean {
    if (!line.isNewestFirst) return false;
    const newest = line.waiters.newestOf(owner);
    return newest !== undefined && this.#now() - newest.sinceMs < freshShare * line.pace.intervalMs(this.#usualMs);
  }

  /** Between two admissions, where nothing is measured. */
  get #usualMs(): number {
    return this.#meanHoldMs / this.#options.speakingMax;
  }

  #laneOf(use: SlotUse | undefined): Lane {
    const name = laneNameOf(use);
    const known = this.#lanes.get(name);
    if (known) return known;
    const { createLimit = createAdaptiveLimit, speakingMax: max } = this.#options;
    // An engine that does not say how many segments it speaks at once is held back by what is measured alone.
    const seats = use && seatsOf(use);
    const initial = seats === undefined ? max : seats + 1;
    const lane = openLane(use, use && createLimit({ min: limitMin, max, initial }), this.#now);
    this.#lanes.set(name, lane);
    return lane;
  }

  #hasRoom(lane: Lane, use: SlotUse | undefined): boolean {
    const { limit, starting, interactiveHeld } = lane;
    const { speakingMax, bytesMax = Infinity } = this.#options;
    if (this.#held >= speakingMax) return false;
    if (this.#held > 0 && this.#heldBytes + (use?.bytesMax ?? 0) > bytesMax) return false;
    if (!use || !limit) return true;
    if (use.isBulk) return hasBulkRoom(this.#lanes.values(), use, limit.value, this.#now());
    const isFew = interactiveHeld <= (seatsOf(use) ?? limit.value);
    return starting < limit.value && (isFew || !use.isBehind?.(starting));
  }

  #hold(lane: Lane, use: SlotUse | undefined, waitedMs: number): Slot {
    const sinceMs = this.#now();
    this.#options.onAdmit?.(use?.isBulk ? 'bulk' : 'interactive', waitedMs);
    const bytes = use?.bytesMax ?? 0;
    this.#held++;
    this.#heldBytes += bytes;
    if (use?.isBulk) lane.bulkHeld++;
    else {
      lane.interactiveHeld++;
      lane.interactiveAtMs = sinceMs;
    }
    lane.sinceBulk = use?.isBulk ? 0 : lane.sinceBulk + 1;
    const start = use && !use.isBulk ? beginStart(lane, use, this.#now) : undefined;
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      start?.end();
      const heldMs = this.#now() - sinceMs;
      this.#meanHoldMs += newestWeight * (heldMs - this.#meanHoldMs);
      if (use?.wholeChars) lane.meanMsPerChar += newestWeight * (heldMs / use.wholeChars - lane.meanMsPerChar);
      this.#held--;
      this.#heldBytes -= bytes;
      if (use?.isBulk) lane.bulkHeld--;
      else lane.interactiveHeld--;
      this.#admit();
    };
    const heard = (engine: string) => {
      start?.heard(engine);
      // What was heard later is no longer waited for: the engine may be behind no more.
      if (this.waiting > 0) this.#admit();
    };
    return Object.assign(release, { heard });
  }

  #admit(): void {
    for (let isOver = false; !isOver; ) {
      isOver = true;
      for (const lane of [...this.#lanes.values()]) {
        const line = this.#lineWithTurn(lane);
        if (!line) continue;
        isOver = false;
        const waiter = line.waiters.takeNext(line.isNewestFirst)!;
        line.pace.admitted();
        line.update(this.#usualMs);
        // The other lanes come next.
        this.#lanes.delete(lane.name);
        this.#lanes.set(lane.name, lane);
        waiter.resolve(this.#hold(lane, waiter.use, this.#now() - waiter.sinceMs));
      }
    }
  }

  /** Whose turn it is in a lane, if there is room. */
  #lineWithTurn(lane: Lane): Line | undefined {
    const { interactive, bulk } = lane;
    const nextBulk = bulk.waiters.next(false);
    const isBulkTurn = interactive.waiters.count === 0 || lane.sinceBulk >= bulkTurnEvery;
    if (nextBulk && isBulkTurn && this.#hasRoom(lane, nextBulk.use)) return bulk;
    const next = interactive.waiters.next(interactive.isNewestFirst);
    return next && this.#hasRoom(lane, next.use) ? interactive : undefined;
  }

  #overloaded(owner: string, line: Line, waitMs: number): Failure {
    const afterMs = this.#returns.promise(owner, waitMs, line.pace.intervalMs(this.#usualMs));
    return new Failure('overloaded', { retryAfterSeconds: Math.max(1, Math.ceil(afterMs / 1000)) });
  }

  #refuse(line: Line, waiter: SlotWaiter): void {
    line.waiters.remove(waiter);
    line.update(this.#usualMs);
    waiter.reject(this.#overloaded(waiter.owner, line, line.pace.waitMs(line.waiters.count, this.#usualMs)));
  }

  /** Who has to leave a full line so that one of the owner can wait; undefined where nobody has to. */
  #inTheWayOf(owner: string, lane: Lane, line: Line): { line: Line; waiter: SlotWaiter } | undefined {
    const bulk = line === lane.interactive ? lane.bulk.waiters.ofLongest('newest') : undefined;
    if (bulk) return { line: lane.bulk, waiter: bulk };
    const isLonger = line.isNewestFirst || line.waiters.hasLongerThan(owner);
    const waiter = isLonger ? line.waiters.ofLongest(line.isNewestFirst ? 'oldest' : 'newest') : undefined;
    return waiter && { line, waiter };
  }

  /** Of a line beyond saving, only those wait who are served soon. */
  #shorten(line: Line): void {
    line.update(this.#usualMs);
    const soon = Math.max(1, lineMsTarget / line.pace.intervalMs(this.#usualMs));
    while (line.isNewestFirst && line.waiters.count > soon) {
      line.pace.refused();
      this.#refuse(line, line.waiters.ofLongest('oldest')!);
    }
  }

  /** What a job has begun may have its turn at the engine, which was behind with it, though nobody gives a slot back. */
  #lookAgainSoon(): void {
    if (this.#isLookingAgain || this.waiting === 0) return;
    this.#isLookingAgain = true;
    const lookAgain = () => {
      this.#isLookingAgain = false;
      this.#admit();
      this.#lookAgainSoon();
    };
    setTimeout(lookAgain, lookAgainMs).unref();
  }

  #wait(line: Line, { owner, use, signal, patienceMs }: SlotWait): Promise<Slot> {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter: SlotWaiter = { owner, use, sinceMs: this.#now(), resolve, reject };
    const leave = () => {
      line.waiters.remove(waiter);
      line.update(this.#usualMs);
      reject(signal.reason);
      // What it was waiting for may be enough for the next.
      this.#admit();
    };
    signal.addEventListener('abort', leave, { once: true });
    const timer = patienceMs <= timerMsMax ? setTimeout(() => this.#refuse(line, waiter), patienceMs) : undefined;
    if (line.waiters.count === 0) line.pace.begin();
    line.waiters.add(waiter);
    this.#shorten(line);
    this.#lookAgainSoon();
    return promise.finally(() => {
      signal.removeEventListener('abort', leave);
      clearTimeout(timer);
    });
  }
}
