// Tests the receivers in examples/webhooks with the real sender: they accept signed messages and refuse altered ones.
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { operator } from '../../src/accounts/keys/caller.ts';
import { openReceiver, openTestSender, openTestStore } from '../accounts/webhooks/open-sender.ts';
import { freePort } from '../free-port.ts';
import { isInstalled } from '../programs.ts';

const folder = join(import.meta.dirname, '../../examples/webhooks');

async function openSender() {
  const { store, keyId } = await openTestStore();
  const sender = await openTestSender(store, { now: Date.now });
  const { secret } = await sender.secrets.rotate(keyId, 0, operator);
  return { ...sender, keyId, secret };
}

test.for([
  ['node', 'receiver.ts'],
  ['python3', 'receiver.py'],
] as const)('%s %s takes what is signed, once, and refuses what was changed', async ([program, file], { skip }) => {
  if (program === 'python3' && !isInstalled('python3')) skip();
  const { keyId, secret, send, rows } = await openSender();
  const port = await freePort();
  const command = program === 'node' ? process.execPath : program;
  const child = spawn(command, [join(folder, file), String(port)], { env: { ...process.env, WEBHOOK_SECRET: secret } });
  onTestFinished(() => void child.kill());
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
  await expect.poll(() => said).toEqual(['receiving']);
  const url = `http://127.0.0.1:${port}/`;
  const first = await send(url, { keyId, data: { id: 'job_größe' }, atMs: Date.now() });
  expect(await rows.find(first)).toMatchObject({ outcome: 'delivered' });
  await expect.poll(() => said).toEqual(['receiving', 'job.succeeded job_größe']);
  const proxy = await openReceiver(async ({ headers, body }, response) => {
    const changed = {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: body.replace('job_2', 'job_3'),
    };
    delete changed.headers.connection;
    response.writeHead((await fetch(url, changed)).status).end();
  });
  const second = await send(proxy.url, { keyId, data: { id: 'job_2' }, atMs: Date.now() });
  expect(await rows.find(second)).toMatchObject({ lastResult: 'status 400' });
  await expect.poll(() => said.at(-1)).toMatch(/^refused: /);
});

test.skipIf(!isInstalled('openssl'))('verify.sh takes what is signed, and refuses what was changed', async () => {
  const receiver = await openReceiver();
  const { keyId, secret, send } = await openSender();
  await send(receiver.url, { keyId, data: { id: 'job_1' }, atMs: Date.now() });
  const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]];
  const args = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => String(headers[name]));
  const verify = (input: string) =>
    spawnSync('sh', [join(folder, 'verify.sh'), ...args], { input, env: { ...process.env, WEBHOOK_SECRET: secret } });
  expect(verify(body).status).toBe(0);
  expect(verify(body.replace('job_1', 'job_2')).status).toBe(1);
});
