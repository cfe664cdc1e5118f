// Tests replicas whose clocks differ by a minute: leases and tickets use the clock of the database, so that nothing runs,
// is charged or is delivered twice. libfaketime shifts the clock of a replica.
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { firstKeyScopes, operator } from '../../src/accounts/keys/caller.ts';
import { openKeys } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import { registry } from '../../src/engines/registry.ts';
import { openOpenAiServer } from '../engines/openai-server.ts';
import { startPostgres } from '../platform/store/postgres-server.ts';
import { findProgram } from '../programs.ts';
import { createReplica, type ReplicaProcess } from '../replica-process.ts';

const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
const missing =
  library === undefined
    ? 'libfaketime was not found (apt-get install faketime)'
    : (process.env.TEST_DATABASE_URL ?? findProgram('postgres'))
      ? undefined
      : 'PostgreSQL was not found';

const shift = (seconds: string) => ({
  ...{ LD_PRELOAD: library!, FAKETIME: `${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
});

/** Two replicas of one installation. The clock of the second is off. Speech takes as long as `speech` says. */
async function openSkewed(seconds: string, closing: (() => Promise<unknown>)[]) {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-skew-'));
  closing.push(async () => rmSync(folder, { recursive: true, force: true }));
  const postgres = (await startPostgres())!;
  closing.push(postgres.stop);
  const speech = await openOpenAiServer({}, (close) => void closing.push(close));
  const delivered: string[] = [];
  const receiver = createServer(async (request, response) => {
    delivered.push(String(request.headers['webhook-id']));
    await sleep(3_000);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const settings = {
    SONANT_DATABASE_URL: await postgres.createDatabase(),
    ...{ SONANT_SECRET: 'a secret of thirty-two characters', SONANT_MASTER_KEY: 'a master key of thirty-two chars.' },
    ...{ SONANT_OPENAI_URL: speech.url, SONANT_OPENAI_SAMPLE_RATE: '24000', SONANT_DATA_DIR: folder },
    ...{ SONANT_BASE_URL: 'http://sonant.test', SONANT_WEBHOOK_ALLOW: '127.0.0.1' },
  };
  const keys = await openKeys(loadConfig({ env: settings, folder, engines: registry }));
  const { key } = await keys.management.create({ scopes: firstKeyScopes }, operator);
  await keys.close();
  const right = await createReplica(join(folder, 'right'), settings);
  const wrong = await createReplica(join(folder, 'wrong'), settings);
  closing.push(
    () => right.end('SIGKILL'),
    () => wrong.end('SIGKILL'),
  );
  await right.start();
  await wrong.start(shift(seconds));
  const send = async ({ httpPort }: ReplicaProcess, path: string, body?: object, headers: object = {}) => {
    const response = await fetch(`http://127.0.0.1:${httpPort}${path.replace('http://sonant.test', '')}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'X-API-Key': key, ...(body && { 'Content-Type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, headers: response.headers, json: isJson ? JSON.parse(text) : {} };
  };
  const charactersOf = async (): Promise<number> => (await send(right, '/api/usage')).json.total.characters;
  return { right, wrong, send, speech, receiver, delivered, charactersOf };
}

describe.each(['+60', '-60'])('a replica whose clock is %s s off', (seconds) => {
  const closing: (() => Promise<unknown>)[] = [];
  let open: Awaited<ReturnType<typeof openSkewed>>;
  beforeAll(async () => {
    if (missing === undefined) open = await openSkewed(seconds, closing);
  });
  beforeEach((context) => context.skip(missing !== undefined, missing));
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });

  test('really has another clock', async () => {
    const { right, wrong, send } = open;
    const [here, there] = await Promise.all([right, wrong].map((each) => send(each, '/api/voices')));
    const difference = Date.parse(there!.headers.get('date')!) - Date.parse(here!.headers.get('date')!);
    expect(Math.round(difference / 20_000)).toBe(Number(seconds) / 20);
  });

  test('an Idempotency-Key runs once and is charged once, whichever replica is first', async () => {
    const { right, wrong, send, speech, charactersOf } = open;
    speech.state.trouble.pieceDelayMs = 100;
    for (const [first, second] of [
      [right, wrong],
      [wrong, right],
    ] as const) {
      const headers = { 'Idempotency-Key': `from ${first.httpPort}`, 'Cache-Control': 'no-cache' };
      const text = `Once only, from port ${first.httpPort}.`;
      const body = { voice_id: 'tone-low', text };
      const [spoken, charged] = [speech.requests.length, await charactersOf()];
      const answer = send(first, '/api/audio/speech', body, headers);
      await expect.poll(() => speech.requests.length).toBe(spoken + 1);
      const conflict = await send(second, '/api/audio/speech', body, headers);
      expect([conflict.status, conflict.json.error]).toEqual([409, 'idempotency_conflict']);
      const { status, json } = await answer;
      expect(status).toBe(200);
      expect((await send(second, '/api/audio/speech', body, headers)).json).toEqual(json);
      expect([speech.requests.length - spoken, (await charactersOf()) - charged]).toEqual([1, text.length]);
    }
    speech.state.trouble.pieceDelayMs = 0;
  });

  test('a ticket of either replica works at the other', async () => {
    const { right, wrong, send } = open;
    for (const [issuer, user] of [
      [right, wrong],
      [wrong, right],
    ] as const) {
      const request = { voice_id: 'tone-low', text_chunks: ['With a ticket.'] };
      const { json } = await send(issuer, '/api/audio/speech/sse/tickets', request);
      expect((await send(user, json.sse_url, undefined, { 'X-API-Key': '' })).status).toBe(200);
      expect((await send(user, json.sse_url, undefined, { 'X-API-Key': '' })).status).toBe(410);
    }
  });

  test('a job is spoken once and its webhook is delivered once, while both replicas look for work', async () => {
    const { right, wrong, send, speech, receiver, delivered, charactersOf } = open;
    await send(right, '/api/auth/webhook-secret', {});
    speech.state.trouble.pieceDelayMs = 100;
    const webhook_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const text = 'One sentence that is spoken slowly. Another one. And a third sentence ends it.';
    for (const replica of [right, wrong]) {
      const [spoken, charged, before] = [speech.requests.length, await charactersOf(), delivered.length];
      const { json } = await send(replica, '/api/audio/jobs', { voice_id: 'tone-low', text, webhook_url });
      await expect
        .poll(async () => (await send(right, `/api/audio/jobs/${json.id}`)).json.status, {
          timeout: 60_000,
          interval: 500,
        })
        .toBe('succeeded');
      await expect.poll(() => delivered.length).toBeGreaterThan(before);
      // Longer than the answer takes, so that a second delivery would have begun.
      await sleep(4_000);
      expect(new Set(delivered.slice(before)).size).toBe(delivered.length - before);
      expect([speech.requests.length - spoken, (await charactersOf()) - charged]).toEqual([3, text.length]);
    }
    speech.state.trouble.pieceDelayMs = 0;
  });
});
