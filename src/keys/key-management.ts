// Where keys are made, looked at, changed, replaced and ended: for whoever holds a grant, within that grant, and with a
// record of every change. Keys outside the grant do not exist here.
import { Failure } from '../errors.ts';
import type { ApiKeyRow, ApiKeyRows } from '../store/api-key-rows.ts';
import { type Actor, toAuditRow } from './actor.ts';
import { createApiKey, type Pepper } from './api-key.ts';
import { type ApiKey, toApiKey, toApiKeyChange, toApiKeyRow, toSuccessorRow } from './api-key-record.ts';
import type { KeyFields } from './key-fields.ts';

/** A key that was just made; `key` is shown to its owner now and never again. */
export interface MadeKey {
  key: string;
  apiKey: ApiKey;
}

export interface KeyManagement {
  create(asked: KeyFields, actor: Actor): Promise<MadeKey>;
  /** The newest first; `beforeKeyId` is the last of the list before. */
  list(actor: Actor, page: { size: number; beforeKeyId?: string | undefined }): Promise<ApiKey[]>;
  get(keyId: string, actor: Actor): Promise<ApiKey>;
  update(keyId: string, asked: KeyFields, actor: Actor): Promise<ApiKey>;
  /** Makes a key that takes the place of this one, which ends when the grace is over. */
  rotate(keyId: string, graceSeconds: number, actor: Actor): Promise<MadeKey>;
  /** Ends the key for good. Its row stays. */
  revoke(keyId: string, actor: Actor): Promise<ApiKey>;
}

export interface ChangedKey {
  keyId: string;
  ownerId: string;
  /** Whether it is good for nothing any more, for ever. */
  isEnded: boolean;
}

export interface KeyManagementOptions {
  rows: ApiKeyRows;
  pepper?: Pepper | undefined;
  /** Told when a key has changed, before who changed it is. */
  onChange(changed: ChangedKey): void | Promise<void>;
  now?: () => number;
}

const graceSecondsMax = 30 * 24 * 3600;
/** Where none is asked for. */
export const graceSecondsUsual = 24 * 3600;

export function createKeyManagement({ rows, pepper, onChange, now = Date.now }: KeyManagementOptions): KeyManagement {
  const change = async (keyId: string, { grant }: Actor, decide: Parameters<ApiKeyRows['change']>[2]) => {
    const row = await rows.change(keyId, grant.range, decide);
    if (!row) throw noSuchKey();
    const apiKey = toApiKey(row, now());
    // One that has only expired may be given more time.
    const isEnded = apiKey.status === 'revoked' || (apiKey.status === 'expired' && apiKey.replacedBy !== undefined);
    await onChange({ keyId, ownerId: row.ownerId, isEnded });
    return apiKey;
  };

  return {
    async create(asked, actor) {
      const parsed = createApiKey();
      const row = toApiKeyRow(asked, { parsed, pepper, grant: actor.grant, nowMs: now() });
      const { keyId, createdAtMs: atMs } = row;
      const audit = toAuditRow({ action: 'create', keyId, atMs, detail: toDetail(row) }, actor);
      if (!(await rows.add(row, audit))) throw new Error('two keys were given one id part');
      return { key: parsed.key, apiKey: toApiKey(row, atMs) };
    },
    async list({ grant }, { size, beforeKeyId }) {
      const nowMs = now();
      return (await rows.list(grant.range, size, beforeKeyId)).map((row) => toApiKey(row, nowMs));
    },
    async get(keyId, { grant }) {
      const row = await rows.findById(keyId, grant.range);
      if (!row) throw noSuchKey();
      return toApiKey(row, now());
    },
    update: (keyId, asked, actor) =>
      change(keyId, actor, (row) => {
        checkNotRevoked(row);
        checkNotReplaced(row);
        const atMs = now();
        const changed = toApiKeyChange(row, asked, actor.grant, atMs);
        return { change: changed, audit: toAuditRow({ action: 'update', keyId, atMs, detail: changed }, actor) };
      }),
    async rotate(keyId, graceSeconds, actor) {
      if (!(Number.isInteger(graceSeconds) && graceSeconds >= 0 && graceSeconds <= graceSecondsMax)) {
        const message = `must be a whole number from 0 to ${graceSecondsMax}`;
        throw new Failure('invalid_request', { details: [{ field: 'grace_seconds', reason: 'range', message }] });
      }
      const nowMs = now();
      let made: MadeKey | undefined;
      await change(keyId, actor, (row) => {
        checkNotRevoked(row);
        checkNotReplaced(row);
        if (nowMs >= (row.expiresAtMs ?? Infinity)) throw unchangeable('This key has expired.');
        const parsed = createApiKey();
        const added = toSuccessorRow(row, { parsed, pepper, grant: actor.grant, nowMs });
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
    revoke: (keyId, actor) =>
      change(keyId, actor, ({ revokedAtMs }) => {
        const atMs = now();
        const audit = toAuditRow({ action: 'revoke', keyId, atMs, detail: {} }, actor);
        return { change: { revokedAtMs: revokedAtMs ?? atMs }, audit };
      }),
  };
}

const noSuchKey = () => new Failure('not_found', { message: 'There is no such API key.' });
const unchangeable = (message: string) =>
  new Failure('invalid_request', { message, details: [{ field: 'id', reason: 'state', message }] });

function checkNotRevoked({ revokedAtMs }: ApiKeyRow): void {
  if (revokedAtMs !== null) throw unchangeable('This key is revoked, and stays as it is.');
}

function checkNotReplaced({ replacedBy }: ApiKeyRow): void {
  if (replacedBy !== null) throw unchangeable('This key has been replaced, and ends when its grace is over.');
}

const toDetail = ({ hash: _, hashKind: __, idPart: ___, ...row }: ApiKeyRow) => row;
