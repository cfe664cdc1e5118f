// Tests four replicas behind the balancer, with eight clients that exceed their limits: limits are exact across all
// replicas, identical concurrent requests are synthesized once, and a revoked key is refused at every replica.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { openGrpcClient } from '../transports/rpc/grpc-client.ts';
import { chunksOf } from './long-text.ts';
import { type Installation, openInstallation } from './open-installation.ts';

const { CALLS = '1000', REVOCATIONS = '5' } = process.env;
const callsPerClient = Number(CALLS);
const revocations = Number(REVOCATIONS);
const clients = 8;

let installation: Installation;
beforeAll(async () => {
  installation = await openInstallation(4, { isWired: false });
}, 180_000);
afterAll(() => installation?.close());

interface Asking {
  body?: object;
  /** URL of one replica, instead of the balancer. */
  url?: string;
  method?: string;
}

const ask = (
  key: string,
  path: string,
  { body, url = installation.url, method = body ? 'POST' : 'GET' }: Asking = {},
) =>
  fetch(url + path, {
    method,
    headers: { 'X-API-Key': key, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
const urlOf = ({ httpPort }: { httpPort: number }) => `http://127.0.0.1:${httpPort}`;

/** The metric's sum over all replicas. */
async function metric(name: RegExp): Promise<number> {
  const texts = await Promise.all(
    installation.replicas.map(async ({ adminPort }) => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()),
  );
  return texts
    .flatMap((text) => [...text.matchAll(new RegExp(`^${name.source}(?:\\{.*?\\})? (\\d+)$`, 'gm'))])
    .reduce((sum, [, count]) => sum + Number(count), 0);
}

interface Asked {
  sentMs: number;
  answeredMs: number;
  isAdmitted: boolean;
}

test(`${clients} clients of ${callsPerClient} calls: requests a minute`, async () => {
  const requestsPerMinute = 1_200;
  const burst = 100;
  const intervalMs = 60_000 / requestsPerMinute;
  const ofAll = async () => {
    const { key } = await installation.makeKey({ requestsPerMinute });
    const hello = { voice_id: 'arthur', text: 'Hello.' };
    const paths = [
      () => ask(key, '/api/voices'),
      () => ask(key, '/api/audio/estimate', { body: hello }),
      () => ask(key, '/api/auth/api-keys/self'),
      () => ask(key, '/api/audio/speech', { body: { ...hello, return_format: 'buffer' } }),
    ];
    const one = async (n: number): Promise<Asked> => {
      const sentMs = performance.now();
      const answer = await paths[n % 20 === 0 ? 3 : n % 3]!();
      const said = Buffer.from(await answer.arrayBuffer()).toString('latin1', 0, 300);
      expect([200, 429], said).toContain(answer.status);
      return { sentMs, answeredMs: performance.now(), isAdmitted: answer.status === 200 };
    };
    const client = async (): Promise<Asked[]> => {
      const all: Asked[] = [];
      for (let n = 0; n < callsPerClient; n++) all.push(await one(n));
      return all;
    };
    return (await Promise.all(Array.from({ length: clients }, client))).flat();
  };
  const all = await ofAll();
  const firstOf = (name: 'sentMs' | 'answeredMs') => Math.min(...all.map((request) => request[name]));
  const refused = all.filter(({ isAdmitted }) => !isAdmitted);
  const admitted = all.length - refused.length;
  // When the last refused call was sent, all calls that were allowed until then had been admitted.
  const lastRefusedMs = Math.max(...refused.map(({ sentMs }) => sentMs));
  const endMs = Math.max(...all.map(({ answeredMs }) => answeredMs));
  const least = burst + Math.floor((lastRefusedMs - firstOf('answeredMs')) / intervalMs) - 1;
  const most = burst + Math.floor((endMs - firstOf('sentMs')) / intervalMs);
  const seconds = ((endMs - firstOf('sentMs')) / 1000).toFixed(1);
  console.log(
    `requests: ${all.length} calls in ${seconds} s, ${admitted} admitted; the limit allows ${least} to ${most}, as one takes its clock`,
  );
  expect(refused.length).toBeGreaterThan(0);
  expect(admitted).toBeLessThanOrEqual(most);
  expect(admitted).toBeGreaterThanOrEqual(least);
});

test('syntheses at once', async () => {
  const { key } = await installation.makeKey({ concurrency: 3 });
  const request = { voiceId: 'arthur', textChunks: chunksOf(10, 1000) };
  const leaves: (() => void)[] = [];
  const one = (target: string) =>
    new Promise<string>((resolve) => {
      const speech = openGrpcClient(SpeechService, target);
      const call = speech.stream('streamSpeech', request, { metadata: { 'x-api-key': key } });
      leaves.push(() => {
        call.cancel();
        speech.close();
      });
      // The call is not read further, so that it keeps its slot.
      call.once('data', () => {
        call.pause();
        resolve('admitted');
      });
      call.on('error', ({ code }: { code?: number }) => resolve(`refused ${code}`));
    });
  const all = installation.replicas.flatMap(({ grpcPort }) => Array(6).fill(`127.0.0.1:${grpcPort}`) as string[]);
  const ends = await Promise.all(all.map(one));
  for (const leave of leaves) leave();
  const counts = Map.groupBy(ends, (end) => end);
  console.log(
    `at once: of ${ends.length}, ${[...counts].map(([end, some]) => `${some.length} ${end}`).join(', ')}; 3 may`,
  );
  expect(counts.get('admitted')?.length).toBe(3);
  expect(counts.get('refused 8')?.length).toBe(ends.length - 3);
});

test('characters a month', async () => {
  const { key } = await installation.makeKey({ charactersPerMonth: 300 });
  const client = async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 20; n++) {
      const answer = await ask(key, '/api/audio/speech', {
        body: { voice_id: 'arthur', text: 'Good day.', return_format: 'buffer' },
      });
      await answer.arrayBuffer();
      statuses.push(answer.status);
    }
    return statuses;
  };
  const statuses = (await Promise.all(Array.from({ length: clients }, client))).flat();
  const admitted = statuses.filter((status) => status === 200).length;
  console.log(
    `characters: ${statuses.length} texts of 9, ${admitted} spoken; 300 characters are ${Math.floor(300 / 9)}`,
  );
  expect(admitted).toBe(Math.floor(300 / 9));
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});

test('a hundred identical requests make one synthesis', async () => {
  const { key } = await installation.makeKey();
  await expect.poll(() => metric(/sonant_speaking/), { timeout: 60_000 }).toBe(0);
  const before = await metric(/sonant_engine_segments_total/);
  const answers = await Promise.all(
    Array.from({ length: 100 }, () =>
      ask(key, '/api/audio/speech', { body: { voice_id: 'arthur', text: 'All of us want to hear the very same.' } }),
    ),
  );
  const links = await Promise.all(
    answers.map(async (answer) => ((await answer.json()) as { audio_url: string }).audio_url),
  );
  const segments = (await metric(/sonant_engine_segments_total/)) - before;
  console.log(`identical: ${answers.length} requests, ${new Set(links).size} link, ${segments} segment spoken`);
  expect(new Set(links).size).toBe(1);
  expect(segments).toBe(1);
});

test('a key that is revoked at one replica is refused at all', async () => {
  const calls: number[] = [];
  const streams: number[] = [];
  const deletes: number[] = [];
  for (let n = 0; n < revocations; n++) {
    const { key: parent } = await installation.makeKey();
    const made = await ask(parent, '/api/auth/api-keys', { body: { name: 'to be revoked' } });
    const { id, key } = (await made.json()) as { id: string; key: string };
    const began: Promise<unknown>[] = [];
    const ended: Promise<number>[] = [];
    const refused: Promise<number>[] = [];
    for (const replica of installation.replicas) {
      const url = urlOf(replica);
      const body = { voice_id: 'arthur', text_chunks: chunksOf(10) };
      const paths = { '/api/audio/speech': { ...body, method: 'streaming' }, '/api/audio/speech/sse': body };
      for (const [path, request] of Object.entries(paths)) {
        const answer = ask(key, path, { body: request, url });
        began.push(answer);
        const toEnd = async () => {
          const { body: pieces } = await answer;
          for await (const _ of pieces!);
        };
        ended.push(
          toEnd()
            .catch(() => {})
            .then(() => performance.now()),
        );
      }
      const speech = openGrpcClient(SpeechService, `127.0.0.1:${replica.grpcPort}`);
      const call = speech.stream(
        'streamSpeech',
        { voiceId: 'arthur', textChunks: body.text_chunks },
        { metadata: { 'x-api-key': key } },
      );
      began.push(new Promise((resolve) => call.once('data', resolve)));
      const over = new Promise<number>((resolve) => {
        call.on('data', () => {});
        call.on('error', () => resolve(performance.now()));
      });
      ended.push(over.finally(() => speech.close()));
      const poll = async () => {
        for (;;) {
          const sentMs = performance.now();
          const { status } = await ask(key, '/api/auth/api-keys/self', { url });
          if (status === 401) return sentMs;
          expect([200, 429], 'it was revoked').toContain(status);
        }
      };
      refused.push(poll());
    }
    await Promise.all(began);
    const sentMs = performance.now();
    const { status } = await ask(parent, `/api/auth/api-keys/${id}`, {
      method: 'DELETE',
      url: urlOf(installation.replicas[0]!),
    });
    expect(status).toBe(204);
    const revokedMs = performance.now();
    deletes.push(revokedMs - sentMs);
    calls.push(...(await Promise.all(refused)).map((ms) => ms - revokedMs));
    streams.push(...(await Promise.all(ended)).map((ms) => ms - revokedMs));
  }
  const worst = (all: readonly number[]) => `${Math.max(0, Math.round(Math.max(...all)))} ms`;
  console.log(
    `revoked ${revocations} times, each told in ${worst(deletes)} at most; after that, at 4 replicas: the first call that was refused ` +
      `was sent within ${worst(calls)}, and the last of ${streams.length} open streams ended within ${worst(streams)}`,
  );
});
