// API keys: the text that a caller sends, the row in the database, and the record that the owner may see. Also converts
// the fields of requests to rows.
import { createHmac, createSecretKey, hash, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Violations } from '../../contract.ts';
import { Failure } from '../../platform/errors.ts';
import { createId } from '../../platform/runtime/id.ts';
import type { ApiKeyChange, ApiKeyRow } from './api-key-rows.ts';
import {
  checkWithin,
  isScope,
  type KeyGrant,
  type KeyLimits,
  type KeyPermissions,
  keyDefaults,
  type LimitFields,
  leastLimits,
  operatorId,
  requireWithin,
  type Scope,
  withDefaultLimits,
} from './caller.ts';

// The text of a key: 64 characters in base 62 (0-9 A-Z a-z). The check digits reject mistyped keys and identify leaked
// keys without a lookup. The stored hash is fast, because 256 random bits cannot be guessed and a slow hash would invite
// denial of service.
//     snt_ 4fGh8Kd02Q _ 7hT...43 characters...x 1b2C3d
//          |            |                       +-- check: CRC-32 (ISO-HDLC) of the text before it, 6 digits
//          |            +-- secret: 43 digits, 256 bits
//          +-- id part: 10 digits, not secret; identifies the row

export interface ParsedApiKey {
  key: string;
  idPart: string;
}

/** A secret outside the database, so that a stolen table is not enough to verify keys. */
export type Pepper = KeyObject;

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^snt_([0-9A-Za-z]{10})_[0-9A-Za-z]{43}([0-9A-Za-z]{6})$/;
const keyChars = 64;
const checkChars = 6;

export function createApiKey(): ParsedApiKey {
  const idPart = randomDigits(10);
  const body = `snt_${idPart}_${randomDigits(43)}`;
  return { key: body + checkOf(body), idPart };
}

/** Returns undefined if the text is malformed. */
export function parseApiKey(text: string | undefined): ParsedApiKey | undefined {
  if (text?.length !== keyChars) return undefined;
  const [, idPart, check] = shape.exec(text) ?? [];
  return idPart !== undefined && checkOf(text.slice(0, -checkChars)) === check ? { key: text, idPart } : undefined;
}

export const createPepper = (secret: string): Pepper => createSecretKey(Buffer.from(secret));

/** The stored hash, 32 bytes: SHA-256, or HMAC-SHA-256 with a pepper. */
export function hashApiKey(key: string, pepper?: Pepper): Buffer {
  return pepper ? createHmac('sha256', pepper).update(key).digest() : hash('sha256', key, 'buffer');
}

/** Returns the form of a key for lists, which does not contain the secret. */
export const hintOf = (idPart: string): string => `snt_${idPart}_...`;

function randomDigits(count: number): string {
  let text = '';
  while (text.length < count) {
    for (const byte of randomBytes(count)) {
      // 248 is 4 * 62; larger bytes would make some digits more likely than others.
      if (byte < 248 && text.length < count) text += digits[byte % 62];
    }
  }
  return text;
}

function checkOf(body: string): string {
  let check = '';
  for (let rest = crc32(body), left = checkChars; left > 0; left--) {
    check = digits[rest % 62] + check;
    rest = Math.floor(rest / 62);
  }
  return check;
}

/**
 * The fields of a request. An omitted field gets its default in a new key and keeps its value in an update. Null means
 * no restriction. The shape and range of all fields have already been checked.
 */
export interface KeyFields {
  /** Default: "unnamed". */
  name?: string | undefined;
  /** Default: the scopes that are in the grant and in the default scopes; if there are none, all scopes of the grant. */
  scopes?: readonly string[] | undefined;
  /** Default: the expiry of the grant, or no expiry. */
  expiresInDays?: number | null | undefined;
  /** Default: the voices of the grant, or all voices. */
  voiceIds?: readonly string[] | null | undefined;
  /** Addresses and CIDR blocks. Default: the addresses of the grant, or any address. */
  allowedIps?: readonly string[] | null | undefined;
  limits?: LimitFields | undefined;
}

