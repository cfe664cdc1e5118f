// The limits of a key's owner in Redis or Valkey, shared by all replicas: each method is one operation of
// redis-account.lua and one round trip.
import { readFileSync } from 'node:fs';
import { type Redis, toScript } from '../redis/redis.ts';
import { intervalOf, type Rate } from './gcra.ts';
import { type Month, monthAt } from './month.ts';

export interface RedisAccounts {
  takeRequest(owner: string, keyId: string, rate: Rate): Promise<AccountReply>;
  read(owner: string): Promise<AccountReply>;
  /** Sets the count of the month of `reply`, from a read of the ledger that began after `reply`. */
  setSpent(owner: string, chars: number, reply: AccountReply): Promise<AccountReply>;
  takeSlot(owner: string, request: SlotRequest): Promise<AccountReply>;
  /** Refunds a request, if a rate is given, and with `isLast` takes this replica out of the queue. */
  leaveQueue(owner: string, rate: Rate | undefined, isLast: boolean): Promise<AccountReply>;
  endSlot(owner: string, slot: Slot, spokenChars: number): Promise<AccountReply>;
  /** Extends the leases of slots, and takes back those that Redis has lost. */
  renewSlots(owner: string, slots: readonly Slot[]): Promise<AccountReply>;
  /** Frees slots whose outcome Redis missed; the count of the month is then read from the ledger again. */
  dropSlots(owner: string, slots: readonly Slot[]): Promise<AccountReply>;
  running(owner: string): Promise<number>;
  /** Makes all replicas reject the key. */
  markEnded(owner: string, keyId: string): Promise<void>;
  /** Returns a slot with a name of its own, to be taken. */
  newSlot(chars: number): Slot;
}

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
  /** The clock, in epoch milliseconds, in place of the server's. */
  now?: (() => number) | undefined;
}

/** How long a slot is held after its replica has last renewed it. */
const leaseMs = 30_000;
/** How long Redis stores that a key has ended: longer than any replica caches that it was valid. */
const endedMs = 3_600_000;

const script = toScript(readFileSync(new URL('./redis-account.lua', import.meta.url), 'utf8'));
const endScript = toScript("return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])");

export function createRedisAccounts({ redis, prefix, replica, now }: RedisAccountsOptions): RedisAccounts {
  let slotCount = 0;
  /** The difference of the server's clock to ours, which gives the current month of the server. */
  let clockOffsetMs = 0;
  const monthNow = () => monthAt(now ? now() : Date.now() + clockOffsetMs);
  const nameOf = (owner: string, part: string) => `${prefix}{${owner}}:${part}`;

  const run = async (
    operation: string,
    owner: string,
    { month = monthNow(), keyId, args }: { month?: Month; keyId?: string; args: readonly (string | number)[] },
  ): Promise<AccountReply> => {
    const parts = ['requests', 'places', 'waiting', `month:${month.name}`, ...(keyId ? [`ended:${keyId}`] : [])];
    const keys = parts.map((part) => nameOf(owner, part));
    const clock = now ? Math.round(now() * 1000) : '';
    const head = [operation, clock, month.name, month.beginsMs * 1000, month.endsMs * 1000];
    const reply = (await redis.run(script, keys, [...head, ...args])) as ScriptReply;
    const [outcome, nowUs, fullAtUs, spent] = reply;
    const serverMs = nowUs / 1000;
    clockOffsetMs = serverMs - Date.now();
    return { outcome, nowUs, fullAtUs, month: monthAt(serverMs), spentChars: spent ? Number(spent) : undefined };
  };

  return {
    takeRequest(owner, keyId, rate) {
      const intervalUs = intervalOf(rate);
      return run('take_request', owner, { keyId, args: [intervalUs, rate.burst * intervalUs] });
    },
    read: (owner) => run('read', owner, { args: [] }),
    setSpent: (owner, chars, { month, nowUs }) => run('set_spent', owner, { month, args: [chars, nowUs] }),
    takeSlot(owner, { slot, rate, charactersPerMonth = '', concurrency }) {
      const args = [intervalOf(rate), charactersPerMonth, slot.name, concurrency, leaseMs * 1000, replica];
      return run('take_slot', owner, { month: slot.month, args });
    },
    leaveQueue: (owner, rate, isLast) =>
      run('leave_queue', owner, { args: [rate ? intervalOf(rate) : 0, isLast ? replica : ''] }),
    endSlot: (owner, { month, name }, spokenChars) => run('end_slot', owner, { month, args: [name, spokenChars] }),
    renewSlots: (owner, slots) => run('renew_slots', owner, { args: [leaseMs * 1000, ...namesOf(slots)] }),
    dropSlots: (owner, slots) => run('drop_slots', owner, { args: namesOf(slots) }),
    running: async (owner) => (await run('running', owner, { args: [] })).fullAtUs,
    async markEnded(owner, keyId) {
      await redis.run(endScript, [nameOf(owner, `ended:${keyId}`)], [endedMs]);
    },
    newSlot(chars) {
      const month = monthNow();
      return { month, name: `${replica}.${++slotCount}:${month.name}:${chars}` };
    },
  };
}

/** The outcome, the time, when all requests are available again, and the count of the month. */
type ScriptReply = [AccountReply['outcome'], number, number, string?];

const namesOf = (slots: readonly Slot[]) => slots.map(({ name }) => name);
