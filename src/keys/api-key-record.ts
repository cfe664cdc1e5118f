// A key between its three forms: what is asked for, the row that is kept, and the record that its owner may see.
import { timingSafeEqual } from 'node:crypto';
import { Failure } from '../errors.ts';
import { createId } from '../id.ts';
import { type KeyLimits, limitsFor, usualLimits } from '../limits/key-limits.ts';
import type { ApiKeyChange, ApiKeyRow } from '../store/api-key-rows.ts';
import { hashApiKey, hintOf, type ParsedApiKey, type Pepper } from './api-key.ts';
import { checkKeyFields, type KeyFields } from './key-fields.ts';
import { checkWithin, type KeyGrant } from './key-grant.ts';
import { defaultScopes, isScope, type Scope } from './scopes.ts';

/** A key as its owner may see it: all but the key. */
export interface ApiKey {
  keyId: string;
  ownerId: string;
  hint: string;
  name: string;
  scopes: readonly Scope[];
  status: 'active' | 'expired' | 'revoked';
  createdAtMs: number;
  expiresAtMs: number | undefined;
  revokedAtMs: number | undefined;
  /** May be a minute behind. */
  lastUsedAtMs: number | undefined;
  /** Undefined: all voices, any address. */
  voiceIds: readonly string[] | undefined;
  allowedIps: readonly string[] | undefined;
  limits: KeyLimits;
  /** The key that has taken its place. */
  replacedBy: string | undefined;
  /** The key or the person who made it; undefined where the operator did. */
  madeBy: string | undefined;
}

/** How many keys may have made each other, the first included. */
const generationsMax = 8;
const dayMs = 24 * 60 * 60 * 1000;
/** What a key without a row is compared with, so that it is treated like any other. */
const noHash = Buffer.alloc(32);

/** Of a key that is being made: itself, who makes it, and when. */
export interface Making {
  parsed: ParsedApiKey;
  pepper?: Pepper | undefined;
  grant: KeyGrant;
  nowMs: number;
}

/** The row to keep for this key, or a Failure with every fault in what is asked. */
export function toApiKeyRow(asked: KeyFields, { parsed, pepper, grant, nowMs }: Making): ApiKeyRow {
  checkKeyFields(asked);
  if (grant.range.path.split('/').length > generationsMax) {
    throw new Failure('access_denied', { message: 'Keys that make keys that make keys end here.' });
  }
  const given = defaultScopes.filter((scope) => grant.scopes.includes(scope));
  const {
    name = 'unnamed',
    scopes = given.length > 0 ? given : grant.scopes,
    voiceIds = grant.voiceIds ?? null,
    allowedIps = grant.allowedIps ?? null,
    limits = {},
  } = asked;
  const expiresAtMs = asked.expiresInDays === undefined ? (grant.expiresAtMs ?? null) : toExpiry(asked, nowMs);
  checkWithin(grant, { scopes, voiceIds, allowedIps, limits, expiresAtMs });
  const keyId = createId('key');
  return {
    ...{ keyId, idPart: parsed.idPart, ...hashOf(parsed, pepper), ownerId: keyId, path: grant.range.path, name },
    scopes: [...new Set(scopes)].join(' '),
    voiceIds: voiceIds && toIdList(voiceIds),
    allowedIps: allowedIps?.join(' ') ?? null,
    ...toLimitColumns(limitsFor(limits, grant.limits)),
    ...{ createdAtMs: nowMs, expiresAtMs, revokedAtMs: null, lastUsedAtMs: null, replacedBy: null },
  };
}

/**
 * The row of the key that takes the place of another: like it in all but the key itself. Whoever asks for it gets to see
 * that key, so a Failure where the other may do more than they may grant.
 */
export function toSuccessorRow(row: ApiKeyRow, { parsed, pepper, grant, nowMs }: Making): ApiKeyRow {
  const { scopes, voiceIds = null, allowedIps = null, limits } = toApiKey(row, nowMs);
  const { charactersPerMonth = null } = limits;
  const { expiresAtMs } = row;
  checkWithin(grant, { scopes, voiceIds, allowedIps, limits: { ...limits, charactersPerMonth }, expiresAtMs });
  const own = { keyId: createId('key'), idPart: parsed.idPart, ...hashOf(parsed, pepper) };
  return { ...row, ...own, createdAtMs: nowMs, lastUsedAtMs: null };
}