/** A key as its owner may see it: everything except the secret. */
export interface ApiKey {
  keyId: string;
  ownerId: string;
  accountId: string;
  hint: string;
  name: string;
  scopes: readonly Scope[];
  status: 'active' | 'expired' | 'revoked';
  createdAtMs: number;
  expiresAtMs: number | undefined;
  revokedAtMs: number | undefined;
  /** The recorded time may lag by up to a minute. */
  lastUsedAtMs: number | undefined;
  /** Undefined: all voices. If `allowedIps` is undefined, any address is allowed. */
  voiceIds: readonly string[] | undefined;
  allowedIps: readonly string[] | undefined;
  limits: KeyLimits;
  /** Id of the successor, if the key was rotated. */
  replacedBy: string | undefined;
  /** Id of the key or person that created the key; undefined for the operator. */
  madeBy: string | undefined;
}

const dayMs = 24 * 60 * 60 * 1000;
/** A key without a row is compared with this hash, so that the comparison takes as long as for a key with a row. */
const noHash = Buffer.alloc(32);

/** The secret of a new key, its creator and the creator's grant, and the current time. */
interface NewKey {
  parsed: ParsedApiKey;
  pepper?: Pepper | undefined;
  madeBy: string;
  grant: KeyGrant;
  nowMs: number;
}

/** Reports fields of a new key that exceed the grant. */
export const checkNewKey = (fields: KeyFields, grant: KeyGrant, nowMs: number, violations: Violations): void =>
  checkWithin(grant, toPermissions(fields, grant, nowMs), violations);

/** Permissions of a new key. Omitted fields get the grant's values. */
function toPermissions(fields: KeyFields, grant: KeyGrant, nowMs: number) {
  const grantedDefaults = keyDefaults.scopes.filter((scope) => grant.scopes.includes(scope));
  const {
    scopes = grantedDefaults.length > 0 ? grantedDefaults : grant.scopes,
    voiceIds = grant.voiceIds ?? null,
    allowedIps = grant.allowedIps ?? null,
    limits = {},
  } = fields;
  const expiresAtMs = fields.expiresInDays === undefined ? (grant.expiresAtMs ?? null) : toExpiry(fields, nowMs);
  return { scopes, voiceIds, allowedIps, limits, expiresAtMs } satisfies KeyPermissions;
}

/** Returns the row of a new key. Throws a Failure with all fields that exceed the grant. */
export function toApiKeyRow(fields: KeyFields, { parsed, pepper, madeBy, grant, nowMs }: NewKey): ApiKeyRow {
  if (grant.range.path.split('/').length > 2) {
    const message =
      'This key was created by another key or after a sign-in, so it cannot create keys. Use the key that created it, or sign in.';
    throw new Failure('access_denied', { message });
  }
  const permissions = toPermissions(fields, grant, nowMs);
  requireWithin(grant, permissions);
  const { name = 'unnamed' } = fields;
  const { scopes, voiceIds, allowedIps, limits, expiresAtMs } = permissions;
  const ownLimits = leastLimits(withDefaultLimits(limits), ...(grant.limits ? [grant.limits] : []));
  const keyId = createId('key');
  return {
    keyId,
    idPart: parsed.idPart,
    ...hashOf(parsed, pepper),
    ownerId: keyId,
    path: grant.range.path,
    limitedBy: '',
    name,
    scopes: [...new Set(scopes)].join(' '),
    voiceIds: voiceIds && toIdList(voiceIds),
    allowedIps: allowedIps?.join(' ') ?? null,
    ...toLimitColumns(ownLimits),
    createdAtMs: nowMs,
    expiresAtMs,
    revokedAtMs: null,
    lastUsedAtMs: null,
    replacedBy: null,
    madeBy,
  };
}

/**
 * Returns the row of a key's successor, which has the same permissions but a new id and secret. Fails if the key
 * exceeds the actor's grant, because the actor receives the new secret.
 */
export function toSuccessorRow(row: ApiKeyRow, { parsed, pepper, madeBy, grant, nowMs }: NewKey): ApiKeyRow {
  const { scopes, voiceIds = null, allowedIps = null, limits } = toApiKey(row, nowMs);
  const { charactersPerMonth = null } = limits;
  const { expiresAtMs } = row;
  requireWithin(grant, { scopes, voiceIds, allowedIps, limits: { ...limits, charactersPerMonth }, expiresAtMs });
  const own = { keyId: createId('key'), idPart: parsed.idPart, ...hashOf(parsed, pepper) };
  return { ...row, ...own, madeBy, createdAtMs: nowMs, lastUsedAtMs: null };
}

