// Verifies presented API keys. A key that is missing, malformed, unknown, revoked or expired always fails with the same
// `invalid_api_key`, which reveals nothing. Results are cached for half a second, so a change by another process takes effect
// within that time, and one by this process at once.
import { hash, randomBytes } from 'node:crypto';
import { Failure } from '../errors.ts';
import { createAddressCheck } from '../net/address-list.ts';
import type { Caller } from '../speech/request.ts';
import { type ApiKeyRow, type ApiKeyRows, allKeys } from '../store/api-key-rows.ts';
import { accountOf } from './account.ts';
import { type ParsedApiKey, type Pepper, parseApiKey } from './api-key.ts';
import { isRowOf } from './api-key-record.ts';
import { ExpiringCache } from './expiring-cache.ts';
import { traceDescent } from './key-descent.ts';
import type { KeyGrant } from './key-grant.ts';
import type { KeyLimits } from './key-limits.ts';
import { createLastUse } from './last-use.ts';
import type { LimitedAccount } from './limiter.ts';
import type { Scope } from './scopes.ts';

/** An admitted caller, with its key and what the key may do. */
export interface KeyCaller extends Caller {
  keyId: string;
  accountId: string;
  /** The name of the caller as the actor of a change: "key:key_01JD...", "user:...". */
  actorName: string;
  scopes: readonly Scope[];
  limits: KeyLimits;
  /** Whose limits hold for it too. Default: nobody's. */
  above?: readonly LimitedAccount[];
  /** What it may do with keys, if its scopes allow that. */
  grant: KeyGrant;
}

export interface KeyVerifier {
  /** The caller of the key, or a Failure `invalid_api_key`, or `access_denied` for this address. */
  verify(presented: string | undefined, address: string): Promise<KeyCaller>;
  /** The same for the id of a key, which stands in for the key where the service itself has stored it. */
  verifyId(keyId: string, address: string): Promise<KeyCaller>;
  /** The same for the present key of an owner, whose keys are replaced by others. */
  verifyOwner(ownerId: string, address: string): Promise<KeyCaller>;
  /** Whether the key is still valid, read from the table. */
  isInForce(keyId: string): Promise<boolean>;
  /** Clears the cache, after a key has changed. */
  forget(): void;
  /** Writes the pending times of last use. */
  close(): Promise<void>;
}

export interface KeyVerifierOptions {
  rows: ApiKeyRows;
  pepper?: Pepper | undefined;
  /** The clock, in epoch milliseconds. */
  now?: () => number;
}

const usesWrittenEveryMs = 60_000;
const cacheOptions = { ttlMs: 500, entriesMax: 10_000 };

interface Verified {
  caller: KeyCaller;
  expiresAtMs: number;
  isAllowedFrom: (address: string) => boolean;
}

const anywhere = () => true;

/** What keys are known by in memory: a hash, so that the cache contains none; of this process alone. */
const nameSalt = randomBytes(16).toString('hex');
const toName = (key: string): string => hash('sha256', nameSalt + key, 'base64');

export function createKeyVerifier({ rows, pepper, now = Date.now }: KeyVerifierOptions): KeyVerifier {
  const lastUse = createLastUse((uses) => rows.noteUses(uses), usesWrittenEveryMs);
  /** Two caches, so that invalid keys cannot evict valid ones; by hash, so that neither contains a key. */
  let known = new ExpiringCache<Verified>(cacheOptions);
  const unknown = new ExpiringCache<true>(cacheOptions);

  const lookUp = async (parsed: ParsedApiKey, name: string, nowMs: number): Promise<Verified | undefined> => {
    // `forget` replaces the cache; a row that was read before must not enter the new one.
    const cache = known;
    const row = await rows.find(parsed.idPart);
    const verified = isRowOf(row, parsed, pepper) && row ? await toVerified(rows, row, nowMs) : undefined;
    if (verified) cache.set(name, verified, nowMs);
    else unknown.set(name, true, nowMs);
    return verified;
  };
  const findById = async (keyId: string, nowMs: number): Promise<Verified | undefined> => {
    const row = await rows.findById(keyId, allKeys);
    const found = row && (await toVerified(rows, row, nowMs));
    return found && nowMs < found.expiresAtMs ? found : undefined;
  };

  const find = async (parsed: ParsedApiKey, nowMs: number): Promise<Verified | undefined> => {
    const name = toName(parsed.key);
    if (unknown.get(name, nowMs)) return undefined;
    const found = known.get(name, nowMs) ?? (await lookUp(parsed, name, nowMs));
    return found && nowMs < found.expiresAtMs ? found : undefined;
  };

  const admit = (found: Verified | undefined, address: string, nowMs: number): KeyCaller => {
    if (!found) throw new Failure('invalid_api_key');
    const { caller, isAllowedFrom } = found;
    if (!isAllowedFrom(address))
      throw new Failure('access_denied', { message: 'This API key may not be used from this address.' });
    lastUse.note(caller.keyId, nowMs);
    return caller;
  };

  return {
    async verify(presented, address) {
      const parsed = parseApiKey(presented);
      const nowMs = now();
      return admit(parsed && (await find(parsed, nowMs)), address, nowMs);
    },
    async verifyId(keyId, address) {
      const nowMs = now();
      return admit(await findById(keyId, nowMs), address, nowMs);
    },
    async verifyOwner(ownerId, address) {
      const nowMs = now();
      const newest = await rows.findNewest(ownerId);
      return admit(newest && (await findById(newest.keyId, nowMs)), address, nowMs);
    },
    isInForce: async (keyId) => (await findById(keyId, now())) !== undefined,
    forget() {
      known = new ExpiringCache(cacheOptions);
    },
    close: () => lastUse.close(),
  };
}

/** Undefined if the key or one of its ancestors is revoked. */
async function toVerified(rows: ApiKeyRows, row: ApiKeyRow, nowMs: number): Promise<Verified | undefined> {
  const descent = row.revokedAtMs === null ? await traceDescent(rows, row, nowMs) : undefined;
  if (!descent) return undefined;
  const { keyId, ownerId } = row;
  const { rights, above } = descent;
  const { scopes, voiceIds, allowedIps, limits, expiresAtMs } = rights;
  const isAdmin = scopes.includes('admin');
  const grant: KeyGrant = {
    range: { path: isAdmin ? '' : `${row.path}${ownerId}/`, ownKeyId: keyId },
    ...rights,
  };
  const caller: KeyCaller = {
    callerId: ownerId,
    keyId,
    accountId: accountOf(row),
    usesAllVoices: isAdmin,
    actorName: `key:${keyId}`,
    scopes,
    limits,
    above,
    grant,
    ...(voiceIds && { voiceIds }),
  };
  return {
    caller: Object.freeze(caller),
    expiresAtMs: expiresAtMs ?? Infinity,
    isAllowedFrom: allowedIps ? createAddressCheck(allowedIps) : anywhere,
  };
}
