// Places that are taken and given back, so many at once; who finds none waits a moment, the first come before the others.

export interface KeySlots {
  /** Whether there was a place, of so many, within that time. Rejects when the signal aborts. */
  take(placesMax: number, waitMs: number, signal: AbortSignal): Promise<boolean>;
  giveBack(): void;
  readonly running: number;
}

interface Waiter {
  placesMax: number;
  admit(): void;
}

export function createKeySlots(): KeySlots {
  const waiting: Waiter[] = [];
  let running = 0;

  const wait = (placesMax: number, waitMs: number, signal: AbortSignal) =>
    new Promise<boolean>((resolve, reject) => {
      const over = () => {
        const at = waiting.indexOf(waiter);
        if (at >= 0) waiting.splice(at, 1);
        clearTimeout(timer);
        signal.removeEventListener('abort', leave);
      };
      const leave = () => {
        over();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        over();
        resolve(false);
      }, waitMs);
      const waiter: Waiter = {
        placesMax,
        admit() {
          over();
          running++;
          resolve(true);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(waiter);
    });

  return {
    async take(placesMax, waitMs, signal) {
      signal.throwIfAborted();
      if (running >= placesMax) return wait(placesMax, waitMs, signal);
      running++;
      return true;
    },
    giveBack() {
      running--;
      const next = waiting[0];
      if (next && running < next.placesMax) next.admit();
    },
    get running() {
      return running;
    },
  };
}
