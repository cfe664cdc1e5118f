// What this process counts of each account: its requests, its characters of the month, and its slots.
import { SlotQueue } from '../runtime/slot-queue.ts';
import { createMonthlyQuota, type MonthlyQuota, type MonthlyQuotaOptions } from './monthly-quota.ts';

export interface Account {
  fullAtUs: number;
  quota: MonthlyQuota;
  slots: SlotQueue;
}

/** Accounts at rest are removed once there are so many, and then whenever the number has doubled. */
const keptMin = 1_000;

interface AccountsOptions extends Pick<MonthlyQuotaOptions, 'now' | 'share'> {
  /** The characters that the owner and all that descend from it have spent since then. */
  spentSince(callerId: string, sinceMs: number): Promise<number>;
}

export function createAccounts({ spentSince, now, share }: AccountsOptions, nowUs: () => number) {
  const accounts = new Map<string, Account>();
  let sweepAt = keptMin;
  const isIdle = ({ fullAtUs, slots }: Account) => fullAtUs <= nowUs() && slots.held === 0;
  return {
    find: (callerId: string) => accounts.get(callerId),
    open(callerId: string): Account {
      const known = accounts.get(callerId);
      if (known) return known;
      if (accounts.size >= sweepAt) {
        for (const [id, account] of accounts) if (isIdle(account)) accounts.delete(id);
        sweepAt = Math.max(keptMin, 2 * accounts.size);
      }
      const quota = createMonthlyQuota({ spentSince: (sinceMs) => spentSince(callerId, sinceMs), now, share });
      const account = { fullAtUs: 0, quota, slots: new SlotQueue() };
      accounts.set(callerId, account);
      return account;
    },
  };
}
