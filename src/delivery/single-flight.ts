// Speech that is under way in one of several processes that serve the same callers: the others wait for it in place of
// speaking the same again. A process alone has nobody to wait for.

export interface SingleFlight {
  /** What `find` finds, as soon as there is something, unless it is for this process to make it. */
  share<T>(key: string, signal: AbortSignal, work: FlightWork<T>): Promise<Shared<T>>;
}

export interface FlightWork<T> {
  /** What another process may have made. */
  find(): Promise<T | undefined>;
  make(): Promise<T>;
}

export interface Shared<T> {
  value: T;
  /** Whether it was made here. */
  isMade: boolean;
}

export const localFlight: SingleFlight = {
  share: async (_key, _signal, { make }) => ({ value: await make(), isMade: true }),
};
