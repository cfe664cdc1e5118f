// What someone may do with keys: which keys are theirs to see and to change, and the most that a key of their making may
// hold. A key grants itself, no more; the command line of the machine grants everything.
import { Failure, type FieldViolation } from '../errors.ts';
import { faultsOfLimits, type KeyLimits, type LimitFields } from '../limits/key-limits.ts';
import type { KeyRange } from '../store/api-key-rows.ts';
import { isBlockWithin } from './address-list.ts';
import type { Scope } from './scopes.ts';

export interface KeyGrant {
  range: KeyRange;
  scopes: readonly Scope[];
  /** Undefined: all of them, from anywhere, as much as can be, for ever. */
  voiceIds?: readonly string[] | undefined;
  allowedIps?: readonly string[] | undefined;
  limits?: KeyLimits | undefined;
  expiresAtMs?: number | undefined;
}

/** What is asked of a key's reach. */
export interface KeyReach {
  scopes: readonly string[];
  voiceIds: readonly string[] | null;
  allowedIps: readonly string[] | null;
  limits: LimitFields;
  expiresAtMs: number | null;
}

/** Refuses what exceeds the grant: a scope as `insufficient_scope`, the rest as what it is, a field that is wrong. */
export function checkWithin(grant: KeyGrant, asked: KeyReach): void {
  const missing = asked.scopes.filter((scope) => !grant.scopes.some((held) => held === scope));
  if (missing.length > 0) {
    const message = `A key cannot give what it does not have: ${missing.join(', ')}.`;
    throw new Failure('insufficient_scope', { message, requiredScopes: missing });
  }
  const details: FieldViolation[] = [];
  const exceeds = (field: string, what: string) =>
    details.push({ field, reason: 'range', message: `must be within ${what} of the key that makes it` });
  const { voiceIds, allowedIps, limits, expiresAtMs } = grant;
  if (voiceIds && !asked.voiceIds?.every((id) => voiceIds.includes(id))) exceeds('voice_ids', 'the voices');
  if (allowedIps && !asked.allowedIps?.every((block) => isBlockWithin(block, allowedIps)))
    exceeds('allowed_ips', 'the addresses');
  if (expiresAtMs !== undefined && (asked.expiresAtMs ?? Infinity) > expiresAtMs)
    exceeds('expires_in_days', 'the life');
  details.push(...faultsOfLimits(asked.limits, limits));
  if (details.length > 0) throw new Failure('invalid_request', { details });
}
