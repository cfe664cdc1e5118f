// Opens what admission needs: keys, limits and sign-in; and the runner that every call passes.
import { createAdmit } from '../access/admit.ts';
import { acceptBootstrapKey, makeFirstKey } from '../access/first-key.ts';
import { type ChangedKey, createKeyManagement } from '../access/key-management.ts';
import { createKeyVerifier } from '../access/key-verifier.ts';
import { createSignIn } from '../access/sign-in.ts';
import { dayOf } from '../access/usage-period.ts';
import { createRunner, type Runner } from '../api/runner.ts';
import { createApiKeyRows } from '../store/api-key-rows.ts';
import type { RowStore } from '../store/row-store.ts';
import { createUsageRows } from '../store/usage-rows.ts';
import { openCallLog } from './log-calls.ts';
import type { Opening } from './opening.ts';
import { pepperOf } from './shared-secrets.ts';
import { openSharedState } from './shared-state.ts';
import { signInOptionsOf } from './sign-in-options.ts';

export async function openAccess({ config, log, opened, metrics }: Opening, store: RowStore) {
  const rows = createApiKeyRows(store);
  const pepper = pepperOf(config);
  if (config.bootstrapKey !== '') {
    const { revoked, isInForce } = await acceptBootstrapKey({ rows, pepper, key: config.bootstrapKey });
    for (const keyId of revoked) log.info('the former bootstrap key was replaced, and is revoked', { keyId });
    if (!isInForce) log.warn('the key in SONANT_BOOTSTRAP_KEY is revoked, and stays so; set another');
  }
  const firstKey = await makeFirstKey({ rows, pepper, dataDir: config.dataDir });
  const keyVerifier = createKeyVerifier({ rows, pepper });
  opened.defer(() => keyVerifier.close());
  const usage = createUsageRows(store);
  const spentSince = (ownerId: string, sinceMs: number) => usage.charactersSince(ownerId, dayOf(sinceMs));
  const sharing = await openSharedState({ config, spentSince, log });
  opened.defer(() => sharing.close());
  if (sharing.limiterState()) metrics.watchRedis(() => sharing.limiterState()!);
  const onChange = (changed: ChangedKey) => {
    keyVerifier.forget();
    return sharing.publishKeyChange(changed);
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
