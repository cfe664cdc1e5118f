// Locks shared by replicas through Redis or Valkey. A waiter tries again on a release message, and periodically,
// because the lock of a dead holder expires without a message. If Redis is unreachable, every caller gets the lock at
// once, and holders do not notice a lost lock, so work may be done twice.
//     SET     prefix:flight:KEY TOKEN NX PX 3000   renewed each second while the lock is held
//     PUBLISH prefix:flights prefix:flight:KEY     on release, which requires that TOKEN is still stored
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { type Redis, RedisAway, toScript } from './redis.ts';

interface RedisLockOptions {
  redis: Pick<Redis, 'run' | 'listen'>;
  prefix: string;
  /** How long a lock lasts without renewal. */
  leaseMs?: number;
}

const usualLeaseMs = 3_000;

const take = toScript("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and 1 or 0");
const renew = toScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);
const release = toScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return redis.call('PUBLISH', ARGV[2], KEYS[1])`);

/**
 * Returns a function that waits for the lock of a key and resolves with a function that releases the lock. The wait
 * rejects when the signal aborts.
 */
export function createRedisLock({ redis, prefix, leaseMs = usualLeaseMs }: RedisLockOptions) {
  const channel = `${prefix}flights`;
  const released = new EventEmitter().setMaxListeners(0);
  redis.listen(channel, (name) => released.emit(name));

  const tryTake = async (name: string, token: string): Promise<boolean> => {
    try {
      return (await redis.run(take, [name], [token, leaseMs])) === 1;
    } catch (error) {
      if (error instanceof RedisAway) return true;
      throw error;
    }
  };

  return async (key: string, signal: AbortSignal): Promise<() => void> => {
    const name = `${prefix}flight:${key}`;
    const token = randomUUID();
    for (;;) {
      signal.throwIfAborted();
      // Listens for the release message before the attempt, so that no message is missed.
      const tried = new AbortController();
      const until = AbortSignal.any([signal, tried.signal, AbortSignal.timeout(leaseMs / 4)]);
      const next = once(released, name, { signal: until }).catch(() => {});
      const isOurs = await tryTake(name, token);
      if (isOurs) tried.abort();
      await next;
      if (isOurs) break;
    }
    const timer = setInterval(() => redis.run(renew, [name], [token, leaseMs]).catch(() => {}), leaseMs / 3);
    return () => {
      clearInterval(timer);
      // Errors are ignored, because a lock that is not released expires.
      redis.run(release, [name], [token, channel]).catch(() => {});
    };
  };
}