/** Reports fields of a change that exceed the grant. */
export function checkKeyChange(fields: KeyFields, grant: KeyGrant, nowMs: number, violations: Violations): void {
  const { scopes, voiceIds, allowedIps, limits } = fields;
  const expiresAtMs = fields.expiresInDays === undefined ? undefined : toExpiry(fields, nowMs);
  checkWithin(grant, { scopes, voiceIds, allowedIps, limits, expiresAtMs }, violations);
}

/** Returns the changes to the row for fields that were already checked. */
export function toApiKeyChange(row: ApiKeyRow, fields: KeyFields, nowMs: number): ApiKeyChange {
  const { name, scopes, voiceIds, allowedIps, limits, expiresInDays } = fields;
  const expiresAtMs = expiresInDays === undefined ? undefined : toExpiry(fields, nowMs);
  const allLimits = { ...toApiKey(row, nowMs).limits, ...limits };
  return {
    ...(name !== undefined && { name }),
    ...(scopes && { scopes: [...new Set(scopes)].join(' ') }),
    ...(voiceIds !== undefined && { voiceIds: voiceIds && toIdList(voiceIds) }),
    ...(allowedIps !== undefined && { allowedIps: allowedIps?.join(' ') ?? null }),
    ...(limits && toLimitColumns(withDefaultLimits(allLimits))),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  };
}

const toIdList = (ids: readonly string[]) => JSON.stringify([...new Set(ids)]);

const toExpiry = ({ expiresInDays }: KeyFields, nowMs: number): number | null =>
  expiresInDays === null || expiresInDays === undefined ? null : nowMs + expiresInDays * dayMs;

const hashOf = ({ key }: ParsedApiKey, pepper: Pepper | undefined) => ({
  hash: hashApiKey(key, pepper),
  hashKind: pepper ? ('hmac-sha256' as const) : ('sha256' as const),
});

/** Default limits are stored as null, so that a change of the defaults applies to existing keys. */
function toLimitColumns(limits: KeyLimits) {
  const column = (name: keyof KeyLimits) => (limits[name] === keyDefaults.limits[name] ? null : limits[name]!);
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
    accountId: accountOf(row),
    hint: hintOf(row.idPart),
    name: row.name,
    scopes: scopesOf(row),
    status: row.revokedAtMs !== null ? 'revoked' : nowMs >= (row.expiresAtMs ?? Infinity) ? 'expired' : 'active',
    createdAtMs: row.createdAtMs,
    expiresAtMs: row.expiresAtMs ?? undefined,
    revokedAtMs: row.revokedAtMs ?? undefined,
    lastUsedAtMs: row.lastUsedAtMs ?? undefined,
    voiceIds: row.voiceIds === null ? undefined : JSON.parse(row.voiceIds),
    allowedIps: row.allowedIps?.split(' ').filter(Boolean),
    limits: withDefaultLimits(row),
    replacedBy: row.replacedBy ?? undefined,
    madeBy: row.madeBy === operatorId ? undefined : (row.madeBy ?? row.path.split('/').at(-2)),
  };
}

/** Skips unknown scopes, which a newer version of the service may have written. */
const scopesOf = (row: ApiKeyRow): readonly Scope[] => row.scopes.split(' ').filter(isScope);

/** Checks in constant time whether the row belongs to the key. Rows hashed before a pepper was set stay valid. */
export function isRowOf(row: ApiKeyRow | undefined, { key }: ParsedApiKey, pepper: Pepper | undefined): boolean {
  const hash = hashApiKey(key, row?.hashKind === 'sha256' ? undefined : pepper);
  return timingSafeEqual(hash, row?.hash ?? noHash);
}

/** Returns the account of a key: the key itself if it has no other. Rotation does not change the account. */
export const accountOf = ({ path, ownerId }: Pick<ApiKeyRow, 'path' | 'ownerId'>): string =>
  path.split('/', 1)[0] || ownerId;
