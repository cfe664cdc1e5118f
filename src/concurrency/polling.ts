// Polls at an interval, one poll at a time: a poll that is asked for waits for those before it, and none is started by the
// timer while another runs.

export interface Polling {
  /** Polls once more, after those that run. */
  refresh(): Promise<void>;
  /** Waits for the polls that run. */
  close(): Promise<void>;
}

/** The first poll is done when it resolves. */
export async function openPolling(
  poll: () => Promise<void>,
  { everyMs, onFault }: { everyMs: number; onFault(fault: unknown): void },
): Promise<Polling> {
  let polling: Promise<void> = Promise.resolve();
  let polls = 0;
  const refresh = async () => {
    polls++;
    const next = polling.then(poll);
    polling = next.catch(() => {});
    await next.finally(() => polls--);
  };
  await poll();
  const timer = setInterval(() => void (polls === 0 && refresh().catch(onFault)), everyMs).unref();
  return {
    refresh,
    async close() {
      clearInterval(timer);
      await polling;
    },
  };
}
