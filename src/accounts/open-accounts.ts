// Opens the accounts: keys, limits, usage, sign-in and webhooks. Replicas on PostgreSQL share limits and failed attempts
// through `sharedRows`; with SQLite, they are local to this process.
import { isLoopbackUrl } from '../platform/net/client-addresses.ts';
import { createOutboundTargets } from '../platform/net/outbound-targets.ts';
import type { RowStore } from '../platform/store/row-store.ts';
import { readSecretFile } from '../platform/store/secret-file.ts';
import type { storeSettings } from '../platform/store/settings.ts';
import { createSharedLimitRows } from '../platform/store/shared-limits.ts';
import type { Tools } from '../platform/telemetry/tools.ts';
import { createAdmit } from './keys/admit.ts';
import { createPepper, type Pepper } from './keys/api-key.ts';
import { createApiKeyRows } from './keys/api-key-rows.ts';
import { acceptBootstrapKey, makeFirstKey } from './keys/first-key.ts';
import { createKeyManagement } from './keys/key-management.ts';
import { createKeyVerifier } from './keys/key-verifier.ts';
import { createFailedAttempts } from './limits/failed-attempts.ts';
import { createLimiter, type LimiterOptions } from './limits/limiter.ts';
import { openSharedLimiter } from './limits/shared-limiter.ts';
import { createUsageLedger, createUsageRows, dayOf } from './limits/usage-ledger.ts';
import type { accountSettings } from './settings.ts';
import { createIssuer, type IssuerOptions, readIssuerKeys } from './sign-in/oidc-issuer.ts';
import { createSeal, type Seal } from './sign-in/sealed-tokens.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { webhookUrlCharsMax } from './webhooks/webhook.ts';
import { createWebhookRows, type WebhookOutcome, webhookOutcomes } from './webhooks/webhook-rows.ts';
import { createWebhookSecrets } from './webhooks/webhook-secrets.ts';
import { openWebhooks } from './webhooks/webhook-sender.ts';

type AccountTools = Tools<typeof accountSettings & typeof storeSettings>;
type Values = AccountTools['settings'];

export type Accounts = Awaited<ReturnType<typeof openAccounts>>;

interface AccountStores {
  store: RowStore;
  sharedRows: RowStore | undefined;
  /** Frees space for pending usage rows. */
  makeRoom(): Promise<unknown>;
}

export async function openAccounts(tools: AccountTools, { store, sharedRows, makeRoom }: AccountStores) {
  const { settings, log, metrics, onFault, opened } = tools;
  const rows = createApiKeyRows(store);
  const pepper = pepperOf(settings);
  if (settings.bootstrapKey !== '') {
    const { revoked, isInForce } = await acceptBootstrapKey({ rows, pepper, key: settings.bootstrapKey });
    for (const keyId of revoked) log.info('former bootstrap key revoked', { keyId });
    if (!isInForce) log.warn('SONANT_BOOTSTRAP_KEY is a revoked key; set a new one');
  }
  const firstKey = await makeFirstKey({ rows, pepper, ...settings });
  const usage = createUsageRows(store);
  const ledger = createUsageLedger(usage, { metrics, onFault });
  opened.defer(async () => {
    if (ledger.pendingRows > 0) await makeRoom().catch(onFault);
    await ledger.close();
  });
  const keyVerifier = createKeyVerifier({ rows, pepper });
  opened.defer(() => keyVerifier.close());
  const spentSince = (ownerId: string, sinceMs: number) => usage.charactersSince(ownerId, dayOf(sinceMs));
  const limits = openLimits({ settings, store, sharedRows, spentSince });
  opened.defer(limits.close);
  const { limiter, addresses } = limits;
  const keys = createKeyManagement({ rows, pepper, onChange: keyVerifier.forget });
  const seal = await openSeal(settings);
  const issuer = issuerOptionsOf(settings);
  const { oidcSubjects: subjects, oidcDomains: domains, oidcGroups: groups, oauthKeyScopes: keyScopes } = settings;
  const signInRules = { subjects, domains, groups };
  const clients = settings.oauthClients;
  const signIn = createSignIn({ seal, issuer: issuer && createIssuer(issuer), signInRules, clients, keyScopes });
  const admit = createAdmit({ keyVerifier, signIn, limits: { limiter, addresses } });
  const { webhooks, webhookSecrets } = openServiceWebhooks(tools, store, seal);
  const hasStore = async () => (await rows.isEmpty()) || true;
  const ofKeys = { keys, keyVerifier, firstKey, hasStore };
  return { ...ofKeys, usage, ledger, limiter, addresses, seal, signIn, admit, webhooks, webhookSecrets };
}

