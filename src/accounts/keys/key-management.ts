// Manages API keys: create, list, update, rotate and revoke, within the actor's grant. Every change has an audit
// record. Keys outside the grant are reported as not found.
import { Violations } from '../../contract.ts';
import { Failure } from '../../platform/errors.ts';
import {
  type ApiKey,
  accountOf,
  checkKeyChange,
  checkNewKey,
  createApiKey,
  type KeyFields,
  type Pepper,
  toApiKey,
  toApiKeyChange,
  toApiKeyRow,
  toSuccessorRow,
} from './api-key.ts';
import type { ApiKeyDecision, ApiKeyRow, ApiKeyRows } from './api-key-rows.ts';
import { type Actor, toAuditRow } from './caller.ts';

/** A new key. `key` contains its secret, which cannot be read again. */
interface MadeKey {
  key: string;
  apiKey: ApiKey;
}

export type KeyManagement = ReturnType<typeof createKeyManagement>;

interface RevokedKey {
  apiKey: ApiKey;
  /** Number of other keys that were revoked with `apiKey`. */
  othersRevoked: number;
}

interface KeyManagementOptions {
  rows: ApiKeyRows;
  pepper?: Pepper | undefined;
  /** Called after a key has changed, before the changing call returns. */
  onChange?(): void;
  now?: () => number;
}

/** Largest number of valid keys of an account. */
const keysMax = 1_000;

export function createKeyManagement({ rows, pepper, onChange, now = Date.now }: KeyManagementOptions) {
  const change = async (keyId: string, { grant }: Actor, decide: Parameters<ApiKeyRows['change']>[2]) => {
    const changed = await rows.change(keyId, grant.range, decide);
    if (!changed) throw noSuchKey();
    const { row, othersRevoked } = changed;
    const apiKey = toApiKey(row, now());
    onChange?.();
    return { apiKey, othersRevoked: othersRevoked.length };
  };

  const checkChange = (fields: KeyFields, { grant }: Actor, violations: Violations): void =>
    checkKeyChange(fields, grant, now(), violations);

  return {
    /** The account of the keys that the actor creates; empty if each of them begins an account. */
    accountOfNew: ({ grant }: Actor): string => accountOf({ path: grant.range.path, ownerId: '' }),
    /** Reports fields that exceed the actor's grant. Throws `insufficient_scope` if only scopes exceed the grant. */
    checkNew: (fields: KeyFields, { grant }: Actor, violations: Violations): void =>
      checkNewKey(fields, grant, now(), violations),
    checkChange,
    async create(fields: KeyFields, actor: Actor): Promise<MadeKey> {
      const parsed = createApiKey();
      const row = toApiKeyRow(fields, { parsed, pepper, madeBy: makerOf(actor), grant: actor.grant, nowMs: now() });
      const { keyId, createdAtMs: atMs } = row;
      const audit = toAuditRow({ action: 'create', keyId, atMs, detail: toDetail(row) }, actor);
      const outcome = await rows.add(row, audit, { keysMax, nowMs: atMs });
      if (outcome === 'full') throw tooManyKeys();
      if (outcome === 'taken') throw new Error('the id part of the new key is taken');
      return { key: parsed.key, apiKey: toApiKey(row, atMs) };
    },
    /** Lists keys, newest first. `beforeKeyId` is the last key of the previous page. */
    async list(
      { grant }: Actor,
      { size, beforeKeyId }: { size: number; beforeKeyId?: string | undefined },
    ): Promise<ApiKey[]> {
      const nowMs = now();
      return (await rows.list(grant.range, size, beforeKeyId)).map((row) => toApiKey(row, nowMs));
    },
    async get(keyId: string, { grant }: Actor): Promise<ApiKey> {
      const row = await rows.findById(keyId, grant.range);
      if (!row) throw noSuchKey();
      return toApiKey(row, now());
    },
    async update(keyId: string, fields: KeyFields, actor: Actor): Promise<ApiKey> {
      const violations = new Violations();
      checkChange(fields, actor, violations);
      violations.throwIfAny();
      const { apiKey } = await change(keyId, actor, (row) => {
        checkNotRevoked(row);
        checkNotReplaced(row);
        const atMs = now();
        const changed = toApiKeyChange(row, fields, atMs);
        return { change: changed, audit: toAuditRow({ action: 'update', keyId, atMs, detail: changed }, actor) };
      });
      return apiKey;
    },
    /** Creates a successor with the same permissions. The old key expires after the grace period. */
    async rotate(keyId: string, graceSeconds: number, actor: Actor): Promise<MadeKey> {
      const nowMs = now();
      let made: MadeKey | undefined;
      await change(keyId, actor, (row) => {
        checkNotRevoked(row);
        checkNotReplaced(row);
        if (nowMs >= (row.expiresAtMs ?? Infinity)) throw unchangeable('This key has expired.');
        const parsed = createApiKey();
        const added = toSuccessorRow(row, { parsed, pepper, madeBy: makerOf(actor), grant: actor.grant, nowMs });
        made = { key: parsed.key, apiKey: toApiKey(added, nowMs) };
        const expiresAtMs = Math.min(row.expiresAtMs ?? Infinity, nowMs + graceSeconds * 1000);
        const changed = { expiresAtMs, replacedBy: added.keyId };
        return {
          change: changed,
          added,
          audit: toAuditRow({ action: 'rotate', keyId, atMs: nowMs, detail: changed }, actor),
        };
      });
      return made!;
    },
    /**
     * Permanently revokes the key, all keys that it made, including successors of itself, and all keys that these made. If
     * the key has no successor, the keys of its account and the valid keys that it replaced are revoked too. Rows stay in the table.
     */
    revoke: (keyId: string, actor: Actor): Promise<RevokedKey> =>
      change(keyId, actor, (row) => toRevocation(row, actor, now())),
  };
}

/** The id of the key, or else of the person, machine or operator. */
const makerOf = ({ accountId, grant }: Actor): string => grant.range.ownKeyId ?? accountId;

const tooManyKeys = () => {
  const message = `This account already has ${keysMax} keys, which is the limit. Revoke some of them.`;
  return new Failure('access_denied', { message, limit: keysMax, actual: keysMax });
};

const noSuchKey = () => new Failure('not_found', { message: 'API key not found.' });
const unchangeable = (message: string) =>
  new Failure('invalid_request', { message, details: [{ field: 'id', reason: 'state', message }] });

function toRevocation({ keyId, revokedAtMs }: ApiKeyRow, actor: Actor, atMs: number): ApiKeyDecision {
  const toAudit = (endedId: string, detail: object = { with: keyId }) =>
    toAuditRow({ action: 'revoke', keyId: endedId, atMs, detail }, actor);
  return { change: { revokedAtMs: revokedAtMs ?? atMs }, audit: toAudit(keyId, {}), ending: { atMs, toAudit } };
}

function checkNotRevoked({ revokedAtMs }: ApiKeyRow): void {
  if (revokedAtMs !== null) throw unchangeable('This key is revoked and cannot be changed.');
}

function checkNotReplaced({ replacedBy }: ApiKeyRow): void {
  if (replacedBy !== null)
    throw unchangeable('This key has been replaced and ends with its grace period. Change its successor instead.');
}

const toDetail = ({ hash: _, hashKind: __, idPart: ___, ...row }: ApiKeyRow) => row;
