// Restricts a key to its account: the key that created it, or the person or machine that signed in. A key has only
// permissions that its account has, and ends with it. If the key of the account was rotated, its newest key counts.
// People and machines that sign in have the default limits.
import { commonBlocks } from '../../platform/net/client-addresses.ts';
import type { LimitedAccount } from '../limits/limiter.ts';
import { type ApiKey, toApiKey } from './api-key-record.ts';
import type { ApiKeyRow, ApiKeyRows } from './api-key-rows.ts';
import { type KeyLimits, limitNames, usualLimits } from './key-limits.ts';

/** Effective permissions of a key. */
type Rights = Pick<ApiKey, 'scopes' | 'voiceIds' | 'allowedIps' | 'limits' | 'expiresAtMs'>;

interface Restricted {
  rights: Rights;
  /** Owners whose limits also apply to the key. The account is the last. */
  above: readonly LimitedAccount[];
}

/** Whether the id belongs to a signed-in person or machine instead of a key. */
const isSignedIn = (id: string) => /^(usr|cli)_/.test(id);

/** Returns undefined if the account is revoked, or a key of `limitedBy`. */
export async function restrictToAccount(
  rows: Pick<ApiKeyRows, 'findNewest'>,
  row: ApiKeyRow,
  nowMs: number,
): Promise<Restricted | undefined> {
  let rights = rightsOf(row, nowMs);
  const above: LimitedAccount[] = [];
  for (const id of `${row.path}${row.limitedBy}`.split('/').slice(0, -1).reverse()) {
    if (isSignedIn(id)) {
      above.push({ callerId: id, limits: usualLimits });
      continue;
    }
    const newest = await rows.findNewest(id);
    if (!newest || newest.revokedAtMs !== null) return undefined;
    const own = rightsOf(newest, nowMs);
    above.push({ callerId: newest.ownerId, limits: own.limits });
    rights = commonRights(rights, own);
  }
  return { rights: { ...rights, limits: commonLimits(rights.limits, ...above.map(({ limits }) => limits)) }, above };
}

function rightsOf(row: ApiKeyRow, nowMs: number): Rights {
  const { scopes, voiceIds, allowedIps, limits, expiresAtMs } = toApiKey(row, nowMs);
  return { scopes, voiceIds, allowedIps, limits, expiresAtMs };
}

const commonRights = (one: Rights, other: Rights): Rights => ({
  scopes: one.scopes.filter((scope) => other.scopes.includes(scope)),
  voiceIds: commonItems(one.voiceIds, other.voiceIds),
  allowedIps: commonBlocks(one.allowedIps, other.allowedIps),
  limits: one.limits,
  expiresAtMs: leastOf(one.expiresAtMs, other.expiresAtMs),
});

const commonItems = (one: readonly string[] | undefined, other: readonly string[] | undefined) =>
  one && other ? one.filter((item) => other.includes(item)) : (one ?? other);

const leastOf = (...numbers: (number | undefined)[]): number | undefined => {
  const least = Math.min(...numbers.map((number) => number ?? Infinity));
  return least === Infinity ? undefined : least;
};

const commonLimits = (...all: readonly KeyLimits[]): KeyLimits =>
  Object.fromEntries(
    limitNames.map((name) => [name, leastOf(...all.map((limits) => limits[name]))]),
  ) as unknown as KeyLimits;
