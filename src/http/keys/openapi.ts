// The OpenAPI documentation of /api/auth/api-keys.
import { usualLimits } from '../../access/key-limits.ts';
import { defaultScopes, scopes } from '../../access/scopes.ts';
import { keyOperations } from '../../api/operation.ts';
import { pageOf, pageParameters } from '../page-query.ts';
import {
  describeObject,
  documentOperation,
  jsonAnswer,
  nullableText,
  nullableTime,
  objectSchema,
  pathId,
  type RouteDocs,
  type Schema,
  text,
} from '../route-docs.ts';

const texts: Schema = { type: ['array', 'null'], items: { type: 'string' } };
const whole = (description: string, maximum: number): Schema => ({
  type: ['integer', 'null'],
  minimum: 1,
  maximum,
  description,
});
const limitsSchema: Schema = {
  title: 'KeyLimits',
  description: 'Limits of the key.',
  type: 'object',
  properties: {
    requests_per_minute: whole(`Default: ${usualLimits.requestsPerMinute}.`, 1_000_000),
    concurrency: whole(`Concurrent syntheses. Default: ${usualLimits.concurrency}.`, 10_000),
    characters_per_month: whole('Per calendar month (UTC); null for no limit.', 1_000_000_000_000),
  },
};
const purpose = 'What the key is for.';
const allowedScopes = 'What the key may do.';
const voiceIds = 'Voices that the key may use; null for all.';
const allowedIps = 'Addresses and CIDR blocks that may use the key; null for any.';
const keyFieldsSchema: Schema = {
  title: 'KeySpec',
  type: 'object',
  properties: {
    name: { type: ['string', 'null'], minLength: 1, maxLength: 100, default: 'unnamed', description: purpose },
    scopes: {
      type: ['array', 'null'],
      items: { type: 'string', enum: scopes },
      default: defaultScopes,
      description: allowedScopes,
    },
    expires_in_days: { type: ['integer', 'null'], minimum: 1, maximum: 3650, description: 'Null: it does not expire.' },
    voice_ids: { ...texts, maxItems: 100, description: voiceIds },
    allowed_ips: { ...texts, maxItems: 100, description: allowedIps },
    limits: limitsSchema,
  },
};
const key = describeObject('ApiKey', {
  id: [text('Identifies the key; not a secret.'), 'key_01JD3Q8S6V5W2K9YB4XJ7M0C3F'],
  hint: [text('The first characters of the key.'), 'snt_4Fq9ZtR1xW'],
  name: [text(purpose), 'laptop'],
  scopes: [{ type: 'array', items: { type: 'string' }, description: allowedScopes }, defaultScopes],
  status: [text('Whether the key can be used.', { enum: ['active', 'expired', 'revoked'] }), 'active'],
  created_at: [text('When it was created.', { format: 'date-time' }), '2030-01-02T03:04:05.000Z'],
  expires_at: [nullableTime('When it expires; null if it does not.'), '2030-04-02T03:04:05.000Z'],
  last_used_at: [nullableTime('When it was last used, to the minute; null if it never was.'), null],
  revoked_at: [nullableTime('When it was revoked; null if it was not.'), null],
  voice_ids: [{ ...texts, description: voiceIds }, null],
  allowed_ips: [{ ...texts, description: allowedIps }, null],
  limits: [limitsSchema, { requests_per_minute: 600, concurrency: 20, characters_per_month: null }],
  replaced_by: [nullableText('Id of the key that replaces it.'), null],
  made_by: [nullableText('Id of the key or the person that created it.'), 'key_01JCZZ8S6V5W2K9YB4XJ7M0C3F'],
});
const secret = text('The key itself, returned only this once.');
const madeSchema = objectSchema('MadeApiKey', { ...(key.schema.properties as Record<string, Schema>), key: secret });
const madeExample = { ...key.example, key: `snt_4Fq9ZtR1xW_${'0'.repeat(49)}` };

