// The state that replicas share through Redis or Valkey: limits of keys, failed attempts by address, keys that were just
// revoked, and speech in progress. Without Redis, the state is local to this process.

import { createFailedAttempts, type FailedAttempts } from '../access/failed-attempts.ts';
import { createFallbackLimiter } from '../access/fallback-limiter.ts';
import type { ChangedKey } from '../access/key-management.ts';
import { createLimiter, type Limiter, type LimiterOptions } from '../access/limiter.ts';
import { markEnded } from '../access/redis-account.ts';
import { type LimiterState, openRedisLimiter } from '../access/redis-limiter.ts';
import { createSingleFlight, type SingleFlight } from '../delivery/single-flight.ts';
import { openRedis, type RedisOptions } from '../store/redis.ts';
import { createRedisLock } from '../store/redis-lock.ts';
import { createRedisRelay, type Relay } from '../store/redis-relay.ts';
import type { Log } from '../telemetry/log.ts';
import { type Config, ConfigError } from './config.ts';

export interface SharedState {
  limiter: Limiter;
  addresses: FailedAttempts;
  singleFlight: SingleFlight;
  /** Resumes event streams of other replicas; undefined without Redis. */
  relay: Relay | undefined;
  /** Tells all replicas that a key has ended; other changes are not published. */
  publishKeyChange(changed: ChangedKey): Promise<void>;
  /** Undefined without Redis. */
  limiterState(): LimiterState | undefined;
  close(): Promise<void>;
}

export interface SharedStateOptions {
  config: Config;
  spentSince: LimiterOptions['spentSince'];
  log: Log;
  /** Timeout of a Redis command, if not the default. */
  answerMs?: number;
}

/** Timeout of Redis for the relay of streams. */
const relayAnswerMs = 2_000;

export async function openSharedState({
  config,
  spentSince,
  log,
  ...timeouts
}: SharedStateOptions): Promise<SharedState> {
  const { redisUrl, redisPrefix: prefix, redisFallback, replicas, badKeysPerMinute: perMinute } = config;
  if (redisUrl === '') {
    return {
      limiter: createLimiter({ spentSince }),
      addresses: createFailedAttempts({ perMinute }),
      singleFlight: createSingleFlight(),
      relay: undefined,
      publishKeyChange: async () => {},
      limiterState: () => undefined,
      close: async () => {},
    };
  }
  const [redis, relayRedis] = await bothOrNone([
    openConfigured(config, {
      ...timeouts,
      onAway: (cause) =>
        log.warn('Redis is unavailable: limits are enforced without it', { fallback: redisFallback, cause }),
      onBack: () => log.info('Redis is available again'),
    }),
    // Audio is large: on a connection of its own, it does not delay the commands of the limiter.
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
      busier: redis,
      prefix,
      onFault: (fault) => log.error('a stream could not be relayed to another replica', { cause: fault }),
    }),
    publishKeyChange: async (changed) => (changed.isEnded ? limiter.markEnded(changed) : undefined),
    limiterState: () => limiter.state,
    async close() {
      await limiter.close();
      redis.close();
      relayRedis.close();
    },
  };
}

/** If one fails to open, the other is closed, however late it opens. */
async function bothOrNone<T extends { close(): void }>(opening: readonly [Promise<T>, Promise<T>]): Promise<[T, T]> {
  const [one, other] = await Promise.allSettled(opening);
  if (one.status === 'fulfilled' && other.status === 'fulfilled') return [one.value, other.value];
  for (const each of [one, other]) if (each.status === 'fulfilled') each.value.close();
  throw one.status === 'rejected' ? one.reason : (other as PromiseRejectedResult).reason;
}

/** The same without the rest of the shared state, for the command line. */
export async function publishKeyChange(config: Config, changed: ChangedKey): Promise<void> {
  if (!changed.isEnded || config.redisUrl === '') return;
  const redis = await openConfigured(config, {});
  await markEnded({ redis, prefix: config.redisPrefix }, changed);
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
