// What replicas of the service share from moment to moment: the limits of keys, failed attempts by address, keys that have
// just ended, and speech that is under way. Through Redis or Valkey where one is set up; else this process is alone.

import { type Config, ConfigError } from '../config.ts';
import { createSingleFlight, type SingleFlight } from '../delivery/single-flight.ts';
import type { ChangedKey } from '../keys/key-management.ts';
import { createFailedAttempts, type FailedAttempts } from '../limits/failed-attempts.ts';
import { createFallbackLimiter } from '../limits/fallback-limiter.ts';
import { createLimiter, type Limiter, type LimiterOptions } from '../limits/limiter.ts';
import { createRedisAccounts } from '../limits/redis-account.ts';
import { type LimiterState, openRedisLimiter } from '../limits/redis-limiter.ts';
import { openRedis, type RedisOptions } from '../redis/redis.ts';
import { createRedisLock } from '../redis/redis-lock.ts';
import { createRedisRelay, type Relay } from '../redis/redis-relay.ts';
import type { Log } from '../telemetry/log.ts';

export interface Sharing {
  limiter: Limiter;
  addresses: FailedAttempts;
  singleFlight: SingleFlight;
  /** Where streams of events that another replica speaks are read on; undefined where nothing is shared. */
  relay: Relay | undefined;
  /** Lets all replicas know of a key that is good for nothing any more. */
  tellOf(changed: ChangedKey): Promise<void>;
  /** Undefined where nothing is shared. */
  limiterState(): LimiterState | undefined;
  close(): Promise<void>;
}

export interface SharingOptions {
  config: Config;
  spentSince: LimiterOptions['spentSince'];
  log: Log;
  /** How long Redis may take to answer, if not as usual. */
  answerMs?: number;
}

/** How long a reader of a stream elsewhere waits for Redis. */
const relayAnswerMs = 2_000;

export async function openSharing({ config, spentSince, log, ...patience }: SharingOptions): Promise<Sharing> {
  const { redisUrl, redisPrefix: prefix, redisFallback, replicas, badKeysPerMinute: perMinute } = config;
  if (redisUrl === '') {
    return {
      limiter: createLimiter({ spentSince }),
      addresses: createFailedAttempts({ perMinute }),
      singleFlight: createSingleFlight(),
      relay: undefined,
      tellOf: async () => {},
      limiterState: () => undefined,
      close: async () => {},
    };
  }
  const [redis, relayRedis] = await bothOrNone([
    openConfigured(config, {
      ...patience,
      onAway: (cause) => log.warn('Redis is away: limits are kept without it', { fallback: redisFallback, cause }),
      onBack: () => log.info('Redis is back'),
    }),
    // Sound is large: on a connection of its own, nobody's limits wait behind it.
    openConfigured(config, { answerMs: relayAnswerMs }),
  ]);
  const fallback = createFallbackLimiter({ fallback: redisFallback, replicas, spentSince });
  const limiter = openRedisLimiter({ redis, prefix, fallback, spentSince });
  return {
    limiter,
    addresses: createFailedAttempts({ perMinute, share: limiter.takeAttempt }),
    singleFlight: createSingleFlight(createRedisLock({ redis, prefix })),
    relay: createRedisRelay({
      redis: relayRedis,
      prefix,
      onFault: (fault) => log.error('a stream could not be read at another replica', { cause: fault }),
    }),
    tellOf: async ({ ownerId, keyId, isEnded }) => (isEnded ? limiter.markEnded(ownerId, keyId) : undefined),
    limiterState: () => limiter.state,
    async close() {
      await limiter.close();
      redis.close();
      relayRedis.close();
    },
  };
}

/** Where one cannot be opened, the other is closed, however late it opens. */
async function bothOrNone<T extends { close(): void }>(opening: readonly [Promise<T>, Promise<T>]): Promise<[T, T]> {
  const [one, other] = await Promise.allSettled(opening);
  if (one.status === 'fulfilled' && other.status === 'fulfilled') return [one.value, other.value];
  for (const each of [one, other]) if (each.status === 'fulfilled') each.value.close();
  throw one.status === 'rejected' ? one.reason : (other as PromiseRejectedResult).reason;
}

/** The same for who shares nothing else, such as the command line. */
export async function tellReplicas(config: Config, { ownerId, keyId, isEnded }: ChangedKey): Promise<void> {
  if (!isEnded || config.redisUrl === '') return;
  const redis = await openConfigured(config, {});
  const accounts = createRedisAccounts({ redis, prefix: config.redisPrefix, replica: '' });
  // Without it, they find out from the table.
  await accounts.markEnded(ownerId, keyId).catch(() => {});
  redis.close();
}

function openConfigured(
  { redisUrl: url, redisPrefix: prefix }: Config,
  options: Pick<RedisOptions, 'onAway' | 'onBack' | 'answerMs'>,
) {
  return openRedis({ url, prefix, ...options }).catch((error: Error) => {
    throw new ConfigError([{ name: 'SONANT_REDIS_URL', source: 'where it is set', allowed: error.message }]);
  });
}
