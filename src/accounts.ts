// Who calls: keys, limits, usage, sign-in, and calls to receivers.
export { type Actor, operator, toActor, toAuditRow, toRecordEntry } from './accounts/keys/actor.ts';
export { type Admit, checkScopes, createAdmit, type Presented } from './accounts/keys/admit.ts';
export { createPepper, type Pepper } from './accounts/keys/api-key.ts';
export { type ApiKey, accountOf, type KeyFields } from './accounts/keys/api-key-record.ts';
export { createApiKeyRows } from './accounts/keys/api-key-rows.ts';
export type { Caller, VoiceUser } from './accounts/keys/caller.ts';
export { acceptBootstrapKey, type FirstKey, makeFirstKey } from './accounts/keys/first-key.ts';
export { usualLimits } from './accounts/keys/key-limits.ts';
export {
  createKeyManagement,
  graceSecondsUsual,
  type KeyManagement,
  type MadeKey,
  type RevokedKey,
} from './accounts/keys/key-management.ts';
export { createKeyVerifier, type KeyCaller } from './accounts/keys/key-verifier.ts';
export { defaultScopes, type Scope, scopes } from './accounts/keys/scopes.ts';
export { createFailedAttempts, type FailedAttempts } from './accounts/limits/failed-attempts.ts';
export {
  chainOf,
  createLimiter,
  type Limited,
  type Limiter,
  type LimiterOptions,
  type Synthesis,
  type TakeOptions,
} from './accounts/limits/limiter.ts';
export {
  checkFitsQuota,
  type LimitStatus,
  type Rate,
  takeOne,
  toRateLimitHeaders,
} from './accounts/limits/rate-limit.ts';
export { openSharedLimiter } from './accounts/limits/shared-limiter.ts';
export { createUsageLedger, dayOf, isDay, type UsageLedger } from './accounts/limits/usage-ledger.ts';
export {
  addUsage,
  createUsageRows,
  type UsageGroup,
  type UsageRow,
  type UsageRows,
  type UsageSum,
  usageGroups,
} from './accounts/limits/usage-rows.ts';
export type { accountSettings } from './accounts/settings.ts';
export { checkIssuer, createIssuer, type IssuerOptions } from './accounts/sign-in/oidc-issuer.ts';
export {
  createSeal,
  findDataDirSecret,
  readDataDirSecret,
  type Seal,
  type SealUse,
} from './accounts/sign-in/sealed-tokens.ts';
export {
  createSignIn,
  loginSeconds,
  type SignIn,
  type SignInOptions,
  sessionSeconds,
  tokenSeconds,
} from './accounts/sign-in/sign-in.ts';
export { tokenScopes } from './accounts/sign-in/sign-in-rules.ts';
export { secretGraceSecondsUsual, type Webhooks, webhookUrlCharsMax } from './accounts/webhooks/webhook.ts';
export { createWebhookRows, type WebhookOutcome, webhookOutcomes } from './accounts/webhooks/webhook-rows.ts';
export { createWebhookSecrets, type WebhookSecret, type WebhookSecrets } from './accounts/webhooks/webhook-secrets.ts';
export { openWebhooks } from './accounts/webhooks/webhook-sender.ts';
