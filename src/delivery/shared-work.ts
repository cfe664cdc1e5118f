// Work that several want at the same time is done once: the first starts it, the others join, and it is called off only
// when the last of them has left.

export interface SharedWork<T> {
  /** The result of the work under `key`, started by `work` if nobody has; rejects with the signal's reason on leaving. */
  join(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

interface Flight<T> {
  result: Promise<T>;
  stop: AbortController;
  waiting: number;
}

export function createSharedWork<T>(): SharedWork<T> {
  const singleFlight = new Map<string, Flight<T>>();

  const start = (key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    const stop = new AbortController();
    const result = work(stop.signal).finally(() => {
      if (singleFlight.get(key) === flight) singleFlight.delete(key);
    });
    const flight: Flight<T> = { result, stop, waiting: 0 };
    singleFlight.set(key, flight);
    return flight;
  };

  return {
    join(key, signal, work) {
      if (signal.aborted) return Promise.reject(signal.reason);
      const flight = singleFlight.get(key) ?? start(key, work);
      flight.waiting++;
      return new Promise((resolve, reject) => {
        const leave = () => {
          reject(signal.reason);
          flight.waiting--;
          if (flight.waiting > 0) return;
          if (singleFlight.get(key) === flight) singleFlight.delete(key);
          flight.stop.abort(signal.reason);
        };
        signal.addEventListener('abort', leave, { once: true });
        flight.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
      });
    },
  };
}
