// Tests messages to receivers on this machine: verified by the public library of Standard Webhooks, retried on a manual
// clock, and sent by several senders on one table.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { createSeal } from '../../../src/accounts/sign-in/sealed-tokens.ts';
import { createWebhookSecrets } from '../../../src/accounts/webhooks/webhook-secrets.ts';
import { openReceiver, openSigned, openTestSender } from './open-sender.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Verifies a signature at the time that it states, because the library would use the machine's time. */
function verify(secret: string, { headers, body }: { headers: object; body: string }): unknown {
  const signed = headers as Record<string, string>;
  const webhook = new Webhook(secret);
  const at = new Date(Number(signed['webhook-timestamp']) * 1000);
  const again = webhook.sign(signed['webhook-id']!, at, body);
  expect(signed['webhook-signature']!.split(' ')).toContain(again);
  return JSON.parse(body);
}

test('a signed message arrives once, and the Standard Webhooks library verifies it', async () => {
  const receiver = await openReceiver();
  const { send, rows, keyId, secret } = await openSigned({ now: Date.now });
  const messageId = await send(receiver.url, { keyId, data: { id: 'job_1', title: 'Größe 審判' }, atMs: Date.now() });
  expect(receiver.received.length).toBe(1);
  const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]];
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': messageId });
  const event = new Webhook(secret).verify(body, headers as Record<string, string>);
  expect(event).toMatchObject({ type: 'job.succeeded', data: { id: 'job_1', title: 'Größe 審判' } });
  expect(() => new Webhook(secret).verify(body.replace('job_1', 'job_2'), headers as Record<string, string>)).toThrow();
  expect(await rows.find(messageId)).toMatchObject({ outcome: 'delivered', attempts: 1, body: '' });
});