/** Of a request to replace a secret. */
export const rotationSchema = (title: string, description: string): Schema => ({
  title,
  type: 'object',
  properties: {
    grace_seconds: { type: 'integer', minimum: 0, maximum: 2_592_000, default: 86_400, description },
  },
});

const id = pathId('Id of the key.', key.example.id, 'key_');
const uncached = ['Cache-Control'] as const;
const found = (description: string) => ({ 200: jsonAnswer(description, key.schema, key.example, uncached) });
const made = { 201: jsonAnswer('The key.', madeSchema, madeExample, ['Location', ...uncached]) };
const revoked = {
  204: { description: 'The key is revoked.', headers: ['X-Descendants-Revoked', ...uncached] as const },
};
const own = { tag: 'Keys' } as const;
const usual = { ...own, bearer: 'token' } as const;
const byToken = 'A bearer token of `/oauth/get-key` is accepted in place of a key.';

export const keyDocs = {
  create: {
    ...usual,
    ...documentOperation(keyOperations.createApiKey),
    summary: 'Create an API key',
    description: `The secret is returned only in this response. A key never has more rights than the keys that it descends from, and its calls count for their limits too. At most 1000 keys descend from a key. Unknown members are refused. ${byToken}`,
    body: { schema: keyFieldsSchema, examples: { laptop: { name: 'laptop', expires_in_days: 90 } }, isOptional: true },
    answers: made,
    failures: ['access_denied', 'storage_full'],
  },
  list: {
    ...usual,
    ...documentOperation(keyOperations.listApiKeys),
    summary: 'List API keys',
    description: `The key of the request, the keys that it created, and the keys that those created. ${byToken}`,
    parameters: pageParameters,
    answers: { 200: pageOf('ApiKeyPage', 'api_keys', key, 'Newest first.', uncached) },
    failures: [],
  },
  get: {
    ...usual,
    ...documentOperation(keyOperations.getApiKey),
    summary: 'Get an API key',
    parameters: [id],
    answers: found('The key.'),
    failures: ['not_found'],
  },
  update: {
    ...usual,
    ...documentOperation(keyOperations.updateApiKey),
    summary: 'Update an API key',
    description: 'Members that are left out stay unchanged; null resets to the default. Unknown members are refused.',
    parameters: [id],
    body: { schema: keyFieldsSchema, examples: { slower: { limits: { requests_per_minute: 60 } } } },
    answers: found('The updated key.'),
    failures: ['not_found', 'storage_full'],
  },
  rotate: {
    ...usual,
    ...documentOperation(keyOperations.rotateApiKey),
    summary: 'Replace an API key',
    description:
      'Creates a key with the same settings. Both keys are valid until the grace period ends. The new key never has more rights than the caller.',
    parameters: [id],
    body: {
      schema: rotationSchema('Rotation', 'How long the old key stays valid, in seconds.'),
      examples: { hour: { grace_seconds: 3600 } },
      isOptional: true,
    },
    answers: made,
    failures: ['not_found', 'storage_full'],
  },
  revoke: {
    ...usual,
    ...documentOperation(keyOperations.revokeApiKey),
    summary: 'Revoke an API key',
    description:
      'Permanent. The keys that descend from it are revoked with it, and those it has replaced that are still valid; a key that was replaced itself is revoked alone. Open streams end within a second.',
    parameters: [id],
    answers: revoked,
    failures: ['not_found', 'storage_full'],
  },
  getOwn: {
    ...own,
    ...documentOperation(keyOperations.getOwnApiKey),
    summary: 'Get the API key of the request',
    description: 'With what it may do at present: what it was given, and all keys that it descends from still may.',
    answers: found('The key.'),
    failures: [],
  },
  revokeOwn: {
    ...own,
    ...documentOperation(keyOperations.revokeOwnApiKey),
    summary: 'Revoke the API key of the request',
    description:
      'The keys that descend from it are revoked with it, and those it has replaced that are still valid; a key that was replaced itself is revoked alone.',
    answers: revoked,
    failures: [],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
