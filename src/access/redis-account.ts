// Stores the limits of a key and its ancestors in Redis or Valkey, shared by all replicas. Each operation of
// redis-account.lua is one round trip. The usage ledger is authoritative for the monthly quota: if Redis has no count
// of the month, the count is set from the ledger.
import { readFileSync } from 'node:fs';
import { Failure } from '../errors.ts';
import { type Redis, toScript } from '../store/redis.ts';
import type { EndedKeys } from './key-management.ts';
import { accountIdOf, chainOf, type Limited, type LimitedAccount, type LimiterOptions } from './limiter.ts';
import { intervalOf, type LimitStatus, leastOf, type Rate, rateOf, toLimitStatus } from './rate-limit.ts';
import { type Month, monthAt } from './usage-ledger.ts';

export interface AccountReply {
  outcome: 'taken' | 'rejected' | 'ended' | 'read' | 'unread' | 'late' | 'characters' | 'full';
  nowUs: number;
  /** The current month by the Redis server's clock. */
  month: Month;
  /** Index in `owners` of the owner that decided the outcome; 0 is the owner of the key itself. */
  decider: number;
  /** States of the owners, the owner of the key itself first. Empty if the script returned no states. */
  owners: readonly OwnerState[];
}

interface OwnerState {
  fullAtUs: number;
  /** Characters spent in the month; undefined if Redis has no count. */
  spentChars: number | undefined;
}

/** An account, and the owners whose limits apply. The owner of the key itself comes first. */
export interface Chain {
  accountId: string;
  ownerIds: readonly string[];
}

export const toChain = (caller: Limited): Chain => ({
  accountId: accountIdOf(caller),
  ownerIds: chainOf(caller).map(({ callerId }) => callerId),
});

export interface Slot {
  month: Month;
  /** Member of the sorted set in Redis that stands for the slot. */
  name: string;
  /** Number of characters of the slot that are in the usage ledger. */
  recordedChars: number;
}

export interface SlotOptions {
  /** The slot to replace. The new slot includes the characters of the replaced slot. */
  replaced: Slot | undefined;
  /** Whether the request is refunded if too few characters are left. */
  refundsRequest: boolean;
  /** Whether to take a slot even if none is free. */
  needsNoSlot: boolean;
}

interface RedisAccountsOptions {
  redis: Pick<Redis, 'run'>;
  prefix: string;
  /** A unique name of this replica. */
  replica: string;
  spentSince: LimiterOptions['spentSince'];
  /** The clock in epoch milliseconds. Default: the clock of the Redis server. */
  now?: (() => number) | undefined;
}

/** Time for which a slot stays taken after its last renewal. */
const leaseMs = 30_000;
/** Time for which Redis marks a key as permanently invalid. No replica caches a valid key for this long. */
const endedMs = 3_600_000;
/** Largest number of ledger reads for one reply. A read that takes longer than Redis accepts is repeated. */
export const ledgerReadsMax = 3;

const script = toScript(readFileSync(new URL('./redis-account.lua', import.meta.url), 'utf8'));
const endScript = toScript("for _, key in ipairs(KEYS) do redis.call('SET', key, '1', 'PX', ARGV[1]) end");

export type RedisAccounts = ReturnType<typeof createRedisAccounts>;

export function createRedisAccounts(options: RedisAccountsOptions) {
  const { replica } = options;
  const { run, monthNow } = createScriptRunner(options);
  let slotCount = 0;

  return {
    ...createCounts(run, options.spentSince),
    takeRequest(caller: Limited) {
      return run('take_request', toChain(caller), {
        markers: [`ended:${caller.keyId}`],
        args: chainOf(caller).flatMap(({ limits }) => ratesOf(rateOf(limits))),
      });
    },
    /** Counts a request under a name that is not the id of a key. */
    takeNamed: (name: string, rate: Rate) =>
      run('take_request', { accountId: name, ownerIds: [name] }, { args: ratesOf(rate) }),
    read: (caller: Limited) => run('read', toChain(caller), { args: [] }),
    takeSlot(caller: Limited, slot: Slot, { replaced, refundsRequest, needsNoSlot }: SlotOptions) {
      const limits = chainOf(caller).flatMap(({ limits: { charactersPerMonth = '', concurrency, ...rest } }) => [
        refundsRequest ? intervalOf(rateOf(rest)) : 0,
        charactersPerMonth,
        needsNoSlot ? '' : concurrency,
      ]);
      const args = [slot.name, leaseMs * 1000, replica, ...limits, replaced?.name ?? '', replaced?.recordedChars ?? 0];
      return run('take_slot', toChain(caller), { month: slot.month, args });
    },
    /** `isRefunded` refunds a request; `isLast` removes this replica from the queues. */
    leaveQueue(caller: Limited, { isRefunded, isLast }: { isRefunded: boolean; isLast: boolean }) {
      const intervals = chainOf(caller).map(({ limits }) => (isRefunded ? intervalOf(rateOf(limits)) : 0));
      return run('leave_queue', toChain(caller), { args: [isLast ? replica : '', ...intervals] });
    },
    endSlot: (chain: Chain, { month, name }: Slot, spokenChars: number) =>
      run('end_slot', chain, { month, args: [name, spokenChars] }),
    /** Extends the leases of slots, reports their recorded characters, and retakes slots that Redis has lost. */
    renewSlots(chain: Chain, slots: readonly Slot[]) {
      const args = slots.flatMap(({ name, recordedChars }) => [name, recordedChars]);
      return run('renew_slots', chain, { args: [leaseMs * 1000, ...args] });
    },
    /** Releases slots whose end Redis missed. The count of the month is then read from the ledger again. */
    dropSlots: (chain: Chain, slots: readonly Slot[]) => run('drop_slots', chain, { args: namesOf(slots) }),
    running: async (ownerId: string, accountId: string) =>
      (await run('running', { accountId, ownerIds: [ownerId] }, { args: [] })).decider + 1,
    /** Creates a slot with a unique name. The slot is not taken yet. */
    newSlot(chars: number): Slot {
      const month = monthNow();
      return { month, name: `${replica}.${++slotCount}:${month.name}:${chars}`, recordedChars: 0 };
    },
  };
}