/** Opens the accounts for commands, which need no service. */
export async function openKeys(settings: Values, store: RowStore) {
  const webhookSecrets = createWebhookSecrets({ rows: createWebhookRows(store), seal: await openSeal(settings) });
  return {
    management: createKeyManagement({ rows: createApiKeyRows(store), pepper: pepperOf(settings) }),
    webhookSecrets,
  };
}

const openSeal = async ({ secret, dataDir }: Values): Promise<Seal> =>
  createSeal(secret || (await readSecretFile(dataDir)));

/** The pepper for the hashes of keys. */
const pepperOf = ({ keyPepper }: Values): Pepper | undefined =>
  keyPepper === '' ? undefined : createPepper(keyPepper);

/** Returns the URL of the issuer, or undefined if none is configured. Rejects if it does not answer, or not validly. */
export async function checkIssuer(settings: Values): Promise<string | undefined> {
  const options = issuerOptionsOf(settings);
  if (options) await readIssuerKeys(options);
  return options?.issuer;
}

function issuerOptionsOf(settings: Values): IssuerOptions | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcInsecure } = settings;
  const isInsecure = oidcInsecure || (issuer.startsWith('http:') && isLoopbackUrl(issuer));
  const audience = settings.oidcAudience || clientId;
  return issuer === '' ? undefined : { issuer, clientId, clientSecret, audience, isInsecure };
}

interface LimitsOptions extends Omit<AccountStores, 'makeRoom'>, Pick<LimiterOptions, 'spentSince'> {
  settings: Pick<Values, 'badKeysPerMinute'>;
}

/** Opens the limits of keys and of addresses without a valid key. */
export function openLimits({ settings, store, sharedRows, spentSince }: LimitsOptions) {
  const { badKeysPerMinute: perMinute } = settings;
  if (!sharedRows) {
    const addresses = createFailedAttempts({ perMinute });
    return { limiter: createLimiter({ spentSince }), addresses, close: async () => {} };
  }
  const limiter = openSharedLimiter({ rows: createSharedLimitRows(sharedRows), spentSince });
  const stop = store.listen('limits', limiter.restate);
  return {
    limiter,
    addresses: createFailedAttempts({ perMinute, share: limiter.takeAttempt }),
    async close() {
      stop();
      await limiter.close();
    },
  };
}

function openServiceWebhooks({ settings, log, opened, metrics, onFault }: AccountTools, store: RowStore, seal: Seal) {
  const countEnded = metrics.counter('sonant_webhooks_total', 'Ended webhook messages, by outcome.');
  const count = (outcome: WebhookOutcome, by: number) => countEnded({ outcome: outcome.replace(' ', '_') }, by);
  for (const outcome of webhookOutcomes) count(outcome, 0);
  const rows = createWebhookRows(store);
  const secrets = createWebhookSecrets({ rows, seal });
  const targets = createOutboundTargets({
    allow: settings.webhookAllow,
    allowedIn: 'listed in SONANT_WEBHOOK_ALLOW',
    urlCharsMax: webhookUrlCharsMax,
  });
  const webhooks = openWebhooks({
    rows,
    secrets,
    targets,
    onFault,
    // The URL is not logged, because it may contain a secret of the receiver.
    onEnd(ended) {
      count(ended.outcome, 1);
      log[ended.outcome === 'delivered' ? 'debug' : 'warn']('webhook ended', { ...ended });
    },
  });
  opened.defer(webhooks.close);
  return { webhooks, webhookSecrets: secrets };
}
