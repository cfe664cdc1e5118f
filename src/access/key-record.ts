// A key between its three forms: what is asked for, the row that is kept, and the record that its owner may see.
import { timingSafeEqual } from 'node:crypto';
import { Failure, type FieldViolation } from '../errors.ts';
import { createId } from '../id.ts';
import { countChars } from '../speech/request.ts';
import type { ApiKeyRow } from '../store/api-key-rows.ts';
import { hashApiKey, hintOf, type ParsedApiKey, type Pepper } from './api-key.ts';
import { defaultScopes, isScope, type Scope, scopes } from './scope.ts';

export interface NewApiKey {
  /** 1 to 100 characters. Default "unnamed". */
  name?: string;
  /** Default: to speak and to see the voices. */
  scopes?: readonly string[];
  /** 1 to 3650. Default: never. */
  expiresInDays?: number;
  /** Whom its audio belongs to. Default: the key is an owner of its own. */
  ownerId?: string;
}

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
}

const nameCharsMax = 100;
const daysMax = 3650;
const dayMs = 24 * 60 * 60 * 1000;
/** What a key without a row is compared with, so that it is treated like any other. */
const noHash = Buffer.alloc(32);

/** The row to keep for this key, or a Failure with every fault in what is asked. */
export function toApiKeyRow(
  { key, idPart }: ParsedApiKey,
  asked: NewApiKey,
  nowMs: number,
  pepper?: Pepper,
): ApiKeyRow {
  const { name, scopes, expiresInDays, ownerId } = { name: 'unnamed', scopes: defaultScopes, ...asked };
  checkNewApiKey(name, scopes, expiresInDays);
  const keyId = createId('key');
  return {
    keyId,
    idPart,
    hash: hashApiKey(key, pepper),
    hashKind: pepper ? 'hmac-sha256' : 'sha256',
    ownerId: ownerId ?? keyId,
    name,
    scopes: [...new Set(scopes)].join(' '),
    createdAtMs: nowMs,
    expiresAtMs: expiresInDays === undefined ? null : nowMs + expiresInDays * dayMs,
    revokedAtMs: null,
    lastUsedAtMs: null,
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
  };
}

/** What the key may do; a scope that a newer version has added is not known here, and means nothing. */
export const scopesOf = (row: ApiKeyRow): readonly Scope[] => row.scopes.split(' ').filter(isScope);

/** Whether the row is this key's, in constant time. A row from before there was a pepper still counts. */
export function isRowOf(row: ApiKeyRow | undefined, { key }: ParsedApiKey, pepper: Pepper | undefined): boolean {
  const hash = hashApiKey(key, row?.hashKind === 'sha256' ? undefined : pepper);
  return timingSafeEqual(hash, row?.hash ?? noHash);
}

function checkNewApiKey(name: string, asked: readonly string[], expiresInDays: number | undefined): void {
  const details: FieldViolation[] = [];
  const fault = (field: string, reason: string, message: string) => details.push({ field, reason, message });
  const chars = countChars(name);
  if (chars < 1 || chars > nameCharsMax) fault('name', 'length', `must be 1 to ${nameCharsMax} characters`);
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) fault('name', 'encoding', 'must hold no control characters');
  if (asked.length === 0) fault('scopes', 'required', 'give at least one scope');
  for (const [i, scope] of asked.entries()) {
    if (!isScope(scope)) fault(`scopes[${i}]`, 'enum', `must be one of ${scopes.join(', ')}`);
  }
  if (
    expiresInDays !== undefined &&
    !(Number.isInteger(expiresInDays) && expiresInDays >= 1 && expiresInDays <= daysMax)
  ) {
    fault('expires_in_days', 'range', `must be a whole number from 1 to ${daysMax}`);
  }
  if (details.length > 0) throw new Failure('invalid_request', { details });
}
