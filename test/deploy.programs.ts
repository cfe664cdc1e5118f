// Tests the balancer of deploy/, unchanged except for addresses, before two real replicas that share PostgreSQL
// and S3 as far as they are installed. All audio passes through piece by piece, stored data is shared, and clients do
// not notice a rolling restart.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SpeechService } from '../gen/sonant/v1/speech_pb.ts';
import { createApiKey } from '../src/accounts/keys/api-key.ts';
import { openBalancer } from './balancer.ts';
import { hasS3, openS3Server } from './clips/stores/s3-server.ts';
import { startPostgres } from './platform/store/postgres-server.ts';
import { isInstalled } from './programs.ts';
import { createReplica, type ReplicaProcess } from './replica-process.ts';
import { eventsIn, readEvents } from './transports/http/event-reader.ts';
import { openGrpcClient } from './transports/rpc/grpc-client.ts';

const { key } = createApiKey();
const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
const chunks = Array.from({ length: 3 }, (_, i) => `This is sentence number ${i}, and it goes on for quite a while.`);
let folder: string;
/** Health checks are more frequent than in the balancer's configuration, so that the test need not wait long. */
const checkEveryMs = 200;

/** The settings that replicas share. */
async function share(opened: AsyncDisposableStack): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  const postgres = await startPostgres();
  if (postgres) {
    opened.defer(() => postgres.stop());
    env.SONANT_DATABASE_URL = await postgres.createDatabase();
    Object.assign(env, { SONANT_SECRET: 's'.repeat(32), SONANT_MASTER_KEY: 'm'.repeat(32) });
  }
  if (hasS3) {
    const s3 = await openS3Server();
    opened.defer(() => s3.client.destroy());
    Object.assign(env, { ...s3.env, SONANT_S3_BUCKET: s3.bucketName, SONANT_S3_ENDPOINT: s3.endpoint });
  }
  return env;
}

