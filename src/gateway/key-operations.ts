// What the routes of /api/auth/api-keys do, for those who call them.
import { ApiKeyService } from '../../gen/sonant/v1/api_key_pb.ts';
import { usualLimits } from '../access/key-limits.ts';
import { defaultScopes, scopes } from '../access/scope.ts';
import { requiredScopesOf } from '../rpc/gate.ts';
import type { Operation, Parameter, Schema } from './operation.ts';
import { pageParameters } from './page-query.ts';

const { createApiKey, listApiKeys, getApiKey, updateApiKey, rotateApiKey, revokeApiKey } = ApiKeyService.method;

const text: Schema = { type: 'string' };
const texts: Schema = { type: ['array', 'null'], items: text };
const nullableTime: Schema = { type: ['string', 'null'], format: 'date-time' };
const whole = (description: string, maximum: number): Schema => ({
  type: ['integer', 'null'],
  minimum: 1,
  maximum,
  description,
});
const limitsSchema: Schema = {
  title: 'KeyLimits',
  type: 'object',
  properties: {
    requests_per_minute: whole(`Usually ${usualLimits.requestsPerMinute}.`, 1_000_000),
    concurrency: whole(`Syntheses at once; usually ${usualLimits.concurrency}.`, 10_000),
    characters_per_month: whole('In a calendar month (UTC); null is no limit.', 1_000_000_000_000),
  },
};
const asked: Readonly<Record<string, Schema>> = {
  name: { type: ['string', 'null'], minLength: 1, maxLength: 100, default: 'unnamed', description: 'What it is for.' },
  scopes: { type: ['array', 'null'], items: { type: 'string', enum: scopes }, default: defaultScopes },
  expires_in_days: { type: ['integer', 'null'], minimum: 1, maximum: 3650, description: 'Null: it does not.' },
  voice_ids: { ...texts, maxItems: 100, description: 'Voices that it may speak with; null for all.' },
  allowed_ips: { ...texts, maxItems: 100, description: 'Addresses and CIDR blocks to use it from; null for any.' },
  limits: limitsSchema,
};
const askedSchema: Schema = { title: 'KeySpec', type: 'object', properties: asked };
const keySchema: Schema = {
  title: 'ApiKey',
  type: 'object',
  required: ['id', 'hint', 'name', 'scopes', 'status', 'created_at', 'expires_at', 'last_used_at', 'limits'],
  properties: {
    id: text,
    hint: { ...text, description: 'How the key begins.' },
    name: text,
    scopes: { type: 'array', items: text },
    status: { ...text, enum: ['active', 'expired', 'revoked'] },
    created_at: { type: 'string', format: 'date-time' },
    expires_at: nullableTime,
    last_used_at: nullableTime,
    revoked_at: nullableTime,
    voice_ids: texts,
    allowed_ips: texts,
    limits: limitsSchema,
    replaced_by: { type: ['string', 'null'], description: 'Id of the key that has taken its place.' },
    made_by: { type: ['string', 'null'], description: 'Id of the key or the person that made it.' },
  },
};
const madeSchema: Schema = {
  title: 'MadeApiKey',
  type: 'object',
  required: ['id', 'key'],
  properties: {
    ...(keySchema.properties as Record<string, Schema>),
    key: { ...text, description: 'The key itself. It is shown now and never again.' },
  },
};
const pageSchema: Schema = {
  title: 'ApiKeyPage',
  type: 'object',
  required: ['api_keys', 'next_cursor'],
  properties: { api_keys: { type: 'array', items: keySchema }, next_cursor: { type: ['string', 'null'] } },
};

const id: Parameter = { in: 'path', name: 'id', description: 'Id of the key.', schema: text, required: true };
const one = (description: string, schema = keySchema) => ({ description, content: { 'application/json': { schema } } });
const made = { 201: { ...one('The key.', madeSchema), headers: ['Location'] as const } };
const common = ['invalid_api_key', 'insufficient_scope', 'access_denied', 'overloaded', 'storage_unavailable'] as const;
const byToken = 'A bearer token of `/oauth/get-key` will do in place of a key.';

export const keyOperations = {
  create: {
    id: 'createApiKey',
    tag: 'Keys',
    summary: 'Make an API key',
    description: `The answer is the only place where the key is ever shown. It never exceeds the key that makes it. ${byToken}`,
    scopes: requiredScopesOf(createApiKey),
    body: { schema: askedSchema, examples: { laptop: { name: 'laptop', expires_in_days: 90 } } },
    answers: made,
    failures: ['invalid_request', ...common, 'storage_full'],
  },
  list: {
    id: 'listApiKeys',
    tag: 'Keys',
    summary: 'List API keys',
    description: `The newest first: those that this key has made, those that they have made, and itself. ${byToken}`,
    scopes: requiredScopesOf(listApiKeys),
    parameters: pageParameters,
    answers: { 200: one('A page of keys.', pageSchema) },
    failures: ['invalid_request', ...common],
  },
  get: {
    id: 'getApiKey',
    tag: 'Keys',
    summary: 'Tell of an API key',
    scopes: requiredScopesOf(getApiKey),
    parameters: [id],
    answers: { 200: one('The key.') },
    failures: [...common, 'not_found'],
  },
  update: {
    id: 'updateApiKey',
    tag: 'Keys',
    summary: 'Change an API key',
    description: 'Members that are left out stay as they are; null brings back the default.',
    scopes: requiredScopesOf(updateApiKey),
    parameters: [id],
    body: { schema: askedSchema, examples: { slower: { limits: { requests_per_minute: 60 } } } },
    answers: { 200: one('The key as it is now.') },
    failures: ['invalid_request', ...common, 'not_found', 'storage_full'],
  },
  rotate: {
    id: 'rotateApiKey',
    tag: 'Keys',
    summary: 'Replace an API key',
    description:
      'Makes a key like it, which takes its place. Both are good until the grace is over. It never exceeds who asks.',
    scopes: requiredScopesOf(rotateApiKey),
    parameters: [id],
    body: {
      schema: {
        title: 'Rotation',
        type: 'object',
        properties: { grace_seconds: { type: 'integer', minimum: 0, maximum: 2_592_000, default: 86_400 } },
      },
      examples: { hour: { grace_seconds: 3600 } },
    },
    answers: made,
    failures: ['invalid_request', ...common, 'not_found', 'storage_full'],
  },
  revoke: {
    id: 'revokeApiKey',
    tag: 'Keys',
    summary: 'End an API key',
    description: 'For good, and with it its open streams within a second. Keys that it has made stay.',
    scopes: requiredScopesOf(revokeApiKey),
    parameters: [id],
    answers: { 204: { description: 'It is revoked.' } },
    failures: [...common, 'not_found', 'storage_full'],
  },
  getOwn: {
    id: 'getOwnApiKey',
    tag: 'Keys',
    summary: 'Tell of the API key that is used',
    scopes: [],
    answers: { 200: one('The key.') },
    failures: common,
  },
  revokeOwn: {
    id: 'revokeOwnApiKey',
    tag: 'Keys',
    summary: 'End the API key that is used',
    scopes: [],
    answers: { 204: { description: 'It is revoked.' } },
    failures: common,
  },
} as const satisfies Readonly<Record<string, Operation>>;
