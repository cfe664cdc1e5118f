// sonant.v1.ApiKeyService: the desk where keys are made and kept, in the words of the proto.

import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type ApiKeySchema,
  type ApiKeyService,
  type ApiKeySpec,
  ApiKeyStatus,
  type UpdateApiKeyRequest,
} from '../../gen/sonant/v1/api_key_pb.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import type { ApiKey } from '../keys/api-key-record.ts';
import type { KeyFields } from '../keys/key-fields.ts';
import { graceSecondsUsual, type KeyManagement, type MadeKey } from '../keys/key-management.ts';
import { defaultScopes } from '../keys/scopes.ts';
import { parsePage, toPageToken } from '../operations/page.ts';
import { actorOf, callerOf } from './call.ts';
import { requirePaths, requireText } from './required.ts';

export function createApiKeyService(desk: KeyManagement): ServiceImpl<typeof ApiKeyService> {
  return {
    async createApiKey({ spec }, context) {
      return toMade(await desk.create(toAsked(spec), actorOf(context)));
    },
    async listApiKeys(message, context) {
      const faults: FieldViolation[] = [];
      const { size, after } = parsePage(message, faults);
      if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
      // One more tells whether there is a page behind this one.
      const keys = await desk.list(actorOf(context), { size: size + 1, beforeKeyId: after });
      const page = keys.slice(0, size);
      const nextPageToken = keys.length > size ? toPageToken(page.at(-1)!.keyId) : '';
      return { apiKeys: page.map(toMessage), nextPageToken };
    },
    async getApiKey({ keyId }, context) {
      return { apiKey: toMessage(await desk.get(named(keyId), actorOf(context))) };
    },
    async updateApiKey(message, context) {
      const asked = toAskedChange(message);
      return { apiKey: toMessage(await desk.update(named(message.keyId), asked, actorOf(context))) };
    },
    async rotateApiKey({ keyId, graceSeconds = graceSecondsUsual }, context) {
      return toMade(await desk.rotate(named(keyId), graceSeconds, actorOf(context)));
    },
    async revokeApiKey({ keyId }, context) {
      return { apiKey: toMessage(await desk.revoke(named(keyId), actorOf(context))) };
    },
    async getOwnApiKey(_message, context) {
      return { apiKey: toMessage(await desk.get(callerOf(context).keyId, actorOf(context))) };
    },
    async revokeOwnApiKey(_message, context) {
      return { apiKey: toMessage(await desk.revoke(callerOf(context).keyId, actorOf(context))) };
    },
  };
}

const named = (keyId: string) => requireText('key_id', keyId, 'name the key');

const unlessEmpty = <T>(items: readonly T[] | undefined) => (items && items.length > 0 ? items : undefined);

const toAsked = (spec: ApiKeySpec | undefined): KeyFields => ({
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

/** What each path of the mask stands for, where its field is set and where it is not. */
const changes: Readonly<Record<string, (asked: KeyFields) => KeyFields>> = {
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

function toAskedChange({ spec, updateMask }: UpdateApiKeyRequest): KeyFields {
  const paths = requirePaths(updateMask, changes);
  const asked = toAsked(spec);
  const parts = paths.map((path) => changes[path]!(asked));
  const limits = Object.assign({}, ...parts.map((part) => part.limits));
  return { ...Object.assign({}, ...parts), ...(parts.some((part) => part.limits) && { limits }) };
}

const toMade = ({ key, apiKey }: MadeKey) => ({ key, apiKey: toMessage(apiKey) });

const toTime = (ms: number | undefined) => (ms === undefined ? undefined : timestampFromMs(ms));

const statuses = {
  active: ApiKeyStatus.ACTIVE,
  expired: ApiKeyStatus.EXPIRED,
  revoked: ApiKeyStatus.REVOKED,
} as const;

function toMessage({ limits, ...key }: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  const { requestsPerMinute, concurrency, charactersPerMonth } = limits;
  const times = {
    createTime: toTime(key.createdAtMs),
    expireTime: toTime(key.expiresAtMs),
    lastUseTime: toTime(key.lastUsedAtMs),
    revokeTime: toTime(key.revokedAtMs),
  };
  return {
    keyId: key.keyId,
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
