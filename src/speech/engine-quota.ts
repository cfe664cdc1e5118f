// The quota of an engine: how many segments it speaks at once and how many it begins in a minute. Urgent segments, the first
// of their requests, are begun before others, and turns go round the callers segment by segment. An urgent segment that
// would wait too long is rejected with `engine_unavailable` and the time of its turn; the others wait as long as it takes.
import { SlotQueue } from '../concurrency/slot-queue.ts';
import { Failure } from '../errors.ts';

export interface QuotaRequest {
  callerId: string;
  /** Whether it is the first of its request. */
  urgent: boolean;
  signal: AbortSignal;
}

/** Ends a turn. With `isUnused`, the engine was not called, and the turn does not count. */
export type EndTurn = (isUnused?: boolean) => void;

export type EngineQuota = ReturnType<typeof createEngineQuota>;

export interface EngineLimits {
  segmentsPerMinute?: number | undefined;
  /** How many segments are spoken at once, by all quotas that share these seats. */
  seats?: Seats | undefined;
}

type Seats = ReturnType<typeof createSeats>;

/** How long the first segment of a request may wait. */
const urgentWaitMsMax = 10_000;
const minuteMs = 60_000;
/** For how many minutes of the engine's work one caller is given turns of its own. */
const bookedMinutesMax = 3;

/** Limits what several quotas speak at once together. */
export function createSeats(max: number) {
  const queues: SlotQueue[] = [];
  return {
    isFull: () => queues.reduce((sum, { held }) => sum + held, 0) >= max,
    share: (queue: SlotQueue) => void queues.push(queue),
    /** Admits whoever may begin in a seat that was given back. */
    admit(): void {
      for (const queue of queues) queue.admit();
    },
  };
}

export function createEngineQuota(limits: EngineLimits, now: () => number = () => performance.now()) {
  const { segmentsPerMinute = Infinity, seats = createSeats(Infinity) } = limits;
  const rate = createRateWindow(segmentsPerMinute, now);
  const queue = new SlotQueue({
    delayMs: () => (seats.isFull() ? Infinity : rate.delayMs(0)),
    onRelease: seats.admit,
  });
  const bookings = createBookings(queue, rate, now);
  seats.share(queue);

  return {
    get waiting(): number {
      return queue.waiting;
    },
    /** Resolves when the segment may be begun. */
    async take({ callerId, urgent, signal }: QuotaRequest): Promise<EndTurn> {
      signal.throwIfAborted();
      if (urgent && bookings.waitMs(callerId) > urgentWaitMsMax) {
        const message = 'The speech engine may not be asked so often; try again.';
        const retryAfterSeconds = Math.ceil(bookings.book(callerId)) / 1000;
        throw new Failure('engine_unavailable', { message, retryAfterSeconds });
      }
      let uncount = () => {};
      const onAdmit = () => {
        uncount = rate.count();
      };
      const release = await queue.take({ owner: callerId, isUrgent: urgent, signal, onAdmit });
      return (isUnused = false) => {
        if (isUnused) uncount();
        release();
      };
    },
  };
}

type RateWindow = ReturnType<typeof createRateWindow>;

/** Counts what was begun in the last minute. */
function createRateWindow(perMinute: number, now: () => number) {
  /** When each of the last minute was begun, the oldest first. */
  const begun: number[] = [];
  return {
    perMinute,
    /** How long until another may be begun, after so many before it. */
    delayMs(before: number): number {
      while (begun.length > 0 && begun[0]! + minuteMs <= now()) begun.shift();
      const at = begun.length + before - perMinute;
      if (!(at >= 0)) return 0;
      const rounds = Math.floor(at / perMinute);
      const since = begun[at % perMinute] ?? now();
      return since + (rounds + 1) * minuteMs - now();
    },
    /** Counts one that begins now. The result takes it out of the count. */
    count(): () => void {
      const atMs = now();
      if (perMinute < Infinity) begun.push(atMs);
      return () => {
        const at = begun.lastIndexOf(atMs);
        if (at >= 0) begun.splice(at, 1);
      };
    },
  };
}

/** Turns that rejected callers were given for later: each turn is given to one caller. */
function createBookings(queue: SlotQueue, rate: RateWindow, now: () => number) {
  const timesOf = new Map<string, number[]>();

  const waitingOf = (callerId: string) => queue.urgentByOwner.get(callerId)?.length ?? 0;
  /** How many urgent segments of a caller wait or are booked. */
  const expectedOf = (callerId: string) => {
    const times = timesOf.get(callerId);
    while (times && times.length > 0 && times[0]! <= now()) times.shift();
    if (times?.length === 0) timesOf.delete(callerId);
    return waitingOf(callerId) + (times?.length ?? 0);
  };
  /** How many are begun before the caller's next: its own, and of each other caller one for each of its own. */
  const countBefore = (callerId: string, countOf: (callerId: string) => number): number => {
    const own = countOf(callerId);
    const others = new Set([...queue.urgentByOwner.keys(), ...timesOf.keys()]);
    others.delete(callerId);
    return others.values().reduce((sum, other) => sum + Math.min(countOf(other), own + 1), own);
  };

  return {
    /** How long the caller's next urgent segment would wait. */
    waitMs: (callerId: string) => rate.delayMs(countBefore(callerId, waitingOf)),
    /** Books the caller's next turn; answers how long until then. */
    book(callerId: string): number {
      const waitMs = rate.delayMs(countBefore(callerId, expectedOf));
      const times = timesOf.get(callerId) ?? [];
      // A caller that calls again and again without waiting is not sent ever further into the future.
      if (times.length < bookedMinutesMax * rate.perMinute) timesOf.set(callerId, [...times, now() + waitMs]);
      return waitMs;
    },
  };
}
