// A grant: which keys its holder may see and change, and the most that a key made by the holder may be allowed. A key
// grants no more than it has itself; the command line grants everything.
import { Failure, type FieldViolation } from '../errors.ts';
import { isAddressBlock, isBlockWithin } from '../net/addresses.ts';
import type { KeyRange } from '../store/api-key-rows.ts';
import { faultsOfLimits, type KeyLimits, type LimitFields } from './key-limits.ts';
import { isScope, type Scope } from './scopes.ts';

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
 * Rejects faults, those found before and what exceeds the grant, all at once: as `insufficient_scope` if there are only
 * scopes that the grant lacks, else as `invalid_request`.
 */
export function checkWithin(grant: KeyGrant, requested: KeyPermissions, faults: readonly FieldViolation[] = []): void {
  const details = [...faults];
  const missing = requested.scopes?.filter((scope) => isScope(scope) && !grant.scopes.includes(scope)) ?? [];
  const exceeds = (field: string, what: string) =>
    details.push({ field, reason: 'range', message: `must be within ${what} of the key that makes it` });
  const { voiceIds, allowedIps, limits, expiresAtMs } = grant;
  if (voiceIds && requested.voiceIds !== undefined && !requested.voiceIds?.every((id) => voiceIds.includes(id)))
    exceeds('voice_ids', 'the voices');
  if (allowedIps && requested.allowedIps !== undefined && !areWithin(requested.allowedIps, allowedIps))
    exceeds('allowed_ips', 'the addresses');
  if (
    expiresAtMs !== undefined &&
    requested.expiresAtMs !== undefined &&
    (requested.expiresAtMs ?? Infinity) > expiresAtMs
  )
    exceeds('expires_in_days', 'the life');
  details.push(...faultsOfLimits(requested.limits ?? {}, limits));
  const message = `A key cannot give what it does not have: ${missing.join(', ')}.`;
  if (details.length > 0) {
    if (missing.length > 0) details.push({ field: 'scopes', reason: 'scope', message });
    throw new Failure('invalid_request', { details });
  }
  if (missing.length > 0) throw new Failure('insufficient_scope', { message, requiredScopes: missing });
}

/** Malformed blocks are faults of their own. */
const areWithin = (blocks: readonly string[] | null, outer: readonly string[]) =>
  blocks?.every((block) => !isAddressBlock(block) || isBlockWithin(block, outer)) ?? false;
