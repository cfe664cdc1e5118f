// When each key was last used: noted in memory at each request, written in one go at most once a minute and at the end.
import type { ApiKeyUse } from '../store/api-key-rows.ts';

export interface LastUse {
  note(keyId: string, nowMs: number): void;
  close(): Promise<void>;
}

/** Writes in pieces, so that other statements get their turn between. */
const usesAtOnceMax = 500;

export function createLastUse(write: (uses: readonly ApiKeyUse[]) => Promise<void>, everyMs: number): LastUse {
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
    note(keyId, nowMs) {
      noted.set(keyId, nowMs);
      timer ??= setTimeout(() => {
        // A time of last use is not worth a failure; the next use will be noted again.
        writing = flush().catch(() => {});
      }, everyMs).unref();
    },
    async close() {
      clearTimeout(timer);
      await writing;
      await flush();
    },
  };
}
