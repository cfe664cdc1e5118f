// Who calls: keys, limits, usage, sign-in, and calls to receivers.

// Opening

export { type Accounts, checkIssuer, openAccounts, openKeys } from './accounts/open-accounts.ts';

// Keys and callers

export { checkScopes } from './accounts/keys/admit.ts';
export type { ApiKey, KeyFields } from './accounts/keys/api-key.ts';
export {
  type Actor,
  type Caller,
  type KeyCaller,
  keyDefaults,
  operator,
  toRecordEntry,
  type VoiceUser,
} from './accounts/keys/caller.ts';
export { keyTokens } from './accounts/sign-in/sign-in.ts';

// Limits and usage

export { monthlyQuotaOf } from './accounts/limits/limiter.ts';
export type { LimitStatus } from './accounts/limits/rate-limit.ts';
export { addUsage, createUsageRows, type Usage, usageDays, usageGroups } from './accounts/limits/usage-ledger.ts';
