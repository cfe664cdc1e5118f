// A grant: which keys its holder may see and change, and the most that a key made by the holder may be allowed. A key
// grants no more than it has itself; the command line grants everything.
import { Failure, type FieldViolation } from '../errors.ts';
import { faultsOfLimits, type KeyLimits, type LimitFields } from '../limits/key-limits.ts';
import type { KeyRange } from '../store/api-key-rows.ts';
import { isBlockWithin } from './address-list.ts';
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

/** What a new or changed key is to be allowed. */
export interface KeyPermissions {
  scopes: readonly string[];
  voiceIds: readonly string[] | null;
  allowedIps: readonly string[] | null;
  limits: LimitFields;
  expiresAtMs: number | null;
}

/** Rejects what exceeds the grant: scopes with `insufficient_scope`, other fields with `invalid_request`. */
export function checkWithin(grant: KeyGrant, requested: KeyPermissions): void {
  const missing = requested.scopes.filter((scope) => !grant.scopes.some((held) => held === scope));
  if (missing.length > 0) {
    const message = `A key cannot give what it does not have: ${missing.join(', ')}.`;
    throw new Failure('insufficient_scope', { message, requiredScopes: missing });
  }
  const details: FieldViolation[] = [];
  const exceeds = (field: string, what: string) =>
    details.push({ field, reason: 'range', message: `must be within ${what} of the key that makes it` });
  const { voiceIds, allowedIps, limits, expiresAtMs } = grant;
  if (voiceIds && !requested.voiceIds?.every((id) => voiceIds.includes(id))) exceeds('voice_ids', 'the voices');
  if (allowedIps && !requested.allowedIps?.every((block) => isBlockWithin(block, allowedIps)))
    exceeds('allowed_ips', 'the addresses');
  if (expiresAtMs !== undefined && (requested.expiresAtMs ?? Infinity) > expiresAtMs)
    exceeds('expires_in_days', 'the life');
  details.push(...faultsOfLimits(requested.limits, limits));
  if (details.length > 0) throw new Failure('invalid_request', { details });
}
