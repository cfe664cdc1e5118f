// Tests a sender that is killed at any moment: the next sender delivers the remaining messages, with the same ids.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { createSeal } from '../../../src/accounts/sign-in/sealed-tokens.ts';
import { leaseMs } from '../../../src/accounts/webhooks/webhook.ts';
import { createWebhookRows } from '../../../src/accounts/webhooks/webhook-rows.ts';
import { createWebhookSecrets } from '../../../src/accounts/webhooks/webhook-secrets.ts';
import { openSqliteInFolder } from '../../platform/store/open-test-store.ts';
import { openKeys } from '../keys/open-keys.ts';
import { openReceiver, openTestSender } from './open-sender.ts';

const secret = 'a secret of thirty-two characters';
const kills = 5;

test(`${kills} kills while messages are sent lose none`, async () => {
  const { file, store } = await openSqliteInFolder();
  const rows = createWebhookRows(store);
  const keys = openKeys({ rows: createApiKeyRows(store) });
  onTestFinished(() => keys.close());
  const { apiKey } = await keys.create();
  await createWebhookSecrets({ rows, seal: createSeal(secret) }).rotate(apiKey.keyId, 0, operator);
  const receiver = await openReceiver(() => sleep(5));
  const sender = await openTestSender(store);
  const ids = Array.from({ length: 200 }, (_, i) => `msg_${i}`);
  await sender.webhooks.close();
  const message = { keyId: apiKey.keyId, url: receiver.url, atMs: Date.now() - 1_000 };
  await sender.add(...ids.map((messageId) => ({ messageId, ...message })));
  for (let i = 0; i < kills; i++) {
    const before = receiver.received.length;
    const child = spawn(process.execPath, [join(import.meta.dirname, 'message-sender.ts'), file, secret], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    await expect.poll(() => receiver.received.length).toBeGreaterThan(before);
    await sleep(Math.random() * 30);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const delivered = async () => {
    const found = await Promise.all(ids.map(rows.find));
    return found.filter((row) => row!.outcome === 'delivered').length;
  };
  const before = await delivered();
  expect(before).toBeLessThan(ids.length);
  // The last sender starts when the leases of the killed senders have expired.
  const last = await openTestSender(store, { now: () => Date.now() + leaseMs });
  await last.settle();
  expect(await delivered()).toBe(ids.length);
  const seen = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
  expect([...seen].toSorted()).toEqual(ids.toSorted());
  console.log(`${kills} kills, ${receiver.received.length} deliveries of ${ids.length} messages`);
  expect(receiver.received.length).toBeLessThanOrEqual(ids.length + 4 * kills);
});
