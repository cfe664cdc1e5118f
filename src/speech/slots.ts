// Slots: so many requests speak, so many wait, the rest are told to come back. Turns go round the callers, not the
// requests, so one caller with a hundred requests waits behind itself; and when the line is full, a caller with less
// in it takes the place of the newest request of the caller with the most.
import { Failure } from '../errors.ts';

export interface Slots {
  /** Resolves when it is the caller's turn, with the function that gives the slot back. Rejects when aborted or full. */
  take(callerId: string, signal: AbortSignal): Promise<() => void>;
  readonly speaking: number;
  readonly waiting: number;
}

interface Waiter {
  admit(): void;
  refuse(failure: Failure): void;
}

/** How much the newest hold counts in the mean from which waits are foretold. */
const holdWeight = 0.1;

export function createSlots({ speakingMax, waitingMax }: { speakingMax: number; waitingMax: number }): Slots {
  /** Callers in the order of their turns; each with its requests in the order they came. */
  const lines = new Map<string, Waiter[]>();
  let speaking = 0;
  let waiting = 0;
  let meanHoldMs = 1000;

  const overloaded = () => {
    const waitMs = (meanHoldMs * (waiting + 1)) / speakingMax;
    return new Failure('overloaded', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) });
  };

  const remove = (callerId: string, waiter: Waiter) => {
    const line = lines.get(callerId);
    const at = line?.indexOf(waiter) ?? -1;
    if (!line || at < 0) return;
    line.splice(at, 1);
    waiting--;
    if (line.length === 0) lines.delete(callerId);
  };

  const admitNext = () => {
    const next = lines.entries().next().value;
    if (!next) return;
    const [callerId, line] = next;
    const waiter = line[0]!;
    remove(callerId, waiter);
    if (line.length > 0) {
      lines.delete(callerId);
      lines.set(callerId, line);
    }
    waiter.admit();
  };

  const hold = () => {
    speaking++;
    const since = performance.now();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      speaking--;
      meanHoldMs += holdWeight * (performance.now() - since - meanHoldMs);
      admitNext();
    };
  };

  const makeRoom = (callerId: string) => {
    if (waiting < waitingMax) return true;
    const own = lines.get(callerId)?.length ?? 0;
    const [longest, line] = [...lines].reduce((a, b) => (b[1].length > a[1].length ? b : a), ['', []] as [
      string,
      Waiter[],
    ]);
    const newest = line.at(-1);
    if (!newest || line.length <= own + 1) return false;
    remove(longest, newest);
    newest.refuse(overloaded());
    return true;
  };

  return {
    take(callerId, signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (speaking < speakingMax) return Promise.resolve(hold());
      if (!makeRoom(callerId)) return Promise.reject(overloaded());
      return new Promise((resolve, reject) => {
        const leave = () => {
          remove(callerId, waiter);
          reject(signal.reason);
        };
        const settled = () => signal.removeEventListener('abort', leave);
        const waiter: Waiter = {
          admit() {
            settled();
            resolve(hold());
          },
          refuse(failure) {
            settled();
            reject(failure);
          },
        };
        signal.addEventListener('abort', leave, { once: true });
        const line = lines.get(callerId);
        if (line) line.push(waiter);
        else lines.set(callerId, [waiter]);
        waiting++;
      });
    },
    get speaking() {
      return speaking;
    },
    get waiting() {
      return waiting;
    },
  };
}
