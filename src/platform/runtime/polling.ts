// Polls at an interval, one poll at a time. Requests that arrive during a poll share the next poll. If a poll still
// runs when the interval ends, the interval starts no poll.

interface PollingOptions {
  everyMs: number;
  /** Called with the error of a poll that `wake` or the interval has begun. */
  onFault(fault: unknown): void;
}

/** The first poll runs when it is asked for, or after the interval. */
export function createPolling(poll: () => Promise<unknown>, { everyMs, onFault }: PollingOptions) {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  let isPolling = false;
  const begin = async () => {
    await running;
    next = undefined;
    isPolling = true;
    const polled = poll().finally(() => {
      isPolling = false;
    });
    running = polled.catch(() => {});
    await polled;
  };
  /** Resolves after a poll that begins after this call; rejects if that poll fails. */
  const refresh = () => (next ??= begin());
  /** Like `refresh`, but never rejects. */
  const wake = (): Promise<void> => next?.catch(() => {}) ?? refresh().catch(onFault);
  const timer = setInterval(() => {
    if (!isPolling) void wake();
  }, everyMs).unref();
  return {
    refresh,
    wake,
    /** Stops polling and waits for running polls. */
    async close(): Promise<void> {
      clearInterval(timer);
      await next?.catch(() => {});
      await running;
    },
  };
}

/** Starts polling. Resolves after the first poll. */
export async function openPolling(poll: () => Promise<unknown>, options: PollingOptions) {
  await poll();
  return createPolling(poll, options);
}
