// What the routes of /api/auth/api-keys do, for those who call them.
import { defaultScopes, scopes } from '../../keys/scopes.ts';
import { usualLimits } from '../../limits/key-limits.ts';
import { keyOperations } from '../../operations/operation.ts';
import { pageParameters } from '../http/page-query.ts';
import type { Parameter, RouteDocs, Schema } from '../http/route-docs.ts';

const { createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey } = keyOperations;

const text: Schema = { type: 'string' };
const texts: Schema = { type: ['array', 'null'], items: text };
const time = (description: string): Schema => ({ type: ['string', 'null'], format: 'date-time', description });
const whole = (description: string, maximum: number): Schema => ({
  type: ['integer', 'null'],
  minimum: 1,
  maximum,
  description,
});
const limitsSchema: Schema = {
  title: 'KeyLimits',
  description: 'How much it may do.',
  type: 'object',
  properties: {
    requests_per_minute: whole(`Usually ${usualLimits.requestsPerMinute}.`, 1_000_000),
    concurrency: whole(`Syntheses at once; usually ${usualLimits.concurrency}.`, 10_000),
    characters_per_month: whole('In a calendar month (UTC); null is no limit.', 1_000_000_000_000),
  },
};
const asked: Readonly<Record<string, Schema>> = {
  name: { type: ['string', 'null'], minLength: 1, maxLength: 100, default: 'unnamed', description: 'What it is for.' },
  scopes: {
    type: ['array', 'null'],
    items: { type: 'string', enum: scopes },
    default: defaultScopes,
    description: 'What it may do.',
  },
  expires_in_days: { type: ['integer', 'null'], minimum: 1, maximum: 3650, description: 'Null: it does not.' },
  voice_ids: { ...texts, maxItems: 100, description: 'Voices that it may speak with; null for all.' },
  allowed_ips: { ...texts, maxItems: 100, description: 'Addresses and CIDR blocks to use it from; null for any.' },
  limits: limitsSchema,
};
const askedSchema: Schema = { title: 'KeySpec', type: 'object', properties: asked };
const keySchema: Schema = {
  title: 'ApiKey',
  type: 'object',
  required: [
    ...['id', 'hint', 'name', 'scopes', 'status', 'created_at', 'expires_at', 'last_used_at', 'revoked_at'],
    ...['voice_ids', 'allowed_ips', 'limits', 'replaced_by', 'made_by'],
  ],
  properties: {
    id: { ...text, description: 'Names the key; it is not the key.' },
    hint: { ...text, description: 'How the key begins.' },
    name: { ...text, description: 'What it is for.' },
    scopes: { type: 'array', items: text, description: 'What it may do.' },
    status: { ...text, enum: ['active', 'expired', 'revoked'], description: 'Whether it can be used.' },
    created_at: { type: 'string', format: 'date-time', description: 'When it was made.' },
    expires_at: time('When it ends by itself; null if it does not.'),
    last_used_at: time('When it was last used, to the minute; null if it never was.'),
    revoked_at: time('When it was revoked; null if it was not.'),
    voice_ids: { ...texts, description: 'Voices that it may speak with; null for all.' },
    allowed_ips: { ...texts, description: 'Addresses and CIDR blocks to use it from; null for any.' },
    limits: limitsSchema,
    replaced_by: { type: ['string', 'null'], description: 'Id of the key that has taken its place.' },
    made_by: { type: ['string', 'null'], description: 'Id of the key or the person that made it.' },
  },
};
const madeSchema: Schema = {
  title: 'MadeApiKey',
  type: 'object',
  required: ['key', ...(keySchema.required as string[])],
  properties: {
    ...(keySchema.properties as Record<string, Schema>),
    key: { ...text, description: 'The key itself. It is shown now and never again.' },
  },
};
const pageSchema: Schema = {
  title: 'ApiKeyPage',
  type: 'object',
  required: ['api_keys', 'next_cursor'],
  properties: {
    api_keys: { type: 'array', items: keySchema, description: 'The newest first.' },
    next_cursor: { type: ['string', 'null'], description: 'Where the next page begins; null on the last one.' },
  },
};