describe.skipIf(!isInstalled('haproxy'))('behind the balancer', () => {
  const opened = new AsyncDisposableStack();
  let shared: Record<string, string>;
  let replicas: ReplicaProcess[];
  let url: string;
  let speech: ReturnType<typeof clientAt>;
  const clientAt = (baseUrl: string) => createClient(SpeechService, createGrpcTransport({ baseUrl }));
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sonant-deploy-'));
    shared = await share(opened);
    const settings = { ...shared, SONANT_BOOTSTRAP_KEY: key, SONANT_LEAVE_SECONDS: '1' };
    replicas = await Promise.all(['one', 'two'].map((name) => createReplica(join(folder, name), settings)));
    opened.defer(async () => void (await Promise.all(replicas.map((replica) => replica.end('SIGKILL')))));
    await Promise.all(replicas.map((replica) => replica.start()));
    const balancer = await openBalancer(replicas, folder, checkEveryMs);
    opened.defer(balancer.close);
    url = balancer.url;
    speech = clientAt(url);
  });
  afterAll(async () => {
    await opened.disposeAsync();
    rmSync(folder, { recursive: true });
  });

  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify({ voice_id: 'arthur', ...body }) });
  const stream = async () => {
    const answer = await post('/api/audio/speech', {
      method: 'streaming',
      text_chunks: chunks,
      return_format: 'buffer',
    });
    return [answer.status, (await answer.bytes()).length];
  };
  const listen = async () => {
    const answer = await post('/api/audio/speech/sse', { text_chunks: chunks });
    return (await readEvents(answer)).at(-1)?.event;
  };
  const call = async () => {
    let last: string | undefined;
    const request = { voiceId: 'arthur', textChunks: chunks };
    for await (const { event } of speech.streamSpeech(request, { headers: { 'x-api-key': key } })) last = event.case;
    return last;
  };
  const speakingAt = async ({ adminPort }: ReplicaProcess) =>
    Number(/^sonant_speaking (\d+)/m.exec(await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text())![1]);

  test('REST, SSE, gRPC and gRPC-Web come through on one address', async () => {
    const [status, byteCount] = await stream();
    expect([status, Number(byteCount) > 300_000]).toEqual([200, true]);
    expect(await listen()).toBe('speech.audio.done');
    expect(await call()).toBe('done');
    const web = createClient(SpeechService, createGrpcWebTransport({ baseUrl: url, httpVersion: '1.1' }));
    const request = { voiceId: 'arthur', text: 'Hello.' };
    expect((await web.synthesizeSpeech(request, { headers: { 'x-api-key': key } })).chars).toBe(6);
    const refused = speech.synthesizeSpeech({ ...request, voiceId: 'nobody' }, { headers: { 'x-api-key': key } });
    await expect(refused).rejects.toThrow(/^\[not_found\]/);
    expect((await post('/api/audio/speech', { text: '' })).status).toBe(400);
  });

  test('a broken event stream is resumed, and ended, at the replica that speaks it', async () => {
    const sse = '/api/audio/speech/sse';
    const begin = async () => {
      const text_chunks = Array.from({ length: 40 }, () => chunks).flat();
      return readEvents(await post(sse, { text_chunks }), (text) => text.split('\n\n').length > 4);
    };
    for (let n = 0; n < 8; n++) {
      const heard = await begin();
      const id = String(heard[0]!.data.id);
      const last = { ...headers, 'Last-Event-ID': heard.at(-1)!.id };
      const path = `${url}${sse}/${id}`;
      const more = await readEvents(await fetch(path, { headers: last }), (text) => text.split('\n\n').length > 2);
      expect(more[0]!.id).toBe(`${id}:${heard.length}`);
      expect((await fetch(path, { method: 'DELETE', headers: { 'X-API-Key': key } })).status).toBe(204);
    }
  });

  test('gRPC calls that are not read stop no other call of its client', async () => {
    const client = openGrpcClient(SpeechService, new URL(url).host);
    const metadata = { 'x-api-key': key };
    const long = Array.from({ length: 60 }, () => chunks).flat();
    // Opens an unread stream at every replica.
    const unread = replicas.map(() =>
      client.stream('streamSpeech', { voiceId: 'arthur', textChunks: long }, { metadata }),
    );
    for (const call of unread) {
      await once(
        call.on('error', () => {}),
        'data',
      );
      call.pause();
    }
    for (let n = 0; n < 3; n++) {
      const request = { voiceId: 'arthur', text: 'Hello.' };
      const { chars } = await client.unary('synthesizeSpeech', request, { metadata, timeoutMs: 20_000 });
      expect(chars).toBe(6);
      await sleep(checkEveryMs);
    }
    for (const call of unread) call.cancel();
    client.close();
  });

  test('metrics do not come through, however their path is written', async () => {
    for (const path of ['/metrics', '/%6detrics', '/metrics?x', '/metrics/'])
      expect((await fetch(url + path)).status).toBe(404);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect(await speakingAt(replicas[0]!)).toBe(0);
  });

  test('clips that one replica stores, the other serves', async (context) => {
    if (!shared.SONANT_DATABASE_URL || !shared.SONANT_S3_BUCKET) return context.skip();
    const answer = await post('/api/audio/speech', { text: 'Kept for everyone.' });
    const path = new URL(((await answer.json()) as { audio_url: string }).audio_url).pathname;
    const sounds = await Promise.all(
      replicas.map(async ({ httpPort }) => (await fetch(`http://127.0.0.1:${httpPort}${path}`)).bytes()),
    );
    expect(sounds[0]!.length).toBeGreaterThan(50_000);
    expect(Buffer.compare(sounds[0]!, sounds[1]!)).toBe(0);
  });

  test('a rolling restart fails no request', async () => {
    let isOver = false;
    const ends: unknown[] = [];
    const client = async (work: () => Promise<unknown>) => {
      while (!isOver) ends.push(await work().catch((error) => error));
    };
    const clients = [stream, listen, call, stream].map(client);
    const some = async (before = ends.length) => expect.poll(() => ends.length).toBeGreaterThan(before + 3);
    await some();
    for (const replica of replicas) {
      expect(await replica.end('SIGTERM')).toBe(0);
      await replica.start();
      await sleep(5 * checkEveryMs);
    }
    await some();
    isOver = true;
    await Promise.all(clients);
    const kinds = new Set(ends.map((end) => (Array.isArray(end) ? end[0] : end)));
    expect(kinds).toEqual(new Set([200, 'speech.audio.done', 'done']));
  }, 180_000);

  test('speech is streamed through the balancer without buffering', async () => {
    const long = Array.from({ length: 60 }, () => chunks).flat();
    const answer = await post('/api/audio/speech/sse', { text_chunks: long });
    let speaking = 0;
    await readEvents(answer, (text) => eventsIn(text).some(({ event }) => event === 'speech.audio.delta'));
    for (const replica of replicas) speaking += await speakingAt(replica);
    expect(speaking).toBe(1);
  });
});
