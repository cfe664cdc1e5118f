// Opens webhooks for tests: a store, a key with a secret, a manual clock, and receivers on this machine.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { createSeal } from '../../../src/accounts/sign-in/sealed-tokens.ts';
import type { WebhookMessage } from '../../../src/accounts/webhooks/webhook.ts';
import { createWebhookRows } from '../../../src/accounts/webhooks/webhook-rows.ts';
import { createWebhookSecrets } from '../../../src/accounts/webhooks/webhook-secrets.ts';
import { openWebhooks, type SenderOptions } from '../../../src/accounts/webhooks/webhook-sender.ts';
import { loadConfig } from '../../../src/app/config.ts';
import { createOutboundTargets, type TargetOptions } from '../../../src/platform/net/outbound-targets.ts';
import { openStore } from '../../../src/platform/store/open-store.ts';
import type { RowStore } from '../../../src/platform/store/row-store.ts';
import { createStorage } from '../../distributed/storage.ts';
import { newFolder } from '../../new-folder.ts';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { openKeys } from '../keys/open-keys.ts';

export const seal = createSeal('a secret of thirty-two characters');
/** The table is not polled: the test wakes the sender. */
const rarely = { pollMs: 3_600_000, attemptMs: 15_000 };

export async function openTestStore() {
  const folder = newFolder();
  const { settings } = await createStorage(folder);
  const store = await openStore(loadConfig({ env: settings, folder, engines: [] }));
  onTestFinished(() => store.close());
  const keys = openKeys({ rows: createApiKeyRows(store) });
  onTestFinished(() => keys.close());
  const { apiKey } = await keys.create();
  return { folder, store, keys, keyId: apiKey.keyId };
}

export interface SenderSetting extends Partial<SenderOptions> {
  targets?: never;
  target?: Partial<TargetOptions>;
}

/** Opens a sender for the store's messages. A second sender stands for a second replica. */
export async function openTestSender(store: RowStore, { target, ...given }: SenderSetting = {}) {
  const clock = { ms: Date.UTC(2030, 0, 2) };
  const now = () => clock.ms;
  const rows = createWebhookRows(store);
  const secrets = createWebhookSecrets({ rows, seal, now });
  const targets = createOutboundTargets({ allow: ['127.0.0.1'], allowedIn: 'listed', ...target });
  const faults: unknown[] = [];
  const webhooks = openWebhooks({
    ...{ rows, secrets, targets, now, random: () => 0.5, limits: rarely, onFault: (fault) => faults.push(fault) },
    ...given,
  });
  onTestFinished(() => webhooks.close());
  let count = 0;
  /** Adds messages in one transaction. */
  const add = (...messages: (Partial<WebhookMessage> & Pick<WebhookMessage, 'url' | 'keyId'>)[]) =>
    store.transaction(async (added) => {
      const usual = { accountId: 'account', event: 'job.succeeded', data: { id: 'job_1' }, atMs: clock.ms } as const;
      for (const message of messages) await webhooks.add(added, { messageId: `msg_${++count}`, ...usual, ...message });
    });
  /** Adds a message, and waits until its delivery was attempted. */
  const send = async (url: string, message: Partial<WebhookMessage> & { keyId: string }): Promise<string> => {
    const { messageId = `msg_${++count}` } = message;
    await add({ url, ...message, messageId });
    await settle();
    return messageId;
  };
  const settle = async () => {
    webhooks.wake();
    await webhooks.settle();
  };
  /** Sets the clock to the message's due time, and waits for the attempt. Returns the new state of the message. */
  const turn = async (messageId: string) => {
    clock.ms = Math.max(clock.ms, (await rows.find(messageId))!.dueAtMs);
    await settle();
    return (await rows.find(messageId))!;
  };
  return { clock, rows, secrets, webhooks, faults, add, send, settle, turn };
}

/** Opens a store, and a sender for a key that has a secret. */
export async function openSigned(setting: SenderSetting = {}) {
  const stored = await openTestStore();
  const sender = await openTestSender(stored.store, setting);
  const { secret } = await sender.secrets.rotate(stored.keyId, 0, operator);
  return { ...stored, ...sender, secret };
}

export interface Received {
  headers: IncomingMessage['headers'];
  path: string;
  body: string;
}

/** Requests that `answer` does not answer get status 200. */
export async function openReceiver(
  answer: (received: Received, response: ServerResponse) => void | Promise<void> = () => {},
  { isSecure = false, host = '127.0.0.1' } = {},
) {
  const received: Received[] = [];
  const listen: RequestListener = async (request, response) => {
    const one = { headers: request.headers, path: request.url!, body: await text(request) };
    received.push(one);
    await answer(one, response);
    if (!response.writableEnded && !response.headersSent) response.writeHead(200).end();
  };
  const server = isSecure ? createTlsServer(testCertificate, listen) : createServer(listen);
  server.listen(0, host);
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${isSecure ? 'https' : 'http'}://${isSecure ? 'localhost' : host}:${port}/hook`,
    received,
    server,
  };
}
