// Who calls: keys, limits, usage, sign-in, and calls to receivers.

// Keys and callers

export { type Admit, checkScopes, type Presented } from './accounts/keys/admit.ts';
export type { ApiKey, KeyFields } from './accounts/keys/api-key-record.ts';
export type { Caller, KeyCaller, VoiceUser } from './accounts/keys/caller.ts';
export { type Actor, operator, toActor, toAuditRow, toRecordEntry } from './accounts/keys/caller.ts';
export type { FirstKey } from './accounts/keys/first-key.ts';
export { defaultScopes, type Scope, scopes } from './accounts/keys/key-grant.ts';
export { usualLimits } from './accounts/keys/key-limits.ts';
export {
  graceSecondsUsual,
  type KeyManagement,
} from './accounts/keys/key-management.ts';
export { type Accounts, checkIssuer, openAccounts, openKeys } from './accounts/open-accounts.ts';

// Limits and usage

export type { FailedAttempts } from './accounts/limits/failed-attempts.ts';
export { chainOf, type Limited, type Limiter, type Synthesis, type TakeOptions } from './accounts/limits/limiter.ts';
export {
  checkFitsQuota,
  type LimitStatus,
  tooManyCharacters,
  toRateLimitHeaders,
} from './accounts/limits/rate-limit.ts';
export {
  addUsage,
  createUsageRows,
  dayOf,
  isDay,
  type UsageGroup,
  type UsageLedger,
  type UsageRow,
  type UsageRows,
  type UsageSum,
  usageGroups,
} from './accounts/limits/usage-ledger.ts';

// Sign-in and sealed tokens

export type { Seal, SealUse } from './accounts/sign-in/sealed-tokens.ts';
export { type SignIn, tokenSeconds } from './accounts/sign-in/sign-in.ts';
export { tokenScopes } from './accounts/sign-in/sign-in-rules.ts';

// Webhooks

export { secretGraceSecondsUsual, type Webhooks } from './accounts/webhooks/webhook.ts';
export type { WebhookSecret, WebhookSecrets } from './accounts/webhooks/webhook-secrets.ts';
