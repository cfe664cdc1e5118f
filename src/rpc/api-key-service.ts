// sonant.v1.ApiKeyService: converts messages to calls of the key operations, and their results to messages.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type ApiKeySchema,
  type ApiKeyService,
  type ApiKeySpec,
  ApiKeyStatus,
  type CreateApiKeyRequest,
  type UpdateApiKeyRequest,
  type WebhookSecretSchema,
} from '../../gen/sonant/v1/api_key_pb.ts';
import type { ApiKey } from '../access/api-key-record.ts';
import type { KeyFields } from '../access/key-fields.ts';
import type { MadeKey, RevokedKey } from '../access/key-management.ts';
import { defaultScopes } from '../access/scopes.ts';
import type { KeyOperations } from '../api/keys.ts';
import { parsePage } from '../api/page.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import type { WebhookSecret } from '../webhooks/webhook-secrets.ts';
import { callOf } from './calls.ts';
import { requirePaths, requireText, unknownFields } from './required.ts';

export function createApiKeyService(keys: KeyOperations): ServiceImpl<typeof ApiKeyService> {
  return {
    async createApiKey(message, context) {
      const fields = { ...toKeyFields(message.spec), violations: unknownOf(message) };
      return toMade(await keys.createApiKey(callOf(context), fields));
    },
    async listApiKeys(message, context) {
      const violations: FieldViolation[] = [];
      const page = parsePage(message, ['api_keys'], violations);
      if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
      const { items, nextCursor } = await keys.listApiKeys(callOf(context), page);
      return { apiKeys: items.map(toMessage), nextCursor };
    },
    async getApiKey({ keyId }, context) {
      return { apiKey: toMessage(await keys.getApiKey(callOf(context), required(keyId))) };
    },
    async updateApiKey(message, context) {
      const fields = { ...toKeyChange(message), violations: unknownOf(message) };
      return { apiKey: toMessage(await keys.updateApiKey(callOf(context), required(message.keyId), fields)) };
    },
    async rotateApiKey(message, context) {
      const { keyId, graceSeconds } = message;
      const details = unknownFields({ message });
      if (details.length > 0) throw new Failure('invalid_request', { details });
      return toMade(await keys.rotateApiKey(callOf(context), required(keyId), graceSeconds));
    },
    async revokeApiKey({ keyId }, context) {
      return toRevoked(await keys.revokeApiKey(callOf(context), required(keyId)));
    },
    async getOwnApiKey(_message, context) {
      return { apiKey: toMessage(await keys.getOwnApiKey(callOf(context))) };
    },
    async revokeOwnApiKey(_message, context) {
      return toRevoked(await keys.revokeOwnApiKey(callOf(context)));
    },
    async getOwnWebhookSecret(_message, context) {
      return { webhookSecret: toSecret(await keys.getOwnWebhookSecret(callOf(context))) };
    },
    async rotateOwnWebhookSecret(message, context) {
      const details = unknownFields({ message });
      if (details.length > 0) throw new Failure('invalid_request', { details });
      const made = await keys.rotateOwnWebhookSecret(callOf(context), message.graceSeconds);
      return { secret: made.secret, webhookSecret: toSecret(made) };
    },
  };
}

const required = (keyId: string) => requireText('key_id', keyId, 'name the key');

/** A field of a newer version could be a limit, without which the key would be worth more. */
const unknownOf = (message: CreateApiKeyRequest | UpdateApiKeyRequest) =>
  unknownFields({ message, spec: message.spec, 'spec.limits': message.spec?.limits });

const unlessEmpty = <T>(items: readonly T[] | undefined) => (items && items.length > 0 ? items : undefined);

