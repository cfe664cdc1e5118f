// A grant: which keys its holder may see and change, and the most that a key made by the holder may be allowed. A key
// grants no more than it has itself; the command line grants everything.
import { Violations } from '../contract/violations.ts';
import { Failure } from '../errors.ts';
import { isAddressBlock, isBlockWithin } from '../net/client-addresses.ts';
import type { KeyRange } from '../store/api-key-rows.ts';
import { checkLimits, type KeyLimits, type LimitFields } from './key-limits.ts';
import type { Scope } from './scopes.ts';

export interface KeyGrant {
  range: KeyRange;
  scopes: readonly Scope[];
  /** Undefined: no restriction, here and below. */
  voiceIds?: readonly string[] | undefined;
  allowedIps?: readonly string[] | undefined;
  limits?: KeyLimits | undefined;
  expiresAtMs?: number | undefined;
}

/** What a new or changed key is to be allowed; what is omitted stays as it is. */
export interface KeyPermissions {
  scopes?: readonly string[] | undefined;
  voiceIds?: readonly string[] | null | undefined;
  allowedIps?: readonly string[] | null | undefined;
  limits?: LimitFields | undefined;
  expiresAtMs?: number | null | undefined;
}

/**
 * Reports what exceeds the grant, beside the violations found before. Fails with `insufficient_scope` if there are only
 * scopes that the grant lacks.
 */
export function checkWithin(grant: KeyGrant, requested: KeyPermissions, violations: Violations): void {
  const { voiceIds, allowedIps, limits, expiresAtMs } = grant;
  const exceeds = (field: string, what: string) =>
    violations.report(field, 'range', `must not exceed ${what} of the creating key`);
  for (const [i, block] of requested.allowedIps?.entries() ?? []) {
    if (!isAddressBlock(block))
      violations.report(`allowed_ips[${i}]`, 'format', 'must be an IP address or a CIDR block such as 10.0.0.0/8');
  }
  if (voiceIds && requested.voiceIds !== undefined && !requested.voiceIds?.every((id) => voiceIds.includes(id)))
    exceeds('voice_ids', 'the voices');
  if (allowedIps && requested.allowedIps !== undefined && !areWithin(requested.allowedIps, allowedIps))
    exceeds('allowed_ips', 'the addresses');
  if (
    expiresAtMs !== undefined &&
    requested.expiresAtMs !== undefined &&
    (requested.expiresAtMs ?? Infinity) > expiresAtMs
  )
    exceeds('expires_in_days', 'the lifetime');
  checkLimits(requested.limits ?? {}, limits, violations);
  checkScopes(grant, requested.scopes ?? [], violations);
}

/** The same, and fails with all that it reports. */
export function requireWithin(grant: KeyGrant, requested: KeyPermissions): void {
  const violations = new Violations();
  checkWithin(grant, requested, violations);
  violations.throwIfAny();
}

/** A scope that there is not is one that the grant lacks. */
function checkScopes({ scopes: granted }: KeyGrant, scopes: readonly string[], violations: Violations): void {
  const isMissing = (scope: string) => !granted.some((each) => each === scope);
  const missing = scopes.filter(isMissing);
  if (missing.length === 0) return;
  const message = `A key cannot grant scopes that it lacks: ${missing.join(', ')}.`;
  if (violations.details.length === 0) throw new Failure('insufficient_scope', { message, requiredScopes: missing });
  // The list has no violation of its own where an item has one.
  const hasFaultyItem = violations.has('scopes');
  for (const [i, scope] of scopes.entries())
    if (isMissing(scope)) violations.report(hasFaultyItem ? `scopes[${i}]` : 'scopes', 'scope', message);
}

/** Malformed blocks are violations of their own. */
const areWithin = (blocks: readonly string[] | null, outer: readonly string[]) =>
  blocks?.every((block) => !isAddressBlock(block) || isBlockWithin(block, outer)) ?? false;
