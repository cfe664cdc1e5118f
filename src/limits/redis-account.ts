// What the replicas know together of the owners of keys, on Redis or Valkey: the questions that owner-account.lua
// answers, one trip each.
import { readFileSync } from 'node:fs';
import { type Redis, toScript } from '../redis/redis.ts';
import { intervalOf, type Rate } from './gcra.ts';
import { type Month, monthAt } from './month.ts';

export interface RedisAccounts {
  takeRequest(owner: string, keyId: string, rate: Rate): Promise<Answer>;
  look(owner: string): Promise<Answer>;
  /** Brings what the ledger had of the month of that answer, when it was asked after it. */
  bring(owner: string, chars: number, after: Answer): Promise<Answer>;
  speak(owner: string, asked: SlotRequest): Promise<Answer>;
  /** Gives a request back, where there is a rate, and the turn of this replica, where nobody in it waits any more. */
  leave(owner: string, rate: Rate | undefined, isLast: boolean): Promise<Answer>;
  end(owner: string, place: Place, spokenChars: number): Promise<Answer>;
  renew(owner: string, places: readonly Place[]): Promise<Answer>;
  forget(owner: string, gone: readonly Place[]): Promise<Answer>;
  running(owner: string): Promise<number>;
  markEnded(owner: string, keyId: string): Promise<void>;
  /** A place that no other has ever had. */
  newSlot(chars: number): Place;
}

export interface Answer {
  outcome: 'taken' | 'refused' | 'ended' | 'seen' | 'unread' | 'late' | 'characters' | 'full';
  nowUs: number;
  fullAtUs: number;
  /** The month that it is there, and what was spent of it; undefined where nobody knows. */
  month: Month;
  spentChars: number | undefined;
}

export interface Place {
  month: Month;
  /** As it is kept. */
  name: string;
}

export interface SlotRequest {
  place: Place;
  rate: Rate;
  charactersPerMonth: number | undefined;
  placesMax: number;
}

export interface RedisAccountsOptions {
  redis: Pick<Redis, 'run'>;
  prefix: string;
  /** A name that no other replica has. */
  replica: string;
  /** The clock, in epoch milliseconds, in place of the server's. */
  now?: (() => number) | undefined;
}

/** A place is lost so long after its replica was last heard of. */
const leaseMs = 30_000;
/** How long a key that was revoked is known to be: longer than any replica remembers that it was not. */
const endedMs = 3_600_000;

const script = toScript(readFileSync(new URL('./redis-account.lua', import.meta.url), 'utf8'));
const endScript = toScript("return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])");

export function createRedisAccounts({ redis, prefix, replica, now }: RedisAccountsOptions): RedisAccounts {
  let placeCount = 0;
  /** What the server's clock is ahead of ours: only to know which month it has. */
  let aheadMs = 0;
  const monthNow = () => monthAt(now ? now() : Date.now() + aheadMs);
  const nameOf = (owner: string, part: string) => `${prefix}{${owner}}:${part}`;

  const ask = async (
    operation: string,
    owner: string,
    { month = monthNow(), keyId, args }: { month?: Month; keyId?: string; args: readonly (string | number)[] },
  ): Promise<Answer> => {
    const parts = ['requests', 'places', 'waiting', `month:${month.name}`, ...(keyId ? [`ended:${keyId}`] : [])];
    const clock = now ? Math.round(now() * 1000) : '';
    const facts = [operation, clock, month.name, month.beginsMs * 1000, month.endsMs * 1000];
    const keys = parts.map((part) => nameOf(owner, part));
    const answer = (await redis.run(script, keys, [...facts, ...args])) as [Answer['outcome'], number, number, string?];
    const [outcome, nowUs, fullAtUs, spent] = answer;
    const serverMs = nowUs / 1000;
    aheadMs = serverMs - Date.now();
    return { outcome, nowUs, fullAtUs, month: monthAt(serverMs), spentChars: spent ? Number(spent) : undefined };
  };

  return {
    takeRequest(owner, keyId, rate) {
      const intervalUs = intervalOf(rate);
      return ask('request', owner, { keyId, args: [intervalUs, rate.burst * intervalUs] });
    },
    look: (owner) => ask('look', owner, { args: [] }),
    bring: (owner, chars, { month, nowUs }) => ask('bring', owner, { month, args: [chars, nowUs] }),
    speak(owner, { place, rate, charactersPerMonth = '', placesMax }) {
      const args = [intervalOf(rate), charactersPerMonth, place.name, placesMax, leaseMs * 1000, replica];
      return ask('speak', owner, { month: place.month, args });
    },
    leave: (owner, rate, isLast) => ask('leave', owner, { args: [rate ? intervalOf(rate) : 0, isLast ? replica : ''] }),
    end: (owner, { month, name }, spokenChars) => ask('end', owner, { month, args: [name, spokenChars] }),
    renew: (owner, places) => ask('renew', owner, { args: [leaseMs * 1000, ...places.map(({ name }) => name)] }),
    forget: (owner, gone) => ask('forget', owner, { args: gone.map(({ name }) => name) }),
    running: async (owner) => (await ask('running', owner, { args: [] })).fullAtUs,
    async markEnded(owner, keyId) {
      await redis.run(endScript, [nameOf(owner, `ended:${keyId}`)], [endedMs]);
    },
    newSlot(chars) {
      const month = monthNow();
      return { month, name: `${replica}.${++placeCount}:${month.name}:${chars}` };
    },
  };
}
