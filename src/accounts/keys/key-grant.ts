// A grant defines the keys that its holder may see and change, and the maximum permissions of keys that the holder
// creates. A key can grant at most its own permissions; the command line can grant all permissions.
import { Violations } from '../../contract.ts';
import { Failure } from '../../platform/errors.ts';
import { isAddressBlock, isBlockWithin } from '../../platform/net/client-addresses.ts';
import type { KeyRange } from './api-key-rows.ts';
import { checkLimits, type KeyLimits, type LimitFields } from './key-limits.ts';

// The scopes of keys. Their names are part of the API.

export const scopes = [
  'speech:synthesize',
  'speech:stream',
  'voices:read',
  'voices:write',
  'jobs:read',
  'jobs:write',
  'keys:read',
  'keys:write',
  'usage:read',
  'admin',
] as const;

export type Scope = (typeof scopes)[number];

/** The scopes of a new key if none are given. */
export const defaultScopes: readonly Scope[] = ['speech:synthesize', 'speech:stream', 'voices:read'];

/** The first key belongs to the operator, so it has all scopes. */
export const firstKeyScopes: readonly Scope[] = scopes;

export const isScope = (name: string): name is Scope => scopes.some((scope) => scope === name);

export interface KeyGrant {
  range: KeyRange;
  scopes: readonly Scope[];
  /** Undefined: no restriction. This also applies to the fields below. */
  voiceIds?: readonly string[] | undefined;
  allowedIps?: readonly string[] | undefined;
  limits?: KeyLimits | undefined;
  expiresAtMs?: number | undefined;
}

/** Requested permissions of a new or changed key. Omitted permissions stay unchanged. */
export interface KeyPermissions {
  scopes?: readonly string[] | undefined;
  voiceIds?: readonly string[] | null | undefined;
  allowedIps?: readonly string[] | null | undefined;
  limits?: LimitFields | undefined;
  expiresAtMs?: number | null | undefined;
}

/**
 * Reports permissions that exceed the grant, in addition to earlier violations. Throws `insufficient_scope` if scopes
 * that the grant lacks are the only violation.
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

/** Like `checkWithin`, but throws all violations. */
export function requireWithin(grant: KeyGrant, requested: KeyPermissions): void {
  const violations = new Violations();
  checkWithin(grant, requested, violations);
  violations.throwIfAny();
}

/** An unknown scope counts as a scope that the grant lacks. */
function checkScopes({ scopes: granted }: KeyGrant, scopes: readonly string[], violations: Violations): void {
  const isMissing = (scope: string) => !granted.some((each) => each === scope);
  const missing = scopes.filter(isMissing);
  if (missing.length === 0) return;
  const message = `A key cannot grant scopes that it lacks: ${missing.join(', ')}.`;
  if (violations.details.length === 0) throw new Failure('insufficient_scope', { message, requiredScopes: missing });
  // The list itself gets no violation if one of its items already has a violation.
  const hasFaultyItem = violations.has('scopes');
  for (const [i, scope] of scopes.entries())
    if (isMissing(scope)) violations.report(hasFaultyItem ? `scopes[${i}]` : 'scopes', 'scope', message);
}

/** Ignores malformed blocks, which are reported separately. */
const areWithin = (blocks: readonly string[] | null, outer: readonly string[]) =>
  blocks?.every((block) => !isAddressBlock(block) || isBlockWithin(block, outer)) ?? false;