/** What changes in the row, or a Failure with every fault in what is asked. */
export function toApiKeyChange(row: ApiKeyRow, asked: KeyFields, grant: KeyGrant, nowMs: number): ApiKeyChange {
  checkKeyFields(asked);
  const before = toApiKey(row, nowMs);
  const { name, scopes, voiceIds, allowedIps, limits, expiresInDays } = asked;
  const expiresAtMs = expiresInDays === undefined ? row.expiresAtMs : toExpiry(asked, nowMs);
  const allLimits = { ...before.limits, ...limits };
  checkWithin(grant, {
    scopes: scopes ?? before.scopes,
    voiceIds: voiceIds === undefined ? (before.voiceIds ?? null) : voiceIds,
    allowedIps: allowedIps === undefined ? (before.allowedIps ?? null) : allowedIps,
    limits: allLimits,
    expiresAtMs,
  });
  return {
    ...(name !== undefined && { name }),
    ...(scopes && { scopes: [...new Set(scopes)].join(' ') }),
    ...(voiceIds !== undefined && { voiceIds: voiceIds && toIdList(voiceIds) }),
    ...(allowedIps !== undefined && { allowedIps: allowedIps?.join(' ') ?? null }),
    ...(limits && toLimitColumns(limitsFor(allLimits, undefined))),
    ...(expiresInDays !== undefined && { expiresAtMs }),
  };
}

const toIdList = (ids: readonly string[]) => JSON.stringify([...new Set(ids)]);

const toExpiry = ({ expiresInDays }: KeyFields, nowMs: number): number | null =>
  expiresInDays === null || expiresInDays === undefined ? null : nowMs + expiresInDays * dayMs;

const hashOf = ({ key }: ParsedApiKey, pepper: Pepper | undefined) => ({
  hash: hashApiKey(key, pepper),
  hashKind: pepper ? ('hmac-sha256' as const) : ('sha256' as const),
});

/** The usual limits are not kept, so that a key has what is usual when it is used. */
function toLimitColumns(limits: KeyLimits) {
  const column = (name: keyof KeyLimits) => (limits[name] === usualLimits[name] ? null : limits[name]!);
  return {
    requestsPerMinute: column('requestsPerMinute'),
    concurrency: column('concurrency'),
    charactersPerMonth: column('charactersPerMonth'),
  };
}

export function toApiKey(row: ApiKeyRow, nowMs: number): ApiKey {
  return {
    keyId: row.keyId,
    ownerId: row.ownerId,
    hint: hintOf(row.idPart),
    name: row.name,
    scopes: scopesOf(row),
    status: row.revokedAtMs !== null ? 'revoked' : nowMs >= (row.expiresAtMs ?? Infinity) ? 'expired' : 'active',
    createdAtMs: row.createdAtMs,
    expiresAtMs: row.expiresAtMs ?? undefined,
    revokedAtMs: row.revokedAtMs ?? undefined,
    lastUsedAtMs: row.lastUsedAtMs ?? undefined,
    voiceIds: row.voiceIds === null ? undefined : JSON.parse(row.voiceIds),
    allowedIps: row.allowedIps?.split(' '),
    limits: {
      requestsPerMinute: row.requestsPerMinute ?? usualLimits.requestsPerMinute,
      concurrency: row.concurrency ?? usualLimits.concurrency,
      charactersPerMonth: row.charactersPerMonth ?? usualLimits.charactersPerMonth,
    },
    replacedBy: row.replacedBy ?? undefined,
    madeBy: row.path.split('/').at(-2),
  };
}

/** What the key may do; a scope that a newer version has added is not known here, and means nothing. */
const scopesOf = (row: ApiKeyRow): readonly Scope[] => row.scopes.split(' ').filter(isScope);

/** Whether the row is this key's, in constant time. A row from before there was a pepper still counts. */
export function isRowOf(row: ApiKeyRow | undefined, { key }: ParsedApiKey, pepper: Pepper | undefined): boolean {
  const hash = hashApiKey(key, row?.hashKind === 'sha256' ? undefined : pepper);
  return timingSafeEqual(hash, row?.hash ?? noHash);
}
