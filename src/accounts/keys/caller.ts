// Callers of operations and actors of changes, and what they may do: scopes, limits, and the grant. A grant defines the
// keys that its holder may see and change, and the maximum permissions of keys that the holder creates. A key can grant
// at most its own permissions; the command line can grant all permissions. Every change is recorded with its actor.
import { Violations } from '../../contract.ts';
import { Failure } from '../../platform/errors.ts';
import { isAddressBlock, isBlockWithin } from '../../platform/net/client-addresses.ts';
import { createId } from '../../platform/runtime/id.ts';
import type { AuditRow, KeyRange } from './api-key-rows.ts';

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

/** Limits that are not set have default values. */
export interface KeyLimits {
  requestsPerMinute: number;
  /** Concurrent syntheses. */
  concurrency: number;
  /** Undefined: unlimited. */
  charactersPerMonth: number | undefined;
}

interface KeyDefaults {
  scopes: readonly Scope[];
  limits: KeyLimits;
  /** Time for which a replaced key, or webhook secret, stays valid. */
  graceSeconds: number;
}

export const keyDefaults: KeyDefaults = {
  scopes: ['speech:synthesize', 'speech:stream', 'voices:read'],
  limits: { requestsPerMinute: 600, concurrency: 20, charactersPerMonth: undefined },
  graceSeconds: 24 * 3600,
};

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

/** The limits of a key, or of a person or machine that creates keys. */
export interface LimitedAccount {
  /** Id of the owner, which does not change when a key is replaced. */
  callerId: string;
  limits: KeyLimits;
}

/** The permissions that determine which voices a caller may use. */
export interface VoiceUser {
  /** Ids of the only usable voices; undefined if voices are not restricted by id. */
  voiceIds?: readonly string[] | undefined;
  /** Account whose private voices are usable; undefined if there is none. */
  accountId?: string | undefined;
  /** Whether the private voices of all accounts are usable. */
  usesAllVoices?: boolean | undefined;
}

/** The admitted caller, which determines the place in the queue, the account to charge and the usable voices. */
export interface Caller extends VoiceUser {
  callerId: string;
  accountId: string;
  /**
   * Time after which the caller no longer needs the response, on the clock of `performance.now`. Absent if the caller
   * stated no deadline.
   */
  deadlineMs?: number | undefined;
}

/** An admitted caller, with its key and permissions. */
export interface KeyCaller extends Caller {
  keyId: string;
  /** The caller's name as an actor: "key:key_01JD..." or "user:...". */
  actorName: string;
  scopes: readonly Scope[];
  limits: KeyLimits;
  /** Accounts whose limits also apply to the caller. Default: none. */
  above?: readonly LimitedAccount[];
  /** The keys and permissions that the caller may manage if its scopes include key management. */
  grant: KeyGrant;
}

export interface Actor extends VoiceUser {
  /** The name in audit records: "key:key_01JD...", "user:...", "client:..." or "operator". */
  name: string;
  address: string;
  requestId: string;
  /** The account of the actor. The change uses this account's share of the engines. */
  accountId: string;
  grant: KeyGrant;
}

/** The id of the operator, who creates keys with the command line or at the first start. */
export const operatorId = 'operator';

/** The operator at the machine's own command line, who may do everything. */
export const operator: Actor = {
  name: 'operator',
  address: '',
  requestId: '',
  accountId: operatorId,
  grant: { range: { path: '' }, scopes },
  usesAllVoices: true,
};

/** Combines a change and its actor into an audit record. */
export const toRecordEntry = <const Change extends { detail: object }>(
  { detail, ...change }: Change,
  { name, address, requestId }: Actor,
) => ({ ...change, actor: name, address, requestId, detail: JSON.stringify(detail) });

export const toAuditRow = (
  change: Pick<AuditRow, 'action' | 'keyId' | 'atMs'> & { detail: object },
  actor: Actor,
): AuditRow => ({ auditId: createId('adt'), ...toRecordEntry(change, actor) });

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
  checkGrantedScopes(grant, requested.scopes ?? [], violations);
}

/** Like `checkWithin`, but throws all violations. */
export function requireWithin(grant: KeyGrant, requested: KeyPermissions): void {
  const violations = new Violations();
  checkWithin(grant, requested, violations);
  violations.throwIfAny();
}

/** An unknown scope counts as a scope that the grant lacks. */
function checkGrantedScopes({ scopes: granted }: KeyGrant, scopes: readonly string[], violations: Violations): void {
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

/** An omitted or null limit gets its default value. */
export type LimitFields = { [Name in keyof KeyLimits]?: number | null | undefined };

const fieldNames: Readonly<Record<keyof KeyLimits, string>> = {
  requestsPerMinute: 'limits.requests_per_minute',
  concurrency: 'limits.concurrency',
  charactersPerMonth: 'limits.characters_per_month',
};
const limitNames = Object.keys(fieldNames) as (keyof KeyLimits)[];

/** Reports limits that exceed `most`, the limits of the creating key. */
function checkLimits(fields: LimitFields, most: KeyLimits | undefined, violations: Violations): void {
  for (const name of limitNames) {
    const value = fields[name] ?? keyDefaults.limits[name];
    const limit = most?.[name];
    if (fields[name] === undefined || limit === undefined || (value !== undefined && value <= limit)) continue;
    violations.report(fieldNames[name], 'range', `must be at most ${limit}, the limit of the creating key`);
  }
}

/** Replaces omitted and null limits with their defaults. */
export const withDefaultLimits = (fields: LimitFields): KeyLimits => ({
  requestsPerMinute: fields.requestsPerMinute ?? keyDefaults.limits.requestsPerMinute,
  concurrency: fields.concurrency ?? keyDefaults.limits.concurrency,
  charactersPerMonth: fields.charactersPerMonth ?? keyDefaults.limits.charactersPerMonth,
});

/** Returns the smallest of each limit. */
export const leastLimits = (...all: readonly KeyLimits[]): KeyLimits => ({
  requestsPerMinute: Math.min(...all.map((each) => each.requestsPerMinute)),
  concurrency: Math.min(...all.map((each) => each.concurrency)),
  charactersPerMonth: smallestOf(...all.map((each) => each.charactersPerMonth)),
});

/** Returns the smallest number; undefined stands for no limit. */
export function smallestOf(...numbers: (number | undefined)[]): number | undefined {
  const least = Math.min(...numbers.map((number) => number ?? Infinity));
  return least === Infinity ? undefined : least;
}
