// Single flight: if several callers need the same work at the same time, the work runs once and all callers receive its
// result. The work is aborted when its last caller has left. If there is a lock, only one replica works under a key;
// the other replicas wait and then find the stored result.
import { onAbort, withAbort } from '../platform/runtime/abort.ts';
import { measured } from '../platform/telemetry/trace.ts';

export interface SingleFlight {
  /** Returns the result of the work under `key`. Rejects with the signal's reason if the caller aborts. */
  run<T>(key: string, signal: AbortSignal, work: FlightWork<T>): Promise<FlightResult<T>>;
}

interface FlightWork<T> {
  /** Looks for a result that this or another replica has stored in the meantime. */
  find(): Promise<T | undefined>;
  make(signal: AbortSignal): Promise<T>;
}

interface FlightResult<T> {
  value: T;
  /** False if `find` found the value. */
  isMade: boolean;
}

/** Waits for the lock under `key`. Resolves with the function that releases the lock. */
type Lock = (key: string, signal: AbortSignal) => Promise<() => void>;

interface Flight {
  result: Promise<FlightResult<unknown>>;
  stop: AbortController;
  waiting: number;
}

/** All replicas share `lock`. It may only be omitted if there is a single process. */
export function createSingleFlight(lock?: Lock): SingleFlight {
  const flights = new Map<string, Flight>();

  const findOrMake = async <T>(key: string, signal: AbortSignal, { find, make }: FlightWork<T>) => {
    const release = await lock?.(key, signal);
    try {
      signal.throwIfAborted();
      const found = await find();
      return found === undefined ? { value: await make(signal), isMade: true } : { value: found, isMade: false };
    } finally {
      release?.();
    }
  };

  const start = <T>(key: string, work: FlightWork<T>): Flight => {
    const stop = new AbortController();
    const result = findOrMake(key, stop.signal, work).finally(() => {
      if (flights.get(key) === flight) flights.delete(key);
    });
    const flight: Flight = { result, stop, waiting: 0 };
    flights.set(key, flight);
    return flight;
  };

  return {
    async run<T>(key: string, signal: AbortSignal, work: FlightWork<T>) {
      signal.throwIfAborted();
      const flight = flights.get(key) ?? start(key, work);
      flight.waiting++;
      using _ = onAbort(signal, () => {
        flight.waiting--;
        if (flight.waiting > 0) return;
        if (flights.get(key) === flight) flights.delete(key);
        flight.stop.abort(signal.reason);
      });
      return await withAbort(signal, flight.result as Promise<FlightResult<T>>);
    },
  };
}

/** Traces calls that wait for another call with the same speech, on this or another replica. */
export const traceFlights = (flights: SingleFlight): SingleFlight => ({
  run: (key, signal, work) =>
    measured({ name: 'make or join the speech', kind: 'internal' }, async (span) => {
      const result = await flights.run(key, signal, work);
      span?.set({ 'sonant.joined': !result.isMade });
      return result;
    }),
});
