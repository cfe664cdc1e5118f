// Flights that processes share through Redis or Valkey. Who is to do a work holds a lock under its key:
//
//     SET prefix:flight:KEY  a token of its own  NX, for 3 s; renewed every second
//     released where the token is still its own, with a message to all who wait
//
// Who waits looks when such a message comes, and now and then without one; where the holder died, the lock ends and the
// first to look takes over. Where Redis is away, or a lock was lost, work is done twice, and nothing else is wrong.
import { randomUUID } from 'node:crypto';
import { type Redis, RedisAway, toScript } from '../redis/redis.ts';
import type { Shared, SingleFlight } from './single-flight.ts';

export interface RedisFlightsOptions {
  redis: Pick<Redis, 'run' | 'listen'>;
  prefix: string;
  /** How long a lock lasts that is not renewed. */
  leaseMs?: number;
}

const leaseMsUsual = 3_000;

const take = toScript("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0");
const renew = toScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);
const release = toScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('PUBLISH', ARGV[2], KEYS[1])`);

export function createRedisFlights({ redis, prefix, leaseMs = leaseMsUsual }: RedisFlightsOptions): SingleFlight {
  const channel = `${prefix}flights`;
  /** Those who wait, by what they wait for. */
  const waiting = new Map<string, Set<() => void>>();
  redis.listen(channel, (ended) => {
    for (const ring of waiting.get(ended) ?? []) ring();
  });

  /** Rings when somebody else is done, or it is time to look, or to leave. */
  const bellFor = (name: string, signal: AbortSignal) => {
    const bell = Promise.withResolvers<void>();
    const own = waiting.get(name) ?? new Set();
    waiting.set(name, own);
    const ring = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', ring);
      own.delete(ring);
      if (own.size === 0 && waiting.get(name) === own) waiting.delete(name);
      bell.resolve();
    };
    const timer = setTimeout(ring, leaseMs / 4);
    signal.addEventListener('abort', ring, { once: true });
    own.add(ring);
    if (signal.aborted) ring();
    return { rung: bell.promise, ring };
  };

  /** Holds the lock while it runs. */
  const hold = async <T>(name: string, token: string, work: () => Promise<T>): Promise<T> => {
    const timer = setInterval(() => redis.run(renew, [name], [token, leaseMs]).catch(() => {}), leaseMs / 3);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      // What is not released ends by itself.
      redis.run(release, [name], [token, channel]).catch(() => {});
    }
  };

  return {
    async share(key, signal, { find, make }) {
      const name = `${prefix}flight:${key}`;
      const token = randomUUID();
      const seek = async <T>(look: () => Promise<T | undefined>): Promise<Shared<T> | undefined> => {
        const value = await look();
        return value === undefined ? undefined : { value, isMade: false };
      };
      const made = async () => ({ value: await make(), isMade: true });
      for (;;) {
        signal.throwIfAborted();
        const isOurs = await redis.run(take, [name], [token, leaseMs]).catch((error: unknown) => {
          if (error instanceof RedisAway) return undefined;
          throw error;
        });
        if (isOurs === undefined) return (await seek(find)) ?? made();
        if (isOurs === 1) return hold(name, token, async () => (await seek(find)) ?? made());
        // First the bell, then a look: whoever is done after the look rings it.
        const { rung, ring } = bellFor(name, signal);
        try {
          const found = await seek(find);
          if (found) return found;
          await rung;
        } finally {
          ring();
        }
      }
    },
  };
}
