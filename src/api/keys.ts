// Handlers for API keys: callers create, list, change, replace and revoke keys, within the permissions of their own
// key. Also manages the secret that signs the webhooks of the caller's key.

import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  type ApiKeySchema,
  type ApiKeyService,
  type ApiKeySpec,
  ApiKeySpecSchema,
  ApiKeyStatusSchema,
  type CreateApiKeyRequest,
  type ListApiKeysRequest,
  type RotateApiKeyRequest,
  type RotateOwnWebhookSecretRequest,
  type UpdateApiKeyRequest,
  type WebhookSecretSchema,
} from '../../gen/sonant/v1/api_key_pb.ts';
import { type Accounts, type ApiKey, type KeyFields, keyDefaults, type VoiceUser } from '../accounts.ts';
import type { Violations } from '../contract.ts';
import type { Voices } from '../speech.ts';
import { actorOf } from './call.ts';
import { defined, pageOf, pathsOf, reportUnknown, toEnum, toPage, toTime, unlessEmpty } from './messages.ts';
import { checked, type Handlers } from './service-handlers.ts';

export interface KeyHandlersOptions {
  keys: Accounts['keys'];
  /** Default: there are no voices. */
  voices?: Voices | undefined;
  secrets: Accounts['webhookSecrets'];
}

export function createKeyHandlers({ keys, voices, secrets }: KeyHandlersOptions) {
  return {
    createApiKey: checked(
      (message: CreateApiKeyRequest, call, violations, { cleared }) => {
        reportUnknownOfSpec(message, violations);
        const given = toNewFields(message.spec, cleared);
        const { voiceIds } = call.caller;
        // A key created by the operator or an admin starts a new account.
        const accountId = keys.accountOfNew(actorOf(call));
        const user = { voiceIds, accountId, usesAllVoices: given.scopes?.includes('admin') };
        const fields = withVoiceIds(given, voices, user, violations);
        keys.checkNew(fields, actorOf(call), violations);
        return fields;
      },
      async (_message, call, fields) => toMade(await keys.create(fields, actorOf(call))),
    ),
    listApiKeys: checked(
      ({ limit, cursor }: ListApiKeysRequest, _call, violations) => pageOf({ limit, cursor }, ['api_keys'], violations),
      async (_message, call, page) => {
        // One extra row shows whether there is a next page.
        const found = await keys.list(actorOf(call), { size: page.size + 1, beforeKeyId: page.after });
        const { items, nextCursor } = toPage(found, page, ({ keyId }) => keyId);
        return { apiKeys: items.map(toKey), nextCursor };
      },
    ),
    getApiKey: async ({ keyId }, call) => ({ apiKey: toKey(await keys.get(keyId, actorOf(call))) }),
    updateApiKey: checked(
      async (message: UpdateApiKeyRequest, call, violations) => {
        const { keyId, spec, updateMask } = message;
        reportUnknownOfSpec(message, violations);
        const paths = pathsOf(ApiKeySpecSchema, updateMask, violations);
        const given = toChange(spec, paths);
        if (paths.size === 0 || violations.has('key_id')) return given;
        const { accountId, scopes } = await keys.get(keyId, actorOf(call));
        const usesAllVoices = (given.scopes ?? scopes).includes('admin');
        const user = { voiceIds: call.caller.voiceIds, accountId, usesAllVoices };
        const fields = withVoiceIds(given, voices, user, violations);
        keys.checkChange(fields, actorOf(call), violations);
        return fields;
      },
      async ({ keyId }, call, fields) => ({ apiKey: toKey(await keys.update(keyId, fields, actorOf(call))) }),
    ),
    rotateApiKey: checked(
      (message: RotateApiKeyRequest, _call, violations) => reportUnknown({ message }, violations),
      async ({ keyId, graceSeconds = keyDefaults.graceSeconds }, call) =>
        toMade(await keys.rotate(keyId, graceSeconds, actorOf(call))),
    ),
    revokeApiKey: async ({ keyId }, call) => toRevoked(await keys.revoke(keyId, actorOf(call))),
    /** Returns the effective permissions, as restricted by the account. */
    async getOwnApiKey(_message, call) {
      const { keyId, grant } = call.caller;
      const { scopes, voiceIds, allowedIps, limits, expiresAtMs } = grant;
      const key = await keys.get(keyId, actorOf(call));
      return { apiKey: toKey({ ...key, scopes, voiceIds, allowedIps, limits: limits ?? key.limits, expiresAtMs }) };
    },
    revokeOwnApiKey: async (_message, call) => toRevoked(await keys.revoke(call.caller.keyId, actorOf(call))),
    getOwnWebhookSecret: async (_message, { caller }) => ({ webhookSecret: toSecret(await secrets.get(caller.keyId)) }),
    rotateOwnWebhookSecret: checked(
      (message: RotateOwnWebhookSecretRequest, _call, violations) => reportUnknown({ message }, violations),
      async ({ graceSeconds = keyDefaults.graceSeconds }, call) => {
        const { secret, ...made } = await secrets.rotate(call.caller.keyId, graceSeconds, actorOf(call));
        return { secret, webhookSecret: toSecret(made) };
      },
    ),
  } satisfies Handlers<typeof ApiKeyService>;
}

