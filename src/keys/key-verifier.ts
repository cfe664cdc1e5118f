// The keys of this service: presented ones are verified. Whoever presents a key that is missing, malformed, unknown,
// revoked or expired hears one and the same `invalid_api_key`, so there is nothing to find out.
// What was looked up is remembered for half a second: a change made here holds at once, one by another process by then.
import { Failure } from '../errors.ts';
import type { KeyLimits } from '../limits/key-limits.ts';
import type { Caller } from '../speech/request.ts';
import type { ApiKeyRow, ApiKeyRows } from '../store/api-key-rows.ts';
import { createAddressCheck } from './address-list.ts';
import { hashApiKey, type ParsedApiKey, type Pepper, parseApiKey } from './api-key.ts';
import { isRowOf, toApiKey } from './api-key-record.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { KeyGrant } from './key-grant.ts';
import { createLastUse } from './last-use.ts';
import type { Scope } from './scopes.ts';

/** Who was admitted, by which key, and what that key may do. */
export interface KeyCaller extends Caller {
  keyId: string;
  /** The name of the caller as the actor of a change: "key:key_01JD...", "user:...". */
  actorName: string;
  scopes: readonly Scope[];
  limits: KeyLimits;
  /** What it may do with keys, where its scopes say that it may. */
  grant: KeyGrant;
}

export interface KeyVerifier {
  /** The caller whose key this is, or a Failure: `invalid_api_key`, or `access_denied` from that address. */
  verify(presented: string | undefined, address: string): Promise<KeyCaller>;
  /** Whether the key may still be used, asked of the table. */
  isInForce(keyId: string): Promise<boolean>;
  /** A key has changed: nothing that was known before counts. */
  forget(): void;
  /** Writes the times of last use that are not written yet. */
  close(): Promise<void>;
}

export interface KeyVerifierOptions {
  rows: ApiKeyRows;
  pepper?: Pepper | undefined;
  /** The clock, in epoch milliseconds. */
  now?: () => number;
}

const usesWrittenEveryMs = 60_000;
const remembering = { keptMs: 500, entriesMax: 10_000 };

interface Remembered {
  caller: KeyCaller;
  expiresAtMs: number;
  isAllowedFrom: (address: string) => boolean;
}

const anywhere = () => true;

export function createKeyVerifier({ rows, pepper, now = Date.now }: KeyVerifierOptions): KeyVerifier {
  const lastUse = createLastUse((uses) => rows.noteUses(uses), usesWrittenEveryMs);
  /** Two caches, so that no number of wrong keys can push out the right ones; by hash, so that neither holds a key. */
  let known = new ExpiringCache<Remembered>(remembering);
  const unknown = new ExpiringCache<true>(remembering);

  const lookUp = async (parsed: ParsedApiKey, name: string, nowMs: number): Promise<Remembered | undefined> => {
    // A change while this waits begins a new cache, which must not get what was true before.
    const cache = known;
    const row = await rows.find(parsed.idPart);
    if (!isRowOf(row, parsed, pepper) || !row || row.revokedAtMs !== null) {
      unknown.set(name, true, nowMs);
      return undefined;
    }
    const remembered = toRemembered(row, nowMs);
    cache.set(name, remembered, nowMs);
    return remembered;
  };

  const find = async (parsed: ParsedApiKey, nowMs: number): Promise<Remembered | undefined> => {
    const name = hashApiKey(parsed.key, pepper).toString('latin1');
    if (unknown.get(name, nowMs)) return undefined;
    const found = known.get(name, nowMs) ?? (await lookUp(parsed, name, nowMs));
    return found && nowMs < found.expiresAtMs ? found : undefined;
  };

  return {
    async verify(presented, address) {
      const parsed = parseApiKey(presented);
      const nowMs = now();
      const found = parsed && (await find(parsed, nowMs));
      if (!found) throw new Failure('invalid_api_key');
      const { caller, isAllowedFrom } = found;
      if (!isAllowedFrom(address))
        throw new Failure('access_denied', { message: 'This API key may not be used from this address.' });
      lastUse.note(caller.keyId, nowMs);
      return caller;
    },
    isInForce: (keyId) => rows.isInForce(keyId, now()),
    forget() {
      known = new ExpiringCache(remembering);
    },
    close: () => lastUse.close(),
  };
}

function toRemembered(row: ApiKeyRow, nowMs: number): Remembered {
  const { keyId, ownerId, scopes, voiceIds, allowedIps, limits, expiresAtMs } = toApiKey(row, nowMs);
  const isAdmin = scopes.includes('admin');
  const grant: KeyGrant = {
    range: { path: isAdmin ? '' : `${row.path}${ownerId}/`, ownKeyId: keyId },
    scopes,
    voiceIds,
    allowedIps,
    limits,
    expiresAtMs,
  };
  const caller: KeyCaller = {
    callerId: ownerId,
    keyId,
    actorName: `key:${keyId}`,
    scopes,
    limits,
    grant,
    ...(voiceIds && { voiceIds }),
  };
  return {
    caller: Object.freeze(caller),
    expiresAtMs: expiresAtMs ?? Infinity,
    isAllowedFrom: allowedIps ? createAddressCheck(allowedIps) : anywhere,
  };
}
