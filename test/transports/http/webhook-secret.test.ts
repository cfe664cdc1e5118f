// Tests the secret that signs a key's webhooks, over REST and gRPC: shown once, inherited by the key's successors, and
// recorded.
import { afterAll, expect, test } from 'vitest';
import { ApiKeyService } from '../../../gen/sonant/v1/api_key_pb.ts';
import { listAudit } from '../../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { failureOf } from '../rpc/grpc-client.ts';
import { openCore } from '../rpc/open-core.ts';
import { openTestGateway } from './open-gateway.ts';

const url = '/api/auth/webhook-secret';
const gateway = await openTestGateway({}, afterAll);
const client = (await openCore(gateway, afterAll)).clientOf(ApiKeyService);
const makeKey = () => gateway.keyVerifier.create({ scopes: ['jobs:read', 'jobs:write'] });
const call = async (key: string, init: { method?: string; body?: unknown } = {}) => {
  const answer = await gateway.send(url, { headers: { 'X-API-Key': key }, ...init });
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Record<string, unknown> };
};

test('it is made by POST, shown once, and replaced by the next, which signs beside it for a while', async () => {
  const { key, apiKey } = await makeKey();
  expect(await call(key)).toMatchObject({ status: 404 });
  const { status, headers, json: made } = await call(key, { method: 'POST' });
  expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
  expect(made).toEqual({
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    hint: (made.secret as string).slice(0, 12),
    created_at: expect.stringMatching(/^20.*Z$/),
    former_expires_at: null,
  });
  const { secret: _, ...shown } = made;
  expect((await call(key)).json).toEqual(shown);
  const { json: next } = await call(key, { method: 'POST', body: { grace_seconds: 60 } });
  expect(next.hint).not.toBe(made.hint);
  expect(Date.parse(next.former_expires_at as string) - Date.parse(next.created_at as string)).toBe(60_000);
  const audit = await listAudit(gateway.store, apiKey.keyId);
  const changes = audit.filter(({ action }) => action === 'update').map(({ actor, detail }) => [actor, detail]);
  expect(changes).toEqual([
    [`key:${apiKey.keyId}`, JSON.stringify({ webhookSecret: made.hint, graceSeconds: 86_400 })],
    [`key:${apiKey.keyId}`, JSON.stringify({ webhookSecret: next.hint, graceSeconds: 60 })],
  ]);
});

test('over gRPC it is the same one', async () => {
  const { key } = await makeKey();
  const metadata = { 'x-api-key': key };
  expect(await failureOf(client.unary('getOwnWebhookSecret', {}, { metadata }))).toMatchObject({ code: 5 });
  const { secret, webhookSecret } = await client.unary('rotateOwnWebhookSecret', { graceSeconds: 0 }, { metadata });
  expect(secret).toMatch(/^whsec_/);
  expect(webhookSecret!.hint).toBe(secret.slice(0, 12));
  expect((await client.unary('getOwnWebhookSecret', {}, { metadata })).webhookSecret).toEqual(webhookSecret);
  expect((await call(key)).json.hint).toBe(webhookSecret!.hint);
});

test('it is not seen by another key, stays when the key is replaced, and a wrong grace is refused', async () => {
  const { key, apiKey } = await makeKey();
  const { json: made } = await call(key, { method: 'POST' });
  const { key: other } = await makeKey();
  expect(await call(other)).toMatchObject({ status: 404 });
  const { key: successor } = await gateway.keyVerifier.management.rotate(apiKey.keyId, 60, operator);
  expect((await call(successor)).json.hint).toBe(made.hint);
  for (const grace_seconds of [-1, 2_592_001, 1.5, '60']) {
    const refused = await call(key, { method: 'POST', body: { grace_seconds } });
    expect([refused.status, JSON.stringify(refused.json)]).toEqual([400, expect.stringContaining('grace_seconds')]);
  }
  const refused = client.unary('rotateOwnWebhookSecret', { graceSeconds: -1 }, { metadata: { 'x-api-key': key } });
  expect(await failureOf(refused)).toMatchObject({ code: 3 });
});

test('one that the service can no longer open is gone, and another is made in its place', async () => {
  const { key, apiKey } = await makeKey();
  await call(key, { method: 'POST' });
  await gateway.store.query("update webhook_secrets set sealed = 'lost' where owner_id = $1", apiKey.keyId);
  const gone = await call(key);
  expect([gone.status, gone.json.message]).toEqual([
    404,
    expect.stringMatching(/can no longer be decrypted.*Create a new one/),
  ]);
  expect(await call(key, { method: 'POST' })).toMatchObject({ status: 201, json: { former_expires_at: null } });
  expect(await call(key)).toMatchObject({ status: 200 });
});
