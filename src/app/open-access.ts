// Opens the parts of admission: keys, sign-in, and the state that replicas share through Redis or Valkey (key
// limits, failed attempts by address, revoked keys, speech in progress). Without Redis, that state is local to this
// process.
import { createAdmit } from '../access/admit.ts';
import { createFailedAttempts, type FailedAttempts } from '../access/failed-attempts.ts';
import { createFallbackLimiter } from '../access/fallback-limiter.ts';
import { acceptBootstrapKey, makeFirstKey } from '../access/first-key.ts';
import { createKeyManagement, type EndedKeys } from '../access/key-management.ts';
import { createKeyVerifier } from '../access/key-verifier.ts';
import { createLimiter, type Limiter, type LimiterOptions } from '../access/limiter.ts';
import { type LimiterState, openRedisLimiter } from '../access/redis-limiter.ts';
import { createSignIn } from '../access/sign-in.ts';
import { dayOf } from '../access/usage-ledger.ts';
import { createRunner, type Runner } from '../api/runner.ts';
import { createSingleFlight, type SingleFlight } from '../delivery/single-flight.ts';
import { createApiKeyRows } from '../store/api-key-rows.ts';
import { openRedis, type RedisOptions } from '../store/redis.ts';
import { createRedisLock } from '../store/redis-lock.ts';
import type { RowStore } from '../store/row-store.ts';
import { createUsageRows } from '../store/usage-rows.ts';
import type { Log } from '../telemetry/log.ts';
import { asConfigError, type Config } from './config.ts';
import { openCallLog } from './logging.ts';
import type { Opening } from './opening.ts';
import { pepperOf, signInOptionsOf } from './secrets.ts';

export async function openAccess({ config, log, opened, metrics }: Opening, store: RowStore) {
  const rows = createApiKeyRows(store);
  const pepper = pepperOf(config);
  if (config.bootstrapKey !== '') {
    const { revoked, isInForce } = await acceptBootstrapKey({ rows, pepper, key: config.bootstrapKey });
    for (const keyId of revoked) log.info('former bootstrap key revoked', { keyId });
    if (!isInForce) log.warn('SONANT_BOOTSTRAP_KEY is a revoked key; set a new one');
  }
  const firstKey = await makeFirstKey({ rows, pepper, dataDir: config.dataDir, firstKeyFile: config.firstKeyFile });
  const keyVerifier = createKeyVerifier({ rows, pepper });
  opened.defer(() => keyVerifier.close());
  const usage = createUsageRows(store);
  const spentSince = (ownerId: string, sinceMs: number) => usage.charactersSince(ownerId, dayOf(sinceMs));
  const sharing = await openSharedState({ config, spentSince, log });
  opened.defer(() => sharing.close());
  if (sharing.limiterState()) metrics.watchRedis(() => sharing.limiterState()!);
  const onChange = (ended: EndedKeys) => {
    keyVerifier.forget();
    return sharing.publishEndedKeys(ended);
  };
  const keys = createKeyManagement({ rows, pepper, onChange });
  const signing = await signInOptionsOf(config);
  const signIn = createSignIn(signing);
  const { limiter, addresses } = sharing;
  const admit = createAdmit({ keyVerifier, signIn, limits: { limiter, addresses } });
  return { rows, firstKey, keyVerifier, sharing, keys, signing, signIn, admit };
}

export type Access = Awaited<ReturnType<typeof openAccess>>;

export function openRunner({ log, metrics, tracing, opened }: Opening, { admit, keyVerifier }: Access): Runner {
  const callLog = openCallLog(log);
  opened.defer(() => callLog.close());
  return createRunner({
    admit,
    isInForce: keyVerifier.isInForce,
    tracing,
    onCallEnd(ended) {
      metrics.onCallEnd(ended);
      callLog.write(ended);
    },
  });
}

export interface SharedState {
  limiter: Limiter;
  addresses: FailedAttempts;
  singleFlight: SingleFlight;
  /** Notifies all replicas when a key becomes invalid. Other key changes are not published. */
  publishEndedKeys(ended: EndedKeys): Promise<void>;
  /** Returns the state of the limiter; undefined without Redis. */
  limiterState(): LimiterState | undefined;
  close(): Promise<void>;
}

interface SharedStateOptions {
  config: Config;
  spentSince: LimiterOptions['spentSince'];
  log: Log;
  /** Timeout of a Redis command, if it differs from the default. */
  answerMs?: number;
}

export async function openSharedState({
  config,
  spentSince,
  log,
  ...timeouts
}: SharedStateOptions): Promise<SharedState> {
  const { redisUrl: url, redisPrefix: prefix, redisFallback, replicas, badKeysPerMinute: perMinute } = config;
  if (url === '') {
    return {
      limiter: createLimiter({ spentSince }),
      addresses: createFailedAttempts({ perMinute }),
      singleFlight: createSingleFlight(),
      publishEndedKeys: async () => {},
      limiterState: () => undefined,
      close: async () => {},
    };
  }
  const options: RedisOptions = {
    url,
    prefix,
    ...timeouts,
    onAway: (cause) =>
      log.warn('Redis unavailable; limits are enforced without it', { fallback: redisFallback, cause }),
    onBack: () => log.info('Redis available again'),
  };
  const redis = await asConfigError(config, 'SONANT_REDIS_URL', () => openRedis(options));
  const fallback = createFallbackLimiter({ fallback: redisFallback, replicas, spentSince });
  const limiter = openRedisLimiter({ redis, prefix, fallback, spentSince });
  return {
    limiter,
    addresses: createFailedAttempts({ perMinute, share: limiter.takeAttempt }),
    singleFlight: createSingleFlight(createRedisLock({ redis, prefix })),
    publishEndedKeys: limiter.markEnded,
    limiterState: () => limiter.state,
    async close() {
      await limiter.close();
      redis.close();
    },
  };
}
