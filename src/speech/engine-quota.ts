// An engine's own limits: so many segments at once, so many begun a minute, as it states them. First segments go before
// others, and turns go round the callers, segment by segment, so that one with a hundred requests delays another's
// first sound by no more than the segment that is being spoken. A request whose first segment would wait too long is told
// `engine_unavailable`, and when its turn will be; one that is heard already waits as long as it takes.
import { Failure } from '../errors.ts';

export interface QuotaRequest {
  callerId: string;
  /** Whether it is the first of its request. */
  urgent: boolean;
  signal: AbortSignal;
}

/** Ends a turn; one in which the engine was not asked counts for nothing. */
export type GiveBack = (isUnused?: boolean) => void;

export interface EngineQuota {
  /** Resolves when it may be spoken, with the function that ends the turn. */
  take(segment: QuotaRequest): Promise<GiveBack>;
  readonly waiting: number;
}

/** How long the first segment of a request may wait. */
const firstWaitMsMax = 10_000;
const minuteMs = 60_000;
/** For how many minutes of the engine's work one caller is told times of its own. */
const minutesToldMax = 3;

interface Waiter {
  begin(): void;
}

export interface EngineLimits {
  segmentsPerMinute?: number | undefined;
  /** How many are spoken at once, by all governors that share them. */
  seats?: Seats | undefined;
}

/** Places at an engine. */
export interface Seats {
  isFull(): boolean;
  take(): void;
  /** Gives one back, and tells those who wait. */
  leave(): void;
  onFree(listener: () => void): void;
}

export function createSeats(max: number): Seats {
  const listeners: (() => void)[] = [];
  let taken = 0;
  return {
    isFull: () => taken >= max,
    take: () => void taken++,
    leave() {
      taken--;
      for (const listener of listeners) listener();
    },
    onFree: (listener) => void listeners.push(listener),
  };
}

export function createEngineQuota(limits: EngineLimits, now: () => number = () => performance.now()): EngineQuota {
  const { segmentsPerMinute = Infinity, seats = createSeats(Infinity) } = limits;
  /** Callers in the order of their turns; each with its segments in the order they came. First segments have their own. */
  const urgentLines = new Map<string, Waiter[]>();
  const otherLines = new Map<string, Waiter[]>();
  /** When those who were sent away were told to come again. */
  const promises = new Map<string, number[]>();
  /** When each segment of the last minute was begun, the oldest first. */
  const begun: number[] = [];
  let timer: NodeJS.Timeout | undefined;

  /** How long until the engine takes another, with so many before it; what is spoken ends when it ends. */
  const waitMsFor = (before: number): number => {
    while (begun.length > 0 && begun[0]! + minuteMs <= now()) begun.shift();
    const at = begun.length + before - segmentsPerMinute;
    if (!(at >= 0)) return 0;
    const rounds = Math.floor(at / segmentsPerMinute);
    const since = begun[at % segmentsPerMinute] ?? now();
    return since + (rounds + 1) * minuteMs - now();
  };

  const goOn = () => {
    clearTimeout(timer);
    timer = undefined;
    while (urgentLines.size + otherLines.size > 0 && !seats.isFull()) {
      const waitMs = waitMsFor(0);
      if (waitMs > 0) {
        timer = setTimeout(goOn, Math.ceil(waitMs));
        return;
      }
      const lines = urgentLines.size > 0 ? urgentLines : otherLines;
      const [callerId, line] = lines.entries().next().value!;
      lines.delete(callerId);
      const next = line.shift()!;
      if (line.length > 0) lines.set(callerId, line);
      next.begin();
    }
  };

  const begin = (): GiveBack => {
    seats.take();
    const atMs = now();
    if (segmentsPerMinute < Infinity) begun.push(atMs);
    let isHeld = true;
    return (isUnused = false) => {
      if (!isHeld) return;
      isHeld = false;
      const at = isUnused ? begun.lastIndexOf(atMs) : -1;
      if (at >= 0) begun.splice(at, 1);
      seats.leave();
    };
  };
  seats.onFree(goOn);

  /** How many stand before the caller's next: all of its own, and of each other caller one for each of its own. */
  const aheadOf = (callerId: string, countOf: (callerId: string) => number): number => {
    const own = countOf(callerId);
    let ahead = own;
    for (const other of new Set([...urgentLines.keys(), ...promises.keys()]))
      if (other !== callerId) ahead += Math.min(countOf(other), own + 1);
    return ahead;
  };
  const waitingOf = (callerId: string) => urgentLines.get(callerId)?.length ?? 0;
  /** Those who wait, and those who were told to come and have not yet. */
  const expectedOf = (callerId: string) => {
    const told = promises.get(callerId);
    while (told && told.length > 0 && told[0]! <= now()) told.shift();
    if (told?.length === 0) promises.delete(callerId);
    return waitingOf(callerId) + (told?.length ?? 0);
  };

  /** When a segment that cannot wait is to come again: at a time that nobody else was told. */
  const promiseMs = (callerId: string): number => {
    const waitMs = waitMsFor(aheadOf(callerId, expectedOf));
    const told = promises.get(callerId) ?? [];
    // Who asks on without waiting is not told to come ever later.
    if (told.length < minutesToldMax * segmentsPerMinute) promises.set(callerId, [...told, now() + waitMs]);
    return waitMs;
  };

  const countIn = (lines: ReadonlyMap<string, Waiter[]>) =>
    lines.values().reduce((count, line) => count + line.length, 0);

  return {
    get waiting() {
      return countIn(urgentLines) + countIn(otherLines);
    },
    take({ callerId, urgent, signal }) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (urgent && waitMsFor(aheadOf(callerId, waitingOf)) > firstWaitMsMax) {
        const message = 'The speech engine may not be asked so often; try again.';
        const retryAfterSeconds = Math.ceil(promiseMs(callerId)) / 1000;
        return Promise.reject(new Failure('engine_unavailable', { message, retryAfterSeconds }));
      }
      const lines = urgent ? urgentLines : otherLines;
      return new Promise((resolve, reject) => {
        const leave = () => {
          const rest = lines.get(callerId)!.filter((other) => other !== waiter);
          if (rest.length > 0) lines.set(callerId, rest);
          else lines.delete(callerId);
          reject(signal.reason);
        };
        const waiter: Waiter = {
          begin() {
            signal.removeEventListener('abort', leave);
            resolve(begin());
          },
        };
        signal.addEventListener('abort', leave, { once: true });
        const line = lines.get(callerId);
        if (line) line.push(waiter);
        else lines.set(callerId, [waiter]);
        goOn();
      });
    },
  };
}