/**
 * Reports unknown fields. An unknown field could be a limit that a newer version supports, and without that limit the
 * key would have more permissions than intended.
 */
const reportUnknownOfSpec = (message: CreateApiKeyRequest | UpdateApiKeyRequest, violations: Violations) =>
  reportUnknown({ message, spec: message.spec, 'spec.limits': message.spec?.limits }, violations);

/** Replaces aliases in the list of voices with voice ids. `user` is the holder of the new or changed key. */
function withVoiceIds(
  fields: KeyFields,
  voices: Voices | undefined,
  user: VoiceUser,
  violations: Violations,
): KeyFields {
  const isTooLong = violations.details.some(({ field }) => field === 'voice_ids');
  if (!fields.voiceIds || isTooLong) return fields;
  const usable = voices?.usableBy(user);
  const voiceIds = fields.voiceIds.map((name, i) => {
    const found = usable?.lookUp(name)?.voice.voiceId;
    // If the caller's key is limited to certain voices, the check of the grant reports any other name.
    if (found === undefined && (user.voiceIds?.includes(name) ?? true))
      violations.report(`voice_ids[${i}]`, 'voice_not_found', `${name} is not a voice that this key can use`);
    return found ?? name;
  });
  return { ...fields, voiceIds: [...new Set(voiceIds)] };
}

/**
 * The fields of a new key. A field that is null in JSON gets its default, which is refused if it exceeds the caller's
 * grant. An absent field gets its default, limited to the caller's grant.
 */
function toNewFields(spec: ApiKeySpec | undefined, cleared: readonly string[]): KeyFields {
  const fields = toFields(spec);
  const resets = toChange(spec, new Set(cleared));
  return { ...fields, ...resets, limits: { ...fields.limits, ...resets.limits } };
}

/** An empty list counts as absent, because gRPC cannot distinguish empty lists from absent lists. */
function toFields(spec: ApiKeySpec | undefined) {
  const { requestsPerMinute, concurrency, charactersPerMonth } = spec?.limits ?? {};
  return {
    name: spec?.name || undefined,
    scopes: unlessEmpty(spec?.scopes),
    expiresInDays: spec?.expiresInDays,
    voiceIds: unlessEmpty(spec?.voiceIds),
    allowedIps: unlessEmpty(spec?.allowedIps),
    limits: {
      requestsPerMinute,
      concurrency,
      charactersPerMonth: charactersPerMonth === undefined ? undefined : Number(charactersPerMonth),
    },
  } satisfies KeyFields;
}

/** The fields named by the paths. A named field without a value is reset to its default. */
function toChange(spec: ApiKeySpec | undefined, paths: ReadonlySet<string>): KeyFields {
  const { name = 'unnamed', scopes = keyDefaults.scopes, ...others } = toFields(spec);
  const { expiresInDays = null, voiceIds = null, allowedIps = null, limits: given } = others;
  const { requestsPerMinute = null, concurrency = null, charactersPerMonth = null } = given;
  const hasLimit = (limit: string) => paths.has('limits') || paths.has(`limits.${limit}`);
  const limits = {
    ...(hasLimit('requests_per_minute') && { requestsPerMinute }),
    ...(hasLimit('concurrency') && { concurrency }),
    ...(hasLimit('characters_per_month') && { charactersPerMonth }),
  };
  return {
    ...(paths.has('name') && { name }),
    ...(paths.has('scopes') && { scopes }),
    ...(paths.has('expires_in_days') && { expiresInDays }),
    ...(paths.has('voice_ids') && { voiceIds }),
    ...(paths.has('allowed_ips') && { allowedIps }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

const toMade = ({ key, apiKey }: { key: string; apiKey: ApiKey }) => ({ key, apiKey: toKey(apiKey) });

const toRevoked = ({ apiKey, othersRevoked }: { apiKey: ApiKey; othersRevoked: number }) => ({
  apiKey: toKey(apiKey),
  descendantsRevoked: othersRevoked,
});

type WebhookSecret = Awaited<ReturnType<Accounts['webhookSecrets']['get']>>;

const toSecret = ({ hint, createdAtMs, formerUntilMs }: WebhookSecret) =>
  defined({
    hint,
    createdAt: timestampFromMs(createdAtMs),
    formerExpiresAt: toTime(formerUntilMs),
  }) satisfies MessageInitShape<typeof WebhookSecretSchema>;

function toKey({ limits, ...key }: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  const { requestsPerMinute, concurrency, charactersPerMonth } = limits;
  return defined({
    id: key.keyId,
    hint: key.hint,
    name: key.name,
    scopes: [...key.scopes],
    status: toEnum(ApiKeyStatusSchema, key.status),
    createdAt: timestampFromMs(key.createdAtMs),
    expiresAt: toTime(key.expiresAtMs),
    lastUsedAt: toTime(key.lastUsedAtMs),
    revokedAt: toTime(key.revokedAtMs),
    voiceIds: key.voiceIds && [...key.voiceIds],
    allowedIps: key.allowedIps && [...key.allowedIps],
    limits: {
      requestsPerMinute,
      concurrency,
      ...(charactersPerMonth !== undefined && { charactersPerMonth: BigInt(charactersPerMonth) }),
    },
    replacedBy: key.replacedBy,
    madeBy: key.madeBy,
  });
}
