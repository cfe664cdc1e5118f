// The limits of a key's owner in Redis or Valkey, shared by all replicas: each operation of redis-account.lua is one round
// trip. The usage ledger is the source of truth for the monthly quota: where Redis has no count of the month, the ledger is
// read and the count is set from it.
import { readFileSync } from 'node:fs';
import { Failure } from '../errors.ts';
import { type Redis, toScript } from '../redis/redis.ts';
import { intervalOf, type Rate } from './gcra.ts';
import { type LimitStatus, toLimitStatus } from './limit-status.ts';
import type { Limited, LimiterOptions } from './limiter.ts';
import { type Month, monthAt } from './usage-period.ts';

export interface AccountReply {
  outcome: 'taken' | 'rejected' | 'ended' | 'read' | 'unread' | 'late' | 'characters' | 'full';
  nowUs: number;
  fullAtUs: number;
  /** The current month by the clock of Redis, and the characters spent in it; undefined where Redis has no count. */
  month: Month;
  spentChars: number | undefined;
}

export interface Slot {
  month: Month;
  /** The member of the sorted set in Redis. */
  name: string;
}

export interface SlotRequest {
  slot: Slot;
  rate: Rate;
  charactersPerMonth: number | undefined;
  concurrency: number;
}

export interface RedisAccountsOptions {
  redis: Pick<Redis, 'run'>;
  prefix: string;
  /** A unique name of this replica. */
  replica: string;
  spentSince: LimiterOptions['spentSince'];
  /** The clock, in epoch milliseconds, in place of the server's. */
  now?: (() => number) | undefined;
}

/** How long a slot is held after its replica has last renewed it. */
const leaseMs = 30_000;
/** How long Redis stores that a key has ended: longer than any replica caches that it was valid. */
const endedMs = 3_600_000;
/** How often the ledger is read for one reply, where a read takes longer than Redis accepts. */
export const ledgerReadsMax = 3;

const script = toScript(readFileSync(new URL('./redis-account.lua', import.meta.url), 'utf8'));
const endScript = toScript("return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])");

export type RedisAccounts = ReturnType<typeof createRedisAccounts>;

export function createRedisAccounts(options: RedisAccountsOptions) {
  const { replica, spentSince } = options;
  const { run, monthNow } = createScriptRunner(options);
  let slotCount = 0;

  /** Returns the reply, or a later one that has a count of the month. */
  const counted = async (owner: string, reply: AccountReply): Promise<AccountReply> => {
    let last = reply;
    for (let reads = 0; last.spentChars === undefined; reads++) {
      if (reads === ledgerReadsMax) throw new Failure('storage_unavailable', {}, new Error('the ledger is too slow'));
      const { month, nowUs } = last;
      // Redis rejects a count from a read that took too long.
      const spent = await spentSince(owner, month.beginsMs);
      last = await run('set_spent', owner, { month, args: [spent, nowUs] });
    }
    return last;
  };

  return {
    counted,
    async statusOf({ callerId, limits }: Limited, reply: AccountReply): Promise<LimitStatus> {
      const quota = limits.charactersPerMonth;
      if (quota === undefined) return toLimitStatus(limits, reply.fullAtUs, reply.nowUs);
      const { spentChars, fullAtUs, nowUs, month } = await counted(callerId, reply);
      return toLimitStatus(limits, fullAtUs, nowUs, { characters: quota - spentChars!, endsMs: month.endsMs });
    },
    takeRequest(owner: string, keyId: string, rate: Rate) {
      const intervalUs = intervalOf(rate);
      return run('take_request', owner, { keyId, args: [intervalUs, rate.burst * intervalUs] });
    },
    read: (owner: string) => run('read', owner, { args: [] }),
    takeSlot(owner: string, { slot, rate, charactersPerMonth, concurrency }: SlotRequest) {
      const args = [intervalOf(rate), charactersPerMonth ?? '', slot.name, concurrency, leaseMs * 1000, replica];
      return run('take_slot', owner, { month: slot.month, args });
    },
    /** Refunds a request, if a rate is given, and with `isLast` takes this replica out of the queue. */
    leaveQueue: (owner: string, rate: Rate | undefined, isLast: boolean) =>
      run('leave_queue', owner, { args: [rate ? intervalOf(rate) : 0, isLast ? replica : ''] }),
    endSlot: (owner: string, { month, name }: Slot, spokenChars: number) =>
      run('end_slot', owner, { month, args: [name, spokenChars] }),
    /** Extends the leases of slots, and takes back those that Redis has lost. */
    renewSlots: (owner: string, slots: readonly Slot[]) =>
      run('renew_slots', owner, { args: [leaseMs * 1000, ...namesOf(slots)] }),
    /** Frees slots whose outcome Redis missed; the count of the month is then read from the ledger again. */
    dropSlots: (owner: string, slots: readonly Slot[]) => run('drop_slots', owner, { args: namesOf(slots) }),
    running: async (owner: string) => (await run('running', owner, { args: [] })).fullAtUs,
    /** Returns a slot with a name of its own, to be taken. */
    newSlot(chars: number): Slot {
      const month = monthNow();
      return { month, name: `${replica}.${++slotCount}:${month.name}:${chars}` };
    },
  };
}

const namesOf = (slots: readonly Slot[]) => slots.map(({ name }) => name);
const nameOf = (prefix: string, owner: string, part: string) => `${prefix}{${owner}}:${part}`;

/** The outcome, the time, when all requests are available again, and the count of the month. */
type ScriptReply = [AccountReply['outcome'], number, number, string?];

function createScriptRunner({ redis, prefix, now }: RedisAccountsOptions) {
  /** The difference of the server's clock to ours, which gives the current month of the server. */
  let clockOffsetMs = 0;
  const monthNow = () => monthAt(now ? now() : Date.now() + clockOffsetMs);

  const run = async (
    operation: string,
    owner: string,
    { month = monthNow(), keyId, args }: { month?: Month; keyId?: string; args: readonly (string | number)[] },
  ): Promise<AccountReply> => {
    const parts = ['requests', 'places', 'waiting', `month:${month.name}`, ...(keyId ? [`ended:${keyId}`] : [])];
    const keys = parts.map((part) => nameOf(prefix, owner, part));
    const clock = now ? Math.round(now() * 1000) : '';
    const head = [operation, clock, month.name, month.beginsMs * 1000, month.endsMs * 1000];
    const reply = (await redis.run(script, keys, [...head, ...args])) as ScriptReply;
    const [outcome, nowUs, fullAtUs, spent] = reply;
    const serverMs = nowUs / 1000;
    clockOffsetMs = serverMs - Date.now();
    return { outcome, nowUs, fullAtUs, month: monthAt(serverMs), spentChars: spent ? Number(spent) : undefined };
  };
  return { run, monthNow };
}

/** Makes all replicas reject the key. */
export async function markEnded(
  { redis, prefix }: Pick<RedisAccountsOptions, 'redis' | 'prefix'>,
  ownerId: string,
  keyId: string,
): Promise<void> {
  // Without Redis, the replicas read it from the database within half a second.
  await redis.run(endScript, [nameOf(prefix, ownerId, `ended:${keyId}`)], [endedMs]).catch(() => {});
}
