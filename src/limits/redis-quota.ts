// The monthly character quota of a key's owner in Redis. The usage ledger is the source of truth: where Redis has no
// count of the month, the ledger is read and the count is set from it.
import { Failure } from '../errors.ts';
import { type LimitStatus, toLimitStatus } from './limit-status.ts';
import type { Limited, LimiterOptions } from './limiter.ts';
import type { AccountReply, RedisAccounts } from './redis-account.ts';

export interface RedisQuota {
  /** Returns the reply, or a later one that has a count of the month. */
  counted(owner: string, reply: AccountReply): Promise<AccountReply>;
  statusOf(caller: Limited, reply: AccountReply): Promise<LimitStatus>;
}

/** How often the ledger is read for one reply, where a read takes longer than Redis accepts. */
export const ledgerReadsMax = 3;

export function createRedisQuota(
  accounts: Pick<RedisAccounts, 'setSpent'>,
  spentSince: LimiterOptions['spentSince'],
): RedisQuota {
  const counted = async (owner: string, reply: AccountReply): Promise<AccountReply> => {
    let last = reply;
    for (let reads = 0; last.spentChars === undefined; reads++) {
      if (reads === ledgerReadsMax) throw new Failure('storage_unavailable', {}, new Error('the ledger is too slow'));
      last = await accounts.setSpent(owner, await spentSince(owner, last.month.beginsMs), last);
    }
    return last;
  };
  return {
    counted,
    async statusOf({ callerId, limits }, reply) {
      const quota = limits.charactersPerMonth;
      if (quota === undefined) return toLimitStatus(limits, reply.fullAtUs, reply.nowUs);
      const { spentChars, fullAtUs, nowUs, month } = await counted(callerId, reply);
      return toLimitStatus(limits, fullAtUs, nowUs, { characters: quota - spentChars!, endsMs: month.endsMs });
    },
  };
}
