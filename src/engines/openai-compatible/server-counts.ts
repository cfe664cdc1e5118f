// Requests under way at each server by other replicas. A replica publishes its own counts each second, and 50 ms after they
// changed; it gets the sums of the others in return.
import type { ShareCounts } from '../engine.ts';

const changedMs = 50;
const everyMs = 1_000;

interface SharedCounts {
  /** The requests of other replicas at the server. */
  othersAt(server: string): number;
  /** Replicas with requests under way, this one included. */
  readonly replicas: number;
  changed(): void;
  close(): void;
}

export function shareServerCounts(share: ShareCounts | undefined, own: () => Record<string, number>): SharedCounts {
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
    // Without an answer, this replica balances by its own counts.
    ({ others, replicas } = await share!(own()).catch(() => ({ others: {}, replicas: 1 })));
    plan(everyMs);
  };
  plan(0);
  return {
    othersAt: (server) => others[server] ?? 0,
    get replicas() {
      return replicas;
    },
    changed: () => plan(changedMs),
    close() {
      isClosed = true;
      clearTimeout(timer);
      share?.({}).catch(() => {});
    },
  };
}