const toKeyFields = (spec: ApiKeySpec | undefined): KeyFields => ({
  name: spec?.name || undefined,
  scopes: unlessEmpty(spec?.scopes),
  expiresInDays: spec?.expiresInDays,
  voiceIds: unlessEmpty(spec?.voiceIds),
  allowedIps: unlessEmpty(spec?.allowedIps),
  limits: {
    requestsPerMinute: spec?.limits?.requestsPerMinute,
    concurrency: spec?.limits?.concurrency,
    charactersPerMonth: toNumber(spec?.limits?.charactersPerMonth),
  },
});

const toNumber = (count: bigint | undefined) => (count === undefined ? undefined : Number(count));

/** The change for each path of the mask; a field that is not set is reset to its default. */
const changes: Readonly<Record<string, (fields: KeyFields) => KeyFields>> = {
  name: ({ name = 'unnamed' }) => ({ name }),
  scopes: ({ scopes = defaultScopes }) => ({ scopes }),
  expires_in_days: ({ expiresInDays = null }) => ({ expiresInDays }),
  voice_ids: ({ voiceIds = null }) => ({ voiceIds }),
  allowed_ips: ({ allowedIps = null }) => ({ allowedIps }),
  limits: ({ limits: { requestsPerMinute = null, concurrency = null, charactersPerMonth = null } = {} }) => ({
    limits: { requestsPerMinute, concurrency, charactersPerMonth },
  }),
  'limits.requests_per_minute': ({ limits }) => ({ limits: { requestsPerMinute: limits?.requestsPerMinute ?? null } }),
  'limits.concurrency': ({ limits }) => ({ limits: { concurrency: limits?.concurrency ?? null } }),
  'limits.characters_per_month': ({ limits }) => ({
    limits: { charactersPerMonth: limits?.charactersPerMonth ?? null },
  }),
};

function toKeyChange({ spec, updateMask }: UpdateApiKeyRequest): KeyFields {
  const paths = requirePaths(updateMask, changes);
  const fields = toKeyFields(spec);
  const parts = paths.map((path) => changes[path]!(fields));
  const limits = Object.assign({}, ...parts.map((part) => part.limits));
  return { ...Object.assign({}, ...parts), ...(parts.some((part) => part.limits) && { limits }) };
}

const toMade = ({ key, apiKey }: MadeKey) => ({ key, apiKey: toMessage(apiKey) });

const toRevoked = ({ apiKey, othersRevoked }: RevokedKey) => ({
  apiKey: toMessage(apiKey),
  descendantsRevoked: othersRevoked,
});

const toTime = (ms: number | undefined) => (ms === undefined ? undefined : timestampFromMs(ms));

function toSecret({ hint, createdAtMs, formerUntilMs }: WebhookSecret): MessageInitShape<typeof WebhookSecretSchema> {
  const createdAt = timestampFromMs(createdAtMs);
  return { hint, createdAt, ...(formerUntilMs !== undefined && { formerExpiresAt: timestampFromMs(formerUntilMs) }) };
}

const statuses = {
  active: ApiKeyStatus.ACTIVE,
  expired: ApiKeyStatus.EXPIRED,
  revoked: ApiKeyStatus.REVOKED,
} as const;

function toMessage({ limits, ...key }: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  const { requestsPerMinute, concurrency, charactersPerMonth } = limits;
  const times = {
    createdAt: toTime(key.createdAtMs),
    expiresAt: toTime(key.expiresAtMs),
    lastUsedAt: toTime(key.lastUsedAtMs),
    revokedAt: toTime(key.revokedAtMs),
  };
  return {
    id: key.keyId,
    hint: key.hint,
    name: key.name,
    scopes: [...key.scopes],
    status: statuses[key.status],
    ...(Object.fromEntries(Object.entries(times).filter(([, time]) => time)) as object),
    voiceIds: [...(key.voiceIds ?? [])],
    allowedIps: [...(key.allowedIps ?? [])],
    limits: {
      requestsPerMinute,
      concurrency,
      ...(charactersPerMonth !== undefined && { charactersPerMonth: BigInt(charactersPerMonth) }),
    },
    replacedBy: key.replacedBy ?? '',
    madeBy: key.madeBy ?? '',
  };
}