/** Characters that the owners have spent, from the ledger if Redis has no count. */
function createCounts(run: RunScript, spentSince: LimiterOptions['spentSince']) {
  /** Returns the state of an owner with a count of the month, which may be newer than the reply. */
  const counted = async ({ accountId, ownerIds }: Chain, i: number, reply: AccountReply): Promise<OwnerState> => {
    const ownerId = ownerIds[i]!;
    let { nowUs, month } = reply;
    let state = reply.owners[i];
    for (let reads = 0; state?.spentChars === undefined; reads++) {
      if (reads === ledgerReadsMax) throw new Failure('storage_unavailable', {}, new Error('the ledger is too slow'));
      // Redis rejects a count from a read that took too long.
      const spent = await spentSince(ownerId, month.beginsMs);
      const last = await run('set_spent', { accountId, ownerIds: [ownerId] }, { month, args: [spent, nowUs] });
      ({ nowUs, month } = last);
      state = last.owners[0];
    }
    return state;
  };

  const statusOfOwner = async (chain: Chain, i: number, { limits }: LimitedAccount, reply: AccountReply) => {
    const quota = limits.charactersPerMonth;
    const { fullAtUs } = reply.owners[i]!;
    if (quota === undefined) return toLimitStatus(limits, fullAtUs, reply.nowUs);
    const { spentChars } = await counted(chain, i, reply);
    return toLimitStatus(limits, fullAtUs, reply.nowUs, {
      characters: quota - spentChars!,
      endsMs: reply.month.endsMs,
    });
  };

  return {
    counted,
    async statusOf(caller: Limited, reply: AccountReply): Promise<LimitStatus> {
      const chain = toChain(caller);
      return leastOf(await Promise.all(chainOf(caller).map((each, i) => statusOfOwner(chain, i, each, reply))));
    },
  };
}

const namesOf = (slots: readonly Slot[]) => slots.map(({ name }) => name);
const nameOf = (prefix: string, accountId: string, part: string) => `${prefix}{${accountId}}:${part}`;
/** Returns the interval and the length of the full burst. */
const ratesOf = (rate: Rate) => [intervalOf(rate), rate.burst * intervalOf(rate)];

/**
 * The outcome, the time, the index of the deciding owner, and for each owner two values: the time at which all its
 * requests are available again, and its count of characters.
 */
type ScriptReply = [AccountReply['outcome'], number, number, ...(number | string | null)[]];

type RunScript = ReturnType<typeof createScriptRunner>['run'];

function createScriptRunner({ redis, prefix, now }: RedisAccountsOptions) {
  /** Difference between the server's clock and the local clock, from which the server's current month is computed. */
  let clockOffsetMs = 0;
  const monthNow = () => monthAt(now ? now() : Date.now() + clockOffsetMs);

  const run = async (
    operation: string,
    { accountId, ownerIds }: Chain,
    options: { month?: Month; markers?: readonly string[]; args: readonly (string | number)[] },
  ): Promise<AccountReply> => {
    const { month = monthNow(), markers = [], args } = options;
    const parts = ownerIds.flatMap((ownerId) => {
      const of = ownerId === accountId ? '' : `${ownerId}:`;
      return [`${of}requests`, `${of}places`, `${of}waiting`, `${of}recorded`, `${of}month:${month.name}`];
    });
    const keys = [...parts, ...markers].map((part) => nameOf(prefix, accountId, part));
    const clock = now ? Math.round(now() * 1000) : '';
    const head = [operation, clock, month.name, month.beginsMs * 1000, month.endsMs * 1000, ownerIds.length];
    const reply = (await redis.run(script, keys, [...head, ...args])) as ScriptReply;
    const [outcome, nowUs, decider, ...states] = reply;
    const serverMs = nowUs / 1000;
    clockOffsetMs = serverMs - Date.now();
    return { outcome, nowUs, month: monthAt(serverMs), decider: decider - 1, owners: toStates(states) };
  };
  return { run, monthNow };
}

function toStates(states: readonly (number | string | null)[]): OwnerState[] {
  return states.flatMap((fullAtUs, i) => {
    const spent = states[i + 1];
    return i % 2 === 0 ? [{ fullAtUs: Number(fullAtUs), spentChars: spent ? Number(spent) : undefined }] : [];
  });
}

/** Makes all replicas reject keys that have become permanently invalid. */
export async function markEnded(
  { redis, prefix }: Pick<RedisAccountsOptions, 'redis' | 'prefix'>,
  ended: EndedKeys,
): Promise<void> {
  for (const [accountId, keyIds] of ended) {
    const keys = keyIds.map((keyId) => nameOf(prefix, accountId, `ended:${keyId}`));
    // Redis errors are ignored, because replicas read the change from the database within half a second.
    await redis.run(endScript, keys, [endedMs]).catch(() => {});
  }
}
