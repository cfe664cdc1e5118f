// An engine's own limits: so many segments at once, so many begun a minute, as it states them. First segments go before
// others, and turns go round the callers, segment by segment, so that one with a hundred requests delays another's first
// sound by no more than the segment that is being spoken. A request whose first segment would wait too long is told `engine_unavailable`, and for
// how long; one that is heard already waits as long as it takes.
import { Failure } from '../errors.ts';

export interface GovernedSegment {
  callerId: string;
  /** Whether it is the first of its request. */
  urgent: boolean;
  signal: AbortSignal;
}

export interface EngineGovernor {
  /** Resolves when it may be spoken, with the function that ends the turn. */
  take(segment: GovernedSegment): Promise<() => void>;
  readonly waiting: number;
}

/** How long the first segment of a request may wait. */
const firstWaitMsMax = 10_000;
const minuteMs = 60_000;

interface Waiter {
  begin(): void;
}

export interface EngineLimits {
  segmentsPerMinute?: number | undefined;
  segmentsSpokenMax?: number | undefined;
}

export function createEngineGovernor(
  limits: EngineLimits,
  now: () => number = () => performance.now(),
): EngineGovernor {
  const { segmentsPerMinute = Infinity, segmentsSpokenMax = Infinity } = limits;
  /** Callers in the order of their turns; each with its segments in the order they came. First segments have their own. */
  const urgentLines = new Map<string, Waiter[]>();
  const otherLines = new Map<string, Waiter[]>();
  /** When each segment of the last minute was begun, the oldest first. */
  const begun: number[] = [];
  let speaking = 0;
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
    while (urgentLines.size + otherLines.size > 0 && speaking < segmentsSpokenMax) {
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

  const begin = () => {
    speaking++;
    if (segmentsPerMinute < Infinity) begun.push(now());
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      speaking--;
      goOn();
    };
  };

  /** In whose turn it would be: behind one segment of each other caller for each of its own. */
  const aheadOf = (callerId: string): number => {
    const own = (urgentLines.get(callerId)?.length ?? 0) + 1;
    let ahead = own - 1;
    for (const [other, line] of urgentLines) if (other !== callerId) ahead += Math.min(line.length, own);
    return ahead;
  };

  const countIn = (lines: ReadonlyMap<string, Waiter[]>) =>
    lines.values().reduce((count, line) => count + line.length, 0);

  return {
    get waiting() {
      return countIn(urgentLines) + countIn(otherLines);
    },
    take({ callerId, urgent, signal }) {
      if (signal.aborted) return Promise.reject(signal.reason);
      const waitMs = urgent ? waitMsFor(aheadOf(callerId)) : 0;
      if (waitMs > firstWaitMsMax) {
        const message = 'The speech engine may not be asked so often; try again.';
        return Promise.reject(
          new Failure('engine_unavailable', { message, retryAfterSeconds: Math.ceil(waitMs) / 1000 }),
        );
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
