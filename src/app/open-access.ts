// Opens the parts of admission: keys, sign-in, and the state that replicas share through PostgreSQL (key limits, failed
// attempts by address, speech in progress). With SQLite, that state is local to this process.
import {
  acceptBootstrapKey,
  type accountSettings,
  createAdmit,
  createApiKeyRows,
  createFailedAttempts,
  createKeyManagement,
  createKeyVerifier,
  createLimiter,
  createSignIn,
  createUsageRows,
  dayOf,
  type FailedAttempts,
  type Limiter,
  type LimiterOptions,
  makeFirstKey,
  openSharedLimiter,
} from '../accounts.ts';
import { createRunner, type Runner } from '../api.ts';
import { createSingleFlight, type SingleFlight } from '../clips.ts';
import { createFlightLock } from '../platform/store/flight-lock.ts';
import { openSharedRows } from '../platform/store/open-store.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import type { storeSettings } from '../platform/store/settings.ts';
import { createSharedLimitRows } from '../platform/store/shared-limits.ts';
import type { Tools } from '../platform/telemetry/tools.ts';
import { openCallLog } from './logging.ts';
import { pepperOf, signInOptionsOf } from './secrets.ts';

type AccessTools = Tools<typeof accountSettings & typeof storeSettings>;

export async function openAccess({ settings, log, opened }: AccessTools, store: RowStore) {
  const rows = createApiKeyRows(store);
  const pepper = pepperOf(settings);
  if (settings.bootstrapKey !== '') {
    const { revoked, isInForce } = await acceptBootstrapKey({ rows, pepper, key: settings.bootstrapKey });
    for (const keyId of revoked) log.info('former bootstrap key revoked', { keyId });
    if (!isInForce) log.warn('SONANT_BOOTSTRAP_KEY is a revoked key; set a new one');
  }
  const firstKey = await makeFirstKey({ rows, pepper, ...settings });
  const keyVerifier = createKeyVerifier({ rows, pepper });
  opened.defer(() => keyVerifier.close());
  const usage = createUsageRows(store);
  const spentSince = (ownerId: string, sinceMs: number) => usage.charactersSince(ownerId, dayOf(sinceMs));
  const sharing = await openSharedState({ settings, spentSince, listen: (...asked) => store.listen(...asked) });
  opened.defer(() => sharing.close());
  const keys = createKeyManagement({ rows, pepper, onChange: keyVerifier.forget });
  const signing = await signInOptionsOf(settings);
  const signIn = createSignIn(signing);
  const { limiter, addresses } = sharing;
  const admit = createAdmit({ keyVerifier, signIn, limits: { limiter, addresses } });
  return { rows, firstKey, keyVerifier, sharing, keys, signing, signIn, admit };
}

export type Access = Awaited<ReturnType<typeof openAccess>>;

export function openRunner({ log, metrics, tracing, opened }: AccessTools, { admit, keyVerifier }: Access): Runner {
  const callLog = openCallLog(log);
  opened.defer(() => callLog.close());
  return createRunner({
    admit,
    isInForce: keyVerifier.isInForce,
    metrics,
    tracing,
    onCallEnd: callLog.write,
  });
}

export interface SharedState {
  limiter: Limiter;
  addresses: FailedAttempts;
  singleFlight: SingleFlight;
  close(): Promise<void>;
}

interface SharedStateOptions {
  settings: AccessTools['settings'];
  spentSince: LimiterOptions['spentSince'];
  listen: RowStore['listen'];
}

export async function openSharedState({ settings, spentSince, listen }: SharedStateOptions): Promise<SharedState> {
  const { badKeysPerMinute: perMinute } = settings;
  const rows = await openSharedRows(settings);
  if (!rows) {
    return {
      limiter: createLimiter({ spentSince }),
      addresses: createFailedAttempts({ perMinute }),
      singleFlight: createSingleFlight(),
      close: async () => {},
    };
  }
  const limiter = openSharedLimiter({ rows: createSharedLimitRows(rows), spentSince });
  const stop = listen('limits', limiter.restate);
  return {
    limiter,
    addresses: createFailedAttempts({ perMinute, share: limiter.takeAttempt }),
    singleFlight: createSingleFlight(createFlightLock({ rows, listen })),
    async close() {
      stop();
      await limiter.close();
      await rows.close();
    },
  };
}
