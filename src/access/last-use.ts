// Records when each key was last used: in memory at each request, written in batches once a minute and on close.
import type { ApiKeyUse } from '../store/api-key-rows.ts';

/** Batches, so that other statements can run in between. */
const usesAtOnceMax = 500;

export function createLastUse(write: (uses: readonly ApiKeyUse[]) => Promise<void>, everyMs: number) {
  let noted = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const flush = async () => {
    timer = undefined;
    const uses = Array.from(noted, ([keyId, usedAtMs]) => ({ keyId, usedAtMs }));
    noted = new Map();
    for (let from = 0; from < uses.length; from += usesAtOnceMax) await write(uses.slice(from, from + usesAtOnceMax));
  };

  return {
    note(keyId: string, nowMs: number): void {
      noted.set(keyId, nowMs);
      timer ??= setTimeout(() => {
        // A lost time of last use does no harm; the next use is recorded again.
        writing = flush().catch(() => {});
      }, everyMs).unref();
    },
    async close(): Promise<void> {
      clearTimeout(timer);
      await writing;
      await flush();
    },
  };
}
