// The quota of an engine: how many segments it speaks at once and how many it begins in a minute. Urgent segments, the first
// of their requests, are begun before others, and turns go round the callers segment by segment. An urgent segment that
// would wait too long is rejected at once with `engine_unavailable` and the time of its turn, and so is one that has waited
// so long all the same; the others wait as long as it takes.
import { Failure } from '../errors.ts';
import { type Release, SlotQueue, SlotTimeout } from '../runtime/slot-queue.ts';

export interface QuotaRequest {
  callerId: string;
  /** Whether it is the first of its request. */
  urgent: boolean;
  /** When one that is not urgent becomes so. Default: never. */
  urgentAtMs?: number | undefined;
  signal: AbortSignal;
  /** How long an urgent segment may wait. Default: for the rate 10 s, for a seat as long as it takes. */
  waitMsMax?: number | undefined;
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

/** How long the first segment of a request may wait for the rate. */
const urgentWaitMsMax = 10_000;
const minuteMs = 60_000;
/** For how many minutes of the engine's work one caller is given turns of its own. */
const bookedMinutesMax = 3;

/** The weight of the newest turn in the mean from which waits are estimated. */
const turnWeight = 0.1;

/** Limits what several quotas speak at once together. Where the first turn loads a model, it tells nothing of the others. */
export function createSeats(max: number, { isFirstSlow = false } = {}) {
  const queues: SlotQueue[] = [];
  let meanTurnMs = 0;
  let isFirst = isFirstSlow;
  return {
    /** How long until so many that wait, and one more, have had a seat: an estimate from the turns before. */
    waitMs: (waiting: number) => (meanTurnMs * (waiting + 1)) / max,
    noteTurn(ms: number): void {
      if (isFirst) isFirst = false;
      else meanTurnMs = meanTurnMs === 0 ? ms : meanTurnMs + turnWeight * (ms - meanTurnMs);
    },
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
    now,
  });
  const bookings = createBookings(queue, rate, now);
  seats.share(queue);

  return {
    get waiting(): number {
      return queue.waiting;
    },
    get isIdle(): boolean {
      return queue.held + queue.waiting === 0;
    },
    /**
     * Whether a segment that waits will become urgent before it has its turn, if turns take as long as before, and each of
     * so many streams that are about to be heard wants one more.
     */
    isBehind(starting: number): boolean {
      return seats.isFull() && queue.urgentAtMs < now() + seats.waitMs(queue.waiting - 1 + starting);
    },
    /** Resolves when the segment may be begun. */
    async take({ callerId, urgent, urgentAtMs, signal, waitMsMax = Infinity }: QuotaRequest): Promise<EndTurn> {
      signal.throwIfAborted();
      if (urgent && bookings.waitMs(callerId) > Math.min(waitMsMax, urgentWaitMsMax)) {
        const message = 'The speech engine may not be asked so often; try again.';
        const retryAfterSeconds = Math.ceil(bookings.book(callerId)) / 1000;
        throw new Failure('engine_unavailable', { message, retryAfterSeconds });
      }
      const seatWaitMs = () => (seats.isFull() ? seats.waitMs(bookings.countBefore(callerId)) : 0);
      if (urgent && seatWaitMs() > waitMsMax) throw tooBusy(seatWaitMs());
      let uncount = () => {};
      const onAdmit = () => {
        uncount = rate.count();
      };
      const request = { owner: callerId, isUrgent: urgent, urgentAtMs, signal, onAdmit };
      const release = await queue
        .take({ ...request, ...(urgent && waitMsMax < Infinity && { waitMsMax }) })
        .catch((error: unknown): Release => {
          throw error instanceof SlotTimeout ? tooBusy(seatWaitMs()) : error;
        });
      const sinceMs = now();
      return (isUnused = false) => {
        if (isUnused) uncount();
        else seats.noteTurn(now() - sinceMs);
        release();
      };
    },
  };
}

/** Why a segment is not waited for any longer. */
const tooBusy = (waitMs: number) =>
  new Failure('engine_unavailable', {
    message: 'The speech engine has more to speak than it can begin in time; try again.',
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
  });

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
    /** How many urgent segments are begun before the caller's next. */
    countBefore: (callerId: string) => countBefore(callerId, waitingOf),
    /** How long the caller's next urgent segment would wait for the rate. */
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