const exampleId = 'key_01JD3Q8S6V5W2K9YB4XJ7M0C3F';
const exampleKey = {
  ...{ id: exampleId, hint: 'snt_4Fq9ZtR1xW', name: 'laptop', scopes: defaultScopes, status: 'active' },
  ...{ created_at: '2030-01-02T03:04:05.000Z', expires_at: '2030-04-02T03:04:05.000Z', last_used_at: null },
  ...{ revoked_at: null, voice_ids: null, allowed_ips: null },
  limits: { requests_per_minute: 600, concurrency: 20, characters_per_month: null },
  ...{ replaced_by: null, made_by: 'key_01JCZZ8S6V5W2K9YB4XJ7M0C3F' },
};

const id: Parameter = {
  in: 'path',
  name: 'id',
  description: 'Id of the key.',
  schema: text,
  required: true,
  example: exampleId,
};
const one = (description: string, example: unknown = exampleKey, schema = keySchema) => ({
  description,
  headers: ['Cache-Control', 'X-Ignored-Fields'] as const,
  content: { 'application/json': { schema, example } },
});
const madeExample = { ...exampleKey, key: `snt_4Fq9ZtR1xW_${'0'.repeat(49)}` };
const made = {
  201: {
    ...one('The key.', madeExample, madeSchema),
    headers: ['Location', 'Cache-Control', 'X-Ignored-Fields'] as const,
  },
};
const gone = { 204: { description: 'It is revoked.', headers: ['Cache-Control'] as const } };
const usual = { tag: 'Keys', bearer: 'token' } as const;
const byToken = 'A bearer token of `/oauth/get-key` will do in place of a key.';

export const keyDocs = {
  create: {
    id: 'createApiKey',
    ...usual,
    summary: 'Make an API key',
    description: `The answer is the only place where the key is ever shown. It never exceeds the key that makes it. ${byToken}`,
    scopes: createApiKey.scopes,
    body: { schema: askedSchema, examples: { laptop: { name: 'laptop', expires_in_days: 90 } }, isOptional: true },
    answers: made,
    failures: ['storage_full'],
  },
  list: {
    id: 'listApiKeys',
    ...usual,
    summary: 'List API keys',
    description: `The newest first: those that this key has made, those that they have made, and itself. ${byToken}`,
    scopes: listApiKeys.scopes,
    parameters: pageParameters,
    answers: { 200: one('A page of keys.', { api_keys: [exampleKey], next_cursor: null }, pageSchema) },
    failures: [],
  },
  get: {
    id: 'getApiKey',
    ...usual,
    summary: 'Tell of an API key',
    scopes: getApiKey.scopes,
    parameters: [id],
    answers: { 200: one('The key.') },
    failures: ['not_found'],
  },
  update: {
    id: 'updateApiKey',
    ...usual,
    summary: 'Change an API key',
    description: 'Members that are left out stay as they are; null brings back the default.',
    scopes: updateApiKey.scopes,
    parameters: [id],
    body: { schema: askedSchema, examples: { slower: { limits: { requests_per_minute: 60 } } } },
    answers: { 200: one('The key as it is now.') },
    failures: ['not_found', 'storage_full'],
  },
  rotate: {
    id: 'rotateApiKey',
    ...usual,
    summary: 'Replace an API key',
    description:
      'Makes a key like it, which takes its place. Both are good until the grace is over. It never exceeds who asks.',
    scopes: rotateApiKey.scopes,
    parameters: [id],
    body: {
      schema: {
        title: 'Rotation',
        type: 'object',
        properties: {
          grace_seconds: {
            type: 'integer',
            minimum: 0,
            maximum: 2_592_000,
            default: 86_400,
            description: 'How long the old key stays good, in seconds.',
          },
        },
      },
      examples: { hour: { grace_seconds: 3600 } },
      isOptional: true,
    },
    answers: made,
    failures: ['not_found', 'storage_full'],
  },
  revoke: {
    id: 'revokeApiKey',
    ...usual,
    summary: 'End an API key',
    description: 'For good, and with it its open streams within a second. Keys that it has made stay.',
    scopes: revokeApiKey.scopes,
    parameters: [id],
    answers: gone,
    failures: ['not_found', 'storage_full'],
  },
  getOwn: {
    id: 'getOwnApiKey',
    ...usual,
    summary: 'Tell of the API key that is used',
    scopes: [],
    answers: { 200: one('The key.') },
    failures: [],
  },
  revokeOwn: {
    id: 'revokeOwnApiKey',
    ...usual,
    summary: 'End the API key that is used',
    scopes: [],
    answers: gone,
    failures: [],
  },
} as const satisfies Readonly<Record<string, RouteDocs>>;
