// Verifies API keys. A key that is missing, malformed, unknown, revoked or expired always fails with the same
// `invalid_api_key`, so that the error reveals nothing. Results are cached, so a change by another process takes effect
// within half a second. A change by this process takes effect at once.
import { hash, randomBytes } from 'node:crypto';
import { Failure } from '../../platform/errors.ts';
import { commonBlocks, createAddressCheck } from '../../platform/net/client-addresses.ts';
import { type ApiKey, accountOf, isRowOf, type ParsedApiKey, type Pepper, parseApiKey, toApiKey } from './api-key.ts';
import { type ApiKeyRow, type ApiKeyRows, type ApiKeyUse, allKeys } from './api-key-rows.ts';
import { type KeyCaller, type KeyGrant, keyDefaults, type LimitedAccount, leastLimits, smallestOf } from './caller.ts';

// Restricts a key to its account: the key that created it, or the person or machine that signed in. A key has only
// permissions that its account has, and ends with it. If the key of the account was rotated, its newest key counts.
// People and machines that sign in have the default limits.

/** Effective permissions of a key. */
type Rights = Pick<ApiKey, 'scopes' | 'voiceIds' | 'allowedIps' | 'limits' | 'expiresAtMs'>;

interface Restricted {
  rights: Rights;
  /** Owners whose limits also apply to the key. The account is the last. */
  above: readonly LimitedAccount[];
}

/** Whether the id belongs to a signed-in person or machine instead of a key. */
const isSignedIn = (id: string) => /^(usr|cli)_/.test(id);

/** Returns undefined if the account is revoked, or a key of `limitedBy`. */
async function restrictToAccount(
  rows: Pick<ApiKeyRows, 'findNewest'>,
  row: ApiKeyRow,
  nowMs: number,
): Promise<Restricted | undefined> {
  let rights = rightsOf(row, nowMs);
  const above: LimitedAccount[] = [];
  for (const id of `${row.path}${row.limitedBy}`.split('/').slice(0, -1).reverse()) {
    if (isSignedIn(id)) {
      above.push({ callerId: id, limits: keyDefaults.limits });
      continue;
    }
    const newest = await rows.findNewest(id);
    if (!newest || newest.revokedAtMs !== null) return undefined;
    const own = rightsOf(newest, nowMs);
    above.push({ callerId: newest.ownerId, limits: own.limits });
    rights = commonRights(rights, own);
  }
  return { rights: { ...rights, limits: leastLimits(rights.limits, ...above.map(({ limits }) => limits)) }, above };
}

function rightsOf(row: ApiKeyRow, nowMs: number): Rights {
  const { scopes, voiceIds, allowedIps, limits, expiresAtMs } = toApiKey(row, nowMs);
  return { scopes, voiceIds, allowedIps, limits, expiresAtMs };
}

const commonRights = (one: Rights, other: Rights): Rights => ({
  scopes: one.scopes.filter((scope) => other.scopes.includes(scope)),
  voiceIds: commonItems(one.voiceIds, other.voiceIds),
  allowedIps: commonBlocks(one.allowedIps, other.allowedIps),
  limits: one.limits,
  expiresAtMs: smallestOf(one.expiresAtMs, other.expiresAtMs),
});

const commonItems = (one: readonly string[] | undefined, other: readonly string[] | undefined) =>
  one && other ? one.filter((item) => other.includes(item)) : (one ?? other);

/** A cache of limited size whose entries expire. A full cache evicts its oldest entry. */
export class ExpiringCache<Value> {
  readonly #entries = new Map<string, { value: Value; untilMs: number }>();
  readonly #entriesMax: number;
  readonly #ttlMs: number;

  constructor({ entriesMax, ttlMs }: { entriesMax: number; ttlMs: number }) {
    this.#entriesMax = entriesMax;
    this.#ttlMs = ttlMs;
  }

