// Opens a limiter on a real PostgreSQL, as one of several replicas. It has its own clock, a number as its ledger, and one
// caller.
import type { LimiterOptions } from '../../../src/accounts/limits/limiter.ts';
import type { LimitStatus } from '../../../src/accounts/limits/rate-limit.ts';
import { openSharedLimiter } from '../../../src/accounts/limits/shared-limiter.ts';
import { connectPostgres } from '../../../src/platform/store/postgres.ts';
import { createSharedLimitRows } from '../../../src/platform/store/shared-limits.ts';
import { silent, usual } from '../../conformance/limited-descendants.ts';

export interface ReplicaOptions extends Partial<Pick<LimiterOptions, 'spentSince' | 'now'>> {
  url: string;
  /** Time limit of a statement. The default is longer than any pause on a busy machine. */
  statementMs?: number;
}

export async function openReplica({ url, statementMs = 5_000, now, spentSince = async () => 0 }: ReplicaOptions) {
  const store = connectPostgres({ url, connectionsMax: 4, statementMs });
  const limiter = openSharedLimiter({ rows: createSharedLimitRows(store, now), spentSince, ...(now && { now }) });
  const stop = store.listen('limits', limiter.restate);
  const never = new AbortController().signal;
  const caller = (limits = {}, keyId = 'key') => ({ callerId: 'owner', keyId, limits: { ...usual, ...limits } });
  return {
    limiter,
    request: (limits = {}, keyId = 'key') => limiter.takeRequest(caller(limits, keyId), silent),
    speak: (chars: number, limits = {}) =>
      limiter.takeSynthesis(caller(limits), chars, { signal: never, report: silent }),
    async limitStatus(limits = {}): Promise<LimitStatus> {
      let found: LimitStatus | undefined;
      await limiter.reportStatus(caller(limits), (one) => (found = one));
      return found!;
    },
    async close() {
      stop();
      await limiter.close();
      await store.close();
    },
  };
}
