// Polls at an interval, one poll at a time. Requests that arrive during a poll share the next poll.

interface Polling {
  /** Resolves after a poll that begins after this call; rejects if that poll fails. */
  refresh(): Promise<void>;
  /** Stops polling and waits for running polls. */
  close(): Promise<void>;
}

/** Starts polling. Resolves after the first poll. */
export async function openPolling(
  poll: () => Promise<void>,
  { everyMs, onFault }: { everyMs: number; onFault(fault: unknown): void },
): Promise<Polling> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = async () => {
    await running;
    next = undefined;
    const polled = poll();
    running = polled.catch(() => {});
    await polled;
  };
  const refresh = () => (next ??= begin());
  await poll();
  const timer = setInterval(() => void (next ?? refresh().catch(onFault)), everyMs).unref();
  return {
    refresh,
    async close() {
      clearInterval(timer);
      await next?.catch(() => {});
      await running;
    },
  };
}
