// The keys of this service: made, listed, revoked, and presented ones verified. Whoever presents a key that is missing,
// malformed, unknown, revoked or expired hears one and the same `invalid_api_key`, so there is nothing to find out.
// What was looked up is remembered for half a second: a revocation here holds at once, one by another process by then.
import { Failure } from '../errors.ts';
import type { Caller } from '../speech/request.ts';
import type { ApiKeyRows } from '../store/api-key-rows.ts';
import { createApiKey, hashApiKey, type ParsedApiKey, type Pepper, parseApiKey } from './api-key.ts';
import { BriefCache } from './brief-cache.ts';
import { type ApiKey, isRowOf, type NewApiKey, scopesOf, toApiKey, toApiKeyRow } from './key-record.ts';
import { createLastUse } from './last-use.ts';
import type { Scope } from './scope.ts';

/** Who was admitted, by which key, and what that key may do. */
export interface KeyCaller extends Caller {
  keyId: string;
  scopes: readonly Scope[];
}

export interface Keyring {
  /** The caller whose key this is, or a Failure `invalid_api_key`. */
  verify(presented: string | undefined): Promise<KeyCaller>;
  /** Whether the key may still be used, asked of the table. */
  isInForce(keyId: string): Promise<boolean>;
  /** A new key; `key` is shown to its owner now and never again. */
  create(asked: NewApiKey): Promise<{ key: string; apiKey: ApiKey }>;
  /** The newest first, a thousand at most; `beforeKeyId` is the last of the list before. */
  list(beforeKeyId?: string): Promise<ApiKey[]>;
  /** Ends the key for good, or a Failure `not_found`. Its row stays. */
  revoke(keyId: string): Promise<ApiKey>;
  /** Writes the times of last use that are not written yet. */
  close(): Promise<void>;
}

export interface KeyringOptions {
  rows: ApiKeyRows;
  pepper?: Pepper | undefined;
  /** The clock, in epoch milliseconds. */
  now?: () => number;
}

const listMax = 1_000;
const usesWrittenEveryMs = 60_000;
const remembering = { keptMs: 500, entriesMax: 10_000 };

interface Remembered {
  caller: KeyCaller;
  expiresAtMs: number;
}

export function createKeyring({ rows, pepper, now = Date.now }: KeyringOptions): Keyring {
  const lastUse = createLastUse((uses) => rows.noteUses(uses), usesWrittenEveryMs);
  /** Two caches, so that no number of wrong keys can push out the right ones; by hash, so that neither holds a key. */
  let known = new BriefCache<Remembered>(remembering);
  const unknown = new BriefCache<true>(remembering);

  const lookUp = async (parsed: ParsedApiKey, name: string, nowMs: number): Promise<Remembered | undefined> => {
    // A revocation while this waits begins a new cache, which must not get what was true before.
    const cache = known;
    const row = await rows.find(parsed.idPart);
    if (!isRowOf(row, parsed, pepper) || !row || row.revokedAtMs !== null) {
      unknown.set(name, true, nowMs);
      return undefined;
    }
    const caller = Object.freeze({ callerId: row.ownerId, keyId: row.keyId, scopes: scopesOf(row) });
    const remembered = { caller, expiresAtMs: row.expiresAtMs ?? Infinity };
    cache.set(name, remembered, nowMs);
    return remembered;
  };

  const find = async (parsed: ParsedApiKey, nowMs: number): Promise<KeyCaller | undefined> => {
    const name = hashApiKey(parsed.key, pepper).toString('latin1');
    if (unknown.get(name, nowMs)) return undefined;
    const found = known.get(name, nowMs) ?? (await lookUp(parsed, name, nowMs));
    return found && nowMs < found.expiresAtMs ? found.caller : undefined;
  };

  return {
    async verify(presented) {
      const parsed = parseApiKey(presented);
      const nowMs = now();
      const caller = parsed && (await find(parsed, nowMs));
      if (!caller) throw new Failure('invalid_api_key');
      lastUse.note(caller.keyId, nowMs);
      return caller;
    },
    isInForce: (keyId) => rows.isInForce(keyId, now()),
    async create(asked) {
      const parsed = createApiKey();
      const row = toApiKeyRow(parsed, asked, now(), pepper);
      if (!(await rows.add(row))) throw new Error('two keys were given one id part');
      return { key: parsed.key, apiKey: toApiKey(row, now()) };
    },
    async list(beforeKeyId) {
      const nowMs = now();
      return (await rows.list(listMax, beforeKeyId)).map((row) => toApiKey(row, nowMs));
    },
    async revoke(keyId) {
      const row = await rows.revoke(keyId, now());
      known = new BriefCache(remembering);
      if (!row) throw new Failure('not_found');
      return toApiKey(row, now());
    },
    close: () => lastUse.close(),
  };
}
