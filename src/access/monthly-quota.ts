// The monthly character quota of one key owner, counted in this process (with Redis: redis-account.lua). The count of a month
// starts with what the usage ledger has, and this process then adds what it speaks itself.
import type { LeftOfMonth } from './limit-status.ts';
import { tooManyCharacters } from './rate-limit-failures.ts';
import { monthAt } from './usage-period.ts';

export interface QuotaCharge {
  refund(chars: number): void;
}

export interface MonthlyQuotaOptions {
  /** The characters that the ledger has since then. */
  spentSince(sinceMs: number): Promise<number>;
  now(): number;
  /** The part of what is left that this process may use. */
  share: number;
}

interface CountedMonth {
  endsMs: number;
  /** `before` comes from the ledger; `chars` is the current count, `before` included. */
  spent: Promise<{ before: number; chars: number }>;
}

export type MonthlyQuota = ReturnType<typeof createMonthlyQuota>;

export function createMonthlyQuota({ spentSince, now, share }: MonthlyQuotaOptions) {
  let month: CountedMonth | undefined;

  const currentMonth = (): CountedMonth => {
    if (month && now() < month.endsMs) return month;
    const { beginsMs, endsMs } = monthAt(now());
    const spent = spentSince(beginsMs).then((chars) => ({ before: chars, chars }));
    // The next call reads the ledger again.
    spent.catch(() => {
      month = undefined;
    });
    month = { endsMs, spent };
    return month;
  };
  const leftOf = (quota: number, { before, chars }: Awaited<CountedMonth['spent']>) =>
    before + Math.floor((quota - before) * share) - chars;

  return {
    async left(quota: number): Promise<LeftOfMonth> {
      const { endsMs, spent } = currentMonth();
      return { characters: leftOf(quota, await spent), endsMs };
    },
    /** Charges the characters, or fails and charges none. Without a quota they are only counted. */
    async take(chars: number, quota: number | undefined, isOwn = true): Promise<QuotaCharge> {
      // Without a quota, a month that was counted before still is: the key may get a quota again.
      const counted = quota === undefined ? month : currentMonth();
      const spent = await counted?.spent;
      if (!counted || !spent) return { refund() {} };
      const left = quota === undefined ? Infinity : leftOf(quota, spent);
      if (quota !== undefined && chars > left)
        throw tooManyCharacters({ chars, quota, left, isOwn }, counted.endsMs - now());
      spent.chars += chars;
      return {
        refund(refunded) {
          spent.chars -= refunded;
        },
      };
    },
  };
}
