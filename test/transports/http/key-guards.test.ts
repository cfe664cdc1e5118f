// Tests that no form of a request gives a key more permissions than it states: null, empty lists, members of a newer
// version, and masks.
import { create, type Message } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, test } from 'vitest';
import {
  ApiKeyLimitsSchema,
  ApiKeyService,
  ApiKeySpecSchema,
  CreateApiKeyRequestSchema,
  RotateApiKeyRequestSchema,
  RotateOwnWebhookSecretRequestSchema,
  UpdateApiKeyRequestSchema,
} from '../../../gen/sonant/v1/api_key_pb.ts';
import { explain, failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { fromConnectError } from '../rpc/received-failure.ts';
import { managing, openKeyManagement } from './open-key-management.ts';

const { gateway, boss, bossKey, admin, send, make } = await openKeyManagement(afterAll);
const grpc = (await openCore(gateway, afterAll)).clientOf(ApiKeyService);
const listed = async () => (await send('')).json.api_keys as unknown[];

describe('null in a new key is the usual default, not what the maker has:', () => {
  const maker = make({ scopes: ['keys:write', 'voices:read'], limits: { requests_per_minute: 5 } }, admin);

  test.each([
    [{ scopes: null }, 403, 'insufficient_scope'],
    [{ limits: null }, 400, 'limits.requests_per_minute'],
    [{ limits: { requests_per_minute: null } }, 400, 'limits.requests_per_minute'],
    [{ name: null, voice_ids: null, allowed_ips: null, expires_in_days: null }, 201, 'unnamed'],
  ])('%j', async (body, status, told) => {
    const answer = await send('', body, { key: (await maker).key });
    expect([answer.status, JSON.stringify(answer.json)]).toEqual([status, expect.stringContaining(told)]);
  });
});

test.each(['scopes', 'voice_ids', 'allowed_ips'])(
  'an empty list of %s is refused, and changes nothing',
  async (field) => {
    const { id, ...before } = await make({ voice_ids: ['far'], allowed_ips: ['127.0.0.1'], scopes: ['voices:read'] });
    const count = (await listed()).length;
    for (const [path, method] of [
      ['', 'POST'],
      [`/${id}`, 'PATCH'],
    ] as const) {
      const { status, json } = await send(path, { [field]: [] }, { method });
      expect([status, json.details]).toMatchObject([400, [{ field, reason: 'length' }]]);
    }
    const { key: _, ...shown } = before;
    expect([(await listed()).length, (await send(`/${id}`)).json]).toEqual([count, { id, ...shown }]);
  },
);

test('the fields of a new key have limits', async () => {
  for (const [body, field, reason = expect.any(String)] of [
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'bell\u0007' }, 'name'],
    [{ scopes: ['speech:sing'] }, 'scopes[0]'],
    [{ scopes: ['voices:read admin'] }, 'scopes[0]'],
    [{ scopes: ['voices:read', ''] }, 'scopes[1]'],
    [{ expires_in_days: 3651 }, 'expires_in_days'],
    [{ expires_in_days: 0 }, 'expires_in_days'],
    [{ limits: { requests_per_minute: 0 } }, 'limits.requests_per_minute'],
    [{ limits: { concurrency: 10_001 } }, 'limits.concurrency'],
    [{ limits: { characters_per_month: -1 } }, 'limits.characters_per_month'],
    [{ limits: { characters_per_month: 1e20 } }, 'limits.characters_per_month', 'type'],
    [{ expires_in_days: 0.5 }, 'expires_in_days'],
    [{ voice_ids: Array(101).fill('far') }, 'voice_ids'],
    [{ voice_ids: ['no such voice'] }, 'voice_ids[0]'],
    [{ allowed_ips: Array(101).fill('127.0.0.1') }, 'allowed_ips'],
  ] as const) {
    const { status, json } = await send('', body);
    expect([status, json.error, json.details]).toMatchObject([400, 'invalid_request', [{ field, reason }]]);
  }
  const limits = { characters_per_month: 5e9 };
  const largest = { name: '👋'.repeat(100), expires_in_days: 3650, voice_ids: Array(100).fill('far'), limits };
  expect((await send('', largest)).json).toMatchObject({ name: largest.name, voice_ids: ['far'], limits });
});