test('an answer that changes the protocol ends the attempt like any without a status', async () => {
  const receiver = createServer((socket) => {
    socket
      .on('error', () => {})
      .once('data', () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
      });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  onTestFinished(() => void receiver.close());
  const { send, rows, keyId } = await openSigned();
  const messageId = await send(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`, { keyId });
  expect(await rows.find(messageId)).toMatchObject({ endedAtMs: null, heldUntilMs: null, attempts: 1 });
});

test('a message that is there already is not added again', async () => {
  const receiver = await openReceiver();
  const { send, keyId } = await openSigned();
  await send(receiver.url, { keyId, messageId: 'msg_same' });
  await send(receiver.url, { keyId, messageId: 'msg_same' });
  expect(receiver.received.length).toBe(1);
});

test('while a secret replaces another, both sign; then only the new one', async () => {
  const receiver = await openReceiver();
  const { send, keyId, secret, secrets, clock } = await openSigned();
  const { secret: next, formerUntilMs } = await secrets.rotate(keyId, 3600, operator);
  expect(formerUntilMs).toBe(clock.ms + hourMs);
  await send(receiver.url, { keyId });
  const [both] = receiver.received;
  expect(both!.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
  verify(secret, both!);
  verify(next, both!);
  clock.ms += hourMs;
  await send(receiver.url, { keyId });
  expect(receiver.received[1]!.headers['webhook-signature']).toMatch(/^v1,\S{44}$/);
  verify(next, receiver.received[1]!);
});

test('the secret of a key is that of its successor, and no part of it is in the database', async () => {
  const { keys, keyId, secret, secrets, store } = await openSigned();
  const { apiKey } = await keys.management.rotate(keyId, 60, operator);
  expect(await secrets.signing(apiKey.keyId)).toEqual([secret]);
  const kept = JSON.stringify([
    await store.query('select * from webhook_secrets'),
    await store.query('select * from audit'),
  ]);
  expect(kept).not.toContain(secret.slice(12));
  expect(kept).toContain(secret.slice(0, 12));
});

test('a receiver that is down for an hour gets the message when it is back', async () => {
  const { send, turn, clock, keyId } = await openSigned();
  const from = clock.ms;
  const isDown = () => clock.ms < from + hourMs;
  const receiver = await openReceiver((_, response) => void (isDown() && response.destroy()));
  const messageId = await send(receiver.url, { keyId });
  while (isDown()) expect(await turn(messageId)).toMatchObject(isDown() ? { endedAtMs: null } : {});
  const row = await turn(messageId);
  expect(row).toMatchObject({ outcome: 'delivered', lastResult: 'status 200' });
  expect(row.attempts).toBe(receiver.received.length);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([messageId]));
  const stamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(stamps).toEqual(stamps.toSorted((one, other) => one - other));
  expect(row.endedAtMs! - from).toBeLessThan(2 * hourMs);
});

test('a receiver that stays down is given up after 24 hours', async () => {
  const { send, turn, clock, keyId } = await openSigned();
  const from = clock.ms;
  const messageId = await send('http://127.0.0.1:9/', { keyId });
  let row = await turn(messageId);
  while (row.endedAtMs === null) row = await turn(messageId);
  expect(row).toMatchObject({ outcome: 'given up', attempts: 31 });
  expect(row.endedAtMs! - from).toBe(24 * hourMs);
  expect(row.lastResult).toMatch(/the connection was refused/);
});

test('410 ends it, and Retry-After moves the next attempt', async () => {
  const answers = [
    [503, { 'Retry-After': '600' }],
    [410, {}],
  ] as const;
  let n = 0;
  const receiver = await openReceiver((_, response) => {
    const [status, headers] = answers[n++]!;
    response.writeHead(status, headers).end();
  });
  const { send, turn, rows, clock, keyId } = await openSigned();
  const messageId = await send(receiver.url, { keyId });
  expect((await rows.find(messageId))!.dueAtMs - clock.ms).toBe(10 * minuteMs);
  expect(await turn(messageId)).toMatchObject({ outcome: 'gone', attempts: 2 });
});

test('a redirect is not followed', async () => {
  const inside = await openReceiver();
  const receiver = await openReceiver((_, response) => void response.writeHead(307, { Location: inside.url }).end());
  const { send, rows, keyId } = await openSigned();
  const messageId = await send(receiver.url, { keyId });
  expect(await rows.find(messageId)).toMatchObject({ endedAtMs: null, lastResult: 'status 307' });
  expect(inside.received).toEqual([]);
});

test('a key without a secret sends nothing', async () => {
  const receiver = await openReceiver();
  const { keys, send, rows, webhooks } = await openSigned();
  const { apiKey } = await keys.create();
  const messageId = await send(receiver.url, { keyId: apiKey.keyId });
  expect(await rows.find(messageId)).toMatchObject({ outcome: 'unsigned' });
  expect(receiver.received).toEqual([]);
  const facts = { details: [{ field: 'webhook_url' }] };
  await expect(webhooks.check(receiver.url, apiKey.keyId)).rejects.toMatchObject({ reason: 'invalid_request', facts });
});

test('a secret that cannot be opened any more sends nothing, and the refusal says why', async () => {
  const receiver = await openReceiver();
  const { store, keyId, rows } = await openSigned();
  const secrets = createWebhookSecrets({ rows, seal: createSeal('another secret of 32 characters.') });
  const { send, webhooks } = await openTestSender(store, { secrets });
  const messageId = await send(receiver.url, { keyId });
  expect(await rows.find(messageId)).toMatchObject({
    outcome: 'unsigned',
    lastResult: expect.stringMatching('decrypted'),
  });
  expect(receiver.received).toEqual([]);
  const message = expect.stringMatching(/can no longer be decrypted.*create one with POST/);
  const facts = { details: [{ field: 'webhook_url', message }] };
  await expect(webhooks.check(receiver.url, keyId)).rejects.toMatchObject({ reason: 'invalid_request', facts });
  await secrets.rotate(keyId, 60, operator);
  await expect(webhooks.check(receiver.url, keyId)).resolves.toBeUndefined();
});

test('a secret can be opened after fifty years', async () => {
  const { keyId, secrets, secret } = await openSigned();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 50 * 365 * 24 * hourMs });
  onTestFinished(() => void vi.useRealTimers());
  expect((await secrets.get(keyId)).hint).toBe(secret.slice(0, 12));
});

test('a body that is too large says only what it is about', async () => {
  const receiver = await openReceiver();
  const { send, keyId } = await openSigned();
  await send(receiver.url, { keyId, data: { id: 'job_9', text: 'x'.repeat(600_000) } });
  expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ type: 'job.succeeded', data: { id: 'job_9' } });
  expect(receiver.received[0]!.body.length).toBeLessThan(200);
});

describe('a slow receiver', () => {
  test('is left after the limit of an attempt, and holds up no other', async () => {
    const waiting = Promise.withResolvers<void>();
    const connections = { now: 0, most: 0 };
    const slow = await openReceiver(async (_, response) => {
      connections.most = Math.max(connections.most, ++connections.now);
      response.once('close', () => connections.now--);
      await waiting.promise;
    });
    const quick = await openReceiver(() => void expect(connections.now).toBe(4));
    const limits = { pollMs: 3_600_000, attemptMs: 3_000 };
    const { add, send, webhooks, rows, keyId } = await openSigned({ limits });
    const ids = Array.from({ length: 8 }, (_, i) => `msg_slow${i}`);
    await add(...ids.map((messageId) => ({ messageId, keyId, url: slow.url, accountId: 'a' })));
    webhooks.wake();
    await expect.poll(() => slow.received.length).toBe(4);
    await send(quick.url, { keyId, accountId: 'b', messageId: 'msg_quick' });
    expect(quick.received.length).toBe(1);
    expect(connections.most).toBe(4);
    for (const id of ids) expect(await rows.find(id)).toMatchObject({ attempts: 1, lastResult: 'no answer in time' });
    waiting.resolve();
  });
});

test('what is due is listed for all accounts in turn, and of no host or account more than its part', async () => {
  const { add, webhooks, rows, keyId, clock } = await openSigned();
  await webhooks.close();
  const addMany = (accountId: string, host: string, count: number) =>
    add(...Array.from({ length: count }, () => ({ keyId, accountId, url: `http://${host}/` })));
  await addMany('loud', 'slow', 100);
  for (let n = 0; n < 20; n++) await addMany('loud', `other-${n}`, 10);
  clock.ms += 1;
  await addMany('quiet', 'quick', 1);
  const due = await rows.listDue(clock.ms, { perHost: 4, perAccount: 32, limit: 1_000 });
  expect(due.findIndex(({ accountId }) => accountId === 'quiet')).toBe(1);
  expect(due.filter(({ host }) => host === 'slow').length).toBeLessThanOrEqual(4);
  expect(due.filter(({ accountId }) => accountId === 'loud').length).toBe(32);
  expect(new Set(due.map(({ host }) => host)).size).toBe(22);
});

test('two senders on one table deliver each message once', async () => {
  const receiver = await openReceiver();
  const { store, add, settle, keyId, rows } = await openSigned();
  const other = await openTestSender(store);
  const ids = Array.from({ length: 40 }, (_, i) => `msg_${i}`);
  const toMessage = (messageId: string, i: number) => ({
    messageId,
    keyId,
    url: receiver.url,
    accountId: `account ${i % 5}`,
  });
  await add(...ids.map(toMessage));
  await Promise.all([settle(), other.settle()]);
  const seen = receiver.received.map(({ headers }) => headers['webhook-id']);
  expect(seen.toSorted()).toEqual(ids.toSorted());
  for (const id of ids) expect(await rows.find(id)).toMatchObject({ outcome: 'delivered', attempts: 1 });
});

test('a sender that closes gives back what is under way, and another delivers it at once', async () => {
  const waiting = Promise.withResolvers<void>();
  let isSlow = true;
  const receiver = await openReceiver(() => (isSlow ? waiting.promise : undefined));
  const { store, add, webhooks, keyId, rows } = await openSigned();
  await add({ messageId: 'msg_1', keyId, url: receiver.url });
  webhooks.wake();
  await expect.poll(() => receiver.received.length).toBe(1);
  await webhooks.close();
  isSlow = false;
  waiting.resolve();
  const other = await openTestSender(store);
  await other.settle();
  expect(await rows.find('msg_1')).toMatchObject({ outcome: 'delivered', attempts: 1 });
});
