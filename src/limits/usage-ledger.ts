// The ledger as it is written: what is to be noted at the same moment is added up and written as one, and whoever noted it
// waits for that. So many syntheses at once cost no more than one, and what is acknowledged is still on the books.
import type { UsageRow, UsageRows } from '../store/usage-rows.ts';

export interface UsageLedger {
  /** Settles when it is kept. */
  add(spoken: UsageRow): Promise<void>;
}

interface Page {
  sums: Map<string, UsageRow>;
  written: Promise<void>;
}

export function createUsageLedger(rows: Pick<UsageRows, 'addAll'>): UsageLedger {
  let page: Page | undefined;

  const openPage = (): Page => {
    const sums = new Map<string, UsageRow>();
    const written = new Promise<void>((resolve, reject) => {
      setImmediate(() => {
        page = undefined;
        rows.addAll([...sums.values()]).then(resolve, reject);
      });
    });
    return { sums, written };
  };

  return {
    add(spoken) {
      page ??= openPage();
      const { keyId, voiceId, day } = spoken;
      const name = JSON.stringify([keyId, voiceId, day]);
      const before = page.sums.get(name);
      page.sums.set(name, before ? plus(before, spoken) : spoken);
      return page.written;
    },
  };
}

const plus = (one: UsageRow, other: UsageRow): UsageRow => ({
  ...one,
  requests: one.requests + other.requests,
  characters: one.characters + other.characters,
  audioMs: one.audioMs + other.audioMs,
});