test('over gRPC, which knows no other, an empty list is as left out', async () => {
  const { key } = await make({ scopes: managing, voice_ids: ['far'] }, admin);
  const spec = { scopes: [], voiceIds: [], name: '' };
  const { apiKey } = await grpc.unary('createApiKey', { spec }, { metadata: { 'x-api-key': key } });
  expect(apiKey).toMatchObject({ name: 'unnamed', voiceIds: ['far'], scopes: expect.not.arrayContaining(['admin']) });
});

describe('a field of a newer version is refused', async () => {
  const newer = <M extends Message>(message: M): M => {
    message.$unknown = [{ no: 17, wireType: 0, data: new Uint8Array([1]) }];
    return message;
  };
  const { id: keyId } = await make();
  const nested = create(ApiKeySpecSchema, { limits: newer(create(ApiKeyLimitsSchema)) });
  const updateMask = { paths: ['name'] };
  const cases = [
    ['createApiKey', newer(create(CreateApiKeyRequestSchema)), 'message'],
    ['createApiKey', create(CreateApiKeyRequestSchema, { spec: newer(create(ApiKeySpecSchema)) }), 'spec'],
    ['createApiKey', create(CreateApiKeyRequestSchema, { spec: nested }), 'spec.limits'],
    ['updateApiKey', newer(create(UpdateApiKeyRequestSchema, { keyId, updateMask })), 'message'],
    ['updateApiKey', create(UpdateApiKeyRequestSchema, { keyId, updateMask, spec: nested }), 'spec.limits'],
    ['rotateApiKey', newer(create(RotateApiKeyRequestSchema, { keyId })), 'message'],
    ['rotateOwnWebhookSecret', newer(create(RotateOwnWebhookSecretRequestSchema)), 'message'],
  ] as const;
  const { key } = await gateway.keyVerifier.create({ scopes: [...managing, 'jobs:write', 'admin'] });
  const transport = createConnectTransport({ baseUrl: gateway.url, httpVersion: '1.1', useBinaryFormat: true });
  const connect = createClient(ApiKeyService, transport);

  test.each(cases)('by %s %#, in %s', async (method, message, field) => {
    const call = connect[method](message as never, { headers: { 'x-api-key': key } });
    const failure = await call.then(
      () => undefined,
      (error) => fromConnectError(error),
    );
    expect(failure).toMatchObject({ reason: 'invalid_request', facts: { details: [{ field, reason: 'unknown' }] } });
    const overGrpc = grpc.unary(method, message as never, { metadata: { 'x-api-key': key } });
    expect(explain(await failureOf(overGrpc))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

test('of a change over gRPC only what the mask names is checked and changed', async () => {
  const { id: keyId } = await make({ limits: { concurrency: 3, requests_per_minute: 7 } });
  const update = (paths: string[]) =>
    grpc.unary(
      'updateApiKey',
      { keyId, spec: { limits: { requestsPerMinute: -1, concurrency: 2 } }, updateMask: { paths } },
      { metadata: { 'x-api-key': boss } },
    );
  const { apiKey } = await update(['limits.concurrency']);
  expect(apiKey!.limits).toMatchObject({ concurrency: 2, requestsPerMinute: 7 });
  for (const paths of [['limits'], ['limits.requests_per_minute'], ['name', 'limits', 'limits.concurrency'], []])
    expect(explain(await failureOf(update(paths)))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  const reset = await grpc.unary(
    'updateApiKey',
    { keyId, updateMask: { paths: ['limits'] } },
    { metadata: { 'x-api-key': boss } },
  );
  expect(reset.apiKey!.limits).toMatchObject({ concurrency: 20, requestsPerMinute: 600 });
});

test('a key that may use no voice any more shows none, not all', async () => {
  const parent = await make({ scopes: managing, voice_ids: ['far', 'tone-low'] }, admin);
  const child = await make({ scopes: managing, voice_ids: ['far'] }, parent.key);
  expect((await send(`/${parent.id}`, { voice_ids: ['tone-low'] }, { key: admin, method: 'PATCH' })).status).toBe(200);
  const { json } = await send('/self', undefined, { key: child.key });
  expect([json.voice_ids, json.allowed_ips]).toEqual([[], null]);
});

test('a key id that no key can have is not looked up', async () => {
  const { status } = await send('/%00', { name: 'x', scopes: [] }, { method: 'PATCH' });
  expect(status).toBe(400);
  const empty = grpc.unary('getApiKey', { keyId: '' }, { metadata: { 'x-api-key': boss } });
  expect(explain(await failureOf(empty))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect((await send(`/${bossKey.keyId}`)).status).toBe(200);
});