  get(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry && nowMs < entry.untilMs) return entry.value;
    if (entry) this.#entries.delete(key);
    return undefined;
  }

  /** `sinceMs` is the time at which the value was read. */
  set(key: string, value: Value, sinceMs: number): void {
    this.#entries.delete(key);
    // Entries are in the order of their expiry.
    for (const [old, { untilMs }] of this.#entries) {
      if (untilMs > sinceMs) break;
      this.#entries.delete(old);
    }
    if (this.#entries.size >= this.#entriesMax) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, { value, untilMs: sinceMs + this.#ttlMs });
  }

  get size(): number {
    return this.#entries.size;
  }
}

export type KeyVerifier = ReturnType<typeof createKeyVerifier>;

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

/** Salt for the hashes that identify keys in the cache, so that the cache contains no keys. */
const nameSalt = randomBytes(16).toString('hex');
const toName = (key: string): string => hash('sha256', nameSalt + key, 'base64');

export function createKeyVerifier({ rows, pepper, now = Date.now }: KeyVerifierOptions) {
  const lastUse = createLastUse((uses) => rows.noteUses(uses), usesWrittenEveryMs);
  /** Valid and invalid keys have separate caches, so that invalid keys cannot evict valid keys. */
  let known = new ExpiringCache<Verified>(cacheOptions);
  const unknown = new ExpiringCache<true>(cacheOptions);

  const lookUp = async (parsed: ParsedApiKey, name: string, nowMs: number): Promise<Verified | undefined> => {
    // `forget` replaces the cache. A row that was read before `forget` must not enter the new cache.
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
    /** Returns the caller of the key. Throws `invalid_api_key`, or `access_denied` if the address is not allowed. */
    async verify(presented: string | undefined, address: string): Promise<KeyCaller> {
      const parsed = parseApiKey(presented);
      const nowMs = now();
      return admit(parsed && (await find(parsed, nowMs)), address, nowMs);
    },
    /** Like `verify`, but for the id of a key that the service itself has stored. */
    async verifyId(keyId: string, address: string): Promise<KeyCaller> {
      const nowMs = now();
      return admit(await findById(keyId, nowMs), address, nowMs);
    },
    /** Like `verify`, but for the newest key of an owner. */
    async verifyOwner(ownerId: string, address: string): Promise<KeyCaller> {
      const nowMs = now();
      const newest = await rows.findNewest(ownerId);
      return admit(newest && (await findById(newest.keyId, nowMs)), address, nowMs);
    },
    /** Reads from the table whether the key is still valid. */
    isInForce: async (keyId: string): Promise<boolean> => (await findById(keyId, now())) !== undefined,
    /** Clears the cache after a key has changed. */
    forget(): void {
      known = new ExpiringCache(cacheOptions);
    },
    /** Writes the pending last-used times. */
    close: (): Promise<void> => lastUse.close(),
  };
}

/** Returns undefined if the key or its account is revoked. */
async function toVerified(rows: ApiKeyRows, row: ApiKeyRow, nowMs: number): Promise<Verified | undefined> {
  const restricted = row.revokedAtMs === null ? await restrictToAccount(rows, row, nowMs) : undefined;
  if (!restricted) return undefined;
  const { keyId, ownerId } = row;
  const { rights, above } = restricted;
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

/** Number of uses per statement. Other statements can run between two batches. */
const usesAtOnceMax = 500;

/** Records when each key was last used. Writes in batches, once a minute and on close. */
export function createLastUse(write: (uses: readonly ApiKeyUse[]) => Promise<void>, everyMs: number) {
  let noted = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const flush = async () => {
    timer = undefined;
    const uses = Array.from(noted, ([keyId, usedAtMs]) => ({ keyId, usedAtMs }));
    noted = new Map();
    for (let from = 0; from < uses.length; from += usesAtOnceMax) await write(uses.slice(from, from + usesAtOnceMax));
  };

  return {
    note(keyId: string, nowMs: number): void {
      noted.set(keyId, nowMs);
      timer ??= setTimeout(() => {
        // Losing a last-used time is harmless: the next use records it again.
        writing = flush().catch(() => {});
      }, everyMs).unref();
    },
    async close(): Promise<void> {
      clearTimeout(timer);
      await writing;
      await flush();
    },
  };
}
