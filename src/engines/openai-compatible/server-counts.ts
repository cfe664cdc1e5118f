// Counts the requests that other replicas have under way at each server. A replica publishes its own counts every
// second, and 50 ms after a change; in return, the replica gets the sums of the other replicas' counts.
import type { ShareCounts } from '../engine.ts';

const changedMs = 50;
const everyMs = 1_000;

export function shareServerCounts(share: ShareCounts | undefined, own: () => Record<string, number>) {
  let others: Readonly<Record<string, number>> = {};
  let replicas = 1;
  let timer: NodeJS.Timeout | undefined;
  let dueMs = Infinity;
  let isClosed = false;
  const plan = (ms: number) => {
    const atMs = performance.now() + ms;
    if (!share || isClosed || atMs >= dueMs) return;
    dueMs = atMs;
    clearTimeout(timer);
    timer = setTimeout(publish, ms).unref();
  };
  const publish = async () => {
    dueMs = Infinity;
    // If publishing fails, this replica balances by its own counts.
    ({ others, replicas } = await share!(own()).catch(() => ({ others: {}, replicas: 1 })));
    plan(everyMs);
  };
  plan(0);
  return {
    /** Number of requests that other replicas have under way at the server. */
    othersAt: (server: string): number => others[server] ?? 0,
    /** Number of replicas with requests under way, including this one. */
    get replicas(): number {
      return replicas;
    },
    changed: (): void => plan(changedMs),
    close(): void {
      isClosed = true;
      clearTimeout(timer);
      share?.({}).catch(() => {});
    },
  };
}
