// What a version leaves when its process is killed: keys on four levels, if it makes them, a clip, a lexicon, a finished
// job whose webhook could not be delivered, and a job under way. Checks that all of it is there in a later version.
import { execFileSync } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { openService, type Service, type ServiceOptions } from '../soak/open-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON of the API, which other tests check
type Json = any;

/** A key, and what it showed of itself before the version was killed. */
interface LeftKey {
  key: string;
  self: Json;
}

export interface Left {
  /** The account and the keys below it, each made by the one before. */
  keys: readonly LeftKey[];
  revoked: string;
  clip: { path: string; sha256: string };
  lexiconId: string;
  /** Hash of the audio of the chapter that was done. */
  chapter: { path: string; sha256: string };
  characters: number;
  webhookSecret: string;
}

const scopes = ['keys:read', 'keys:write', 'voices:read', 'voices:write', 'speech:synthesize', 'speech:stream'];
const all = [...scopes, 'usage:read', 'jobs:read', 'jobs:write'];
const without = (...names: string[]) => all.filter((scope) => !names.includes(scope));
const keysPath = '/api/auth/api-keys';
const chapter = (title: string, text: string) => ({ title, text });
const longText = 'The lamp went out at nine, and nobody saw the gull. '.repeat(12);

export const settingsOf = (databaseUrl?: string): Record<string, string> => ({
  SONANT_FETCH_VOICE: 'off',
  SONANT_WEBHOOK_ALLOW: '127.0.0.1',
  SONANT_SECRET: 'a secret of thirty-two characters',
  SONANT_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  ...(databaseUrl !== undefined && { SONANT_DATABASE_URL: databaseUrl }),
});

const hashOf = (bytes: ArrayBuffer) => createHash('sha256').update(new Uint8Array(bytes)).digest('hex');
const pathOf = (url: string) => url.replace(/^.*(?=\/audio\/)/, '');

async function json(answer: Promise<Response>): Promise<Json> {
  const got = await answer;
  const body = await got.text();
  expect(got.ok, body).toBe(true);
  return body === '' ? undefined : JSON.parse(body);
}

const askWith =
  ({ ask }: Service, key: string) =>
  (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') =>
    ask(path, { headers: { 'X-API-Key': key }, method, ...(body !== undefined && { body }) });

async function audioOf(service: Service, key: string, url: string) {
  const path = pathOf(url);
  return { path, sha256: hashOf(await (await askWith(service, key)(path)).arrayBuffer()) };
}

/** Uses the version `main` with a webhook receiver at `receiver` that is not there, and kills it. */
export async function leaveInstallation(
  { main, dataDir, settings = {} }: Required<Pick<ServiceOptions, 'main' | 'dataDir'>> & ServiceOptions,
  receiver: string,
): Promise<Left> {
  const env = { PATH: process.env.PATH, SONANT_DATA_DIR: dataDir, ...settings };
  const run = (...args: string[]) => execFileSync(process.execPath, [main, ...args], { cwd: dataDir, env }).toString();
  run('db', 'migrate');
  const { key } = JSON.parse(run('key', 'create', '--json', '--scopes', all.join(',')));
  const service = await openService({ main, settings, left: { dataDir, key } });
  try {
    return await use(service, key, receiver);
  } finally {
    await service.kill();
  }
}

async function use(service: Service, key: string, receiver: string): Promise<Left> {
  const make = async (by: string, fields: object) => json(askWith(service, by)(keysPath, fields));

  const team = await make(key, { scopes: all, limits: { requests_per_minute: 300, characters_per_month: 90_000 } });
  const app = await make(team.key, { scopes: without('voices:write'), allowed_ips: ['127.0.0.0/8', '10.0.0.0/8'] });
  const device = await make(app.key, { scopes: without('voices:write', 'keys:write'), limits: { concurrency: 3 } });
  const { key: revoked, id } = await make(app.key, {});
  await askWith(service, app.key)(`${keysPath}/${id}`, undefined, 'DELETE');
  const narrowed = { scopes: without('speech:stream'), expires_in_days: 300, limits: { requests_per_minute: 200 } };
  await json(askWith(service, key)(`${keysPath}/${team.id}`, narrowed, 'PATCH'));

  const ask = askWith(service, app.key);
  const entries = [
    { grapheme: 'Paris', phoneme: 'pa"Ri', alphabet: 'x-sampa' },
    { grapheme: 'AWS', alias: 'Amazon Web Services' },
  ];
  const { lexicon_id: lexiconId } = await json(askWith(service, key)('/api/lexicons', { name: 'Names', entries }));
  const speech = { voice_id: 'arthur', text: 'It went out at nine.', output_format: 'mp3', sample_rate: 24_000 };
  const { audio_url } = await json(ask('/api/audio/speech', speech));
  const { secret: webhookSecret } = await json(ask('/api/auth/webhook-secret', undefined, 'POST'));
  const job = { voice_id: 'arthur', output_format: 'mp3', sample_rate: 24_000, webhook_url: `${receiver}/hook` };
  const put = (id: string, fields: object) => json(ask(`/api/audio/jobs/${id}`, { ...job, ...fields }, 'PUT'));
  await put('told-late', { chapters: [chapter('One', 'Nine.')] });
  await until(async () => (await json(ask('/api/audio/jobs/told-late'))).status === 'succeeded');
  await put('under-way', {
    chapters: [chapter('One', 'The end.'), chapter('Two', longText), chapter('Three', longText)],
  });
  await put('flac', { output_format: 'flac', chapters: [chapter('One', longText)] });
  const [done] = await until(async () => {
    const { chapters } = await json(ask('/api/audio/jobs/under-way'));
    return chapters[0].audio_url !== null && chapters;
  });
  const left = {
    keys: await Promise.all(
      [key, team.key, app.key, device.key].map(async (each) => ({
        key: each,
        self: await json(askWith(service, each)(`${keysPath}/self`)),
      })),
    ),
    ...{ revoked, lexiconId, webhookSecret },
    clip: await audioOf(service, app.key, audio_url),
    chapter: await audioOf(service, app.key, done.audio_url),
    characters: (await json(ask('/api/usage'))).total.characters,
  };
  expect((await json(ask('/api/audio/jobs/under-way'))).status).toBe('running');
  return left;
}

async function until<Result>(read: () => Promise<Result>, everyMs = 20): Promise<Exclude<Result, false>> {
  for (;;) {
    const result = await read();
    if (result) return result as Exclude<Result, false>;
    await sleep(everyMs);
  }
}

export async function openReceiver(port = 0) {
  const bodies: { body: string; headers: Record<string, unknown> }[] = [];
  const server = createServer(async (request, response) => {
    bodies.push({ body: await readAll(request), headers: request.headers });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, close };
}

/** Checks that everything is there in a service on what was left. */
export async function expectAllThere(service: Service, left: Left, receiver: Awaited<ReturnType<typeof openReceiver>>) {
  const [account, team, app, device] = left.keys as [LeftKey, LeftKey, LeftKey, LeftKey];
  const ask = askWith(service, app.key);

  const listed = (await json(askWith(service, account.key)(keysPath))).api_keys as Json[];
  for (const [i, { key, self }] of left.keys.entries()) {
    const now = await json(askWith(service, key)(`${keysPath}/self`));
    const { id, name, scopes, voice_ids, allowed_ips, limits } = self;
    expect(now).toMatchObject({ id, name, scopes, voice_ids, allowed_ips, limits });
    expect(now.expires_at === null).toBe(self.expires_at === null);
    expect(listed.find(({ id }) => id === self.id)?.made_by).toBe(left.keys[i - 1]?.self.id ?? null);
  }
  for (const { key } of [team, app]) {
    const refused = await askWith(service, key)(keysPath, { scopes: ['voices:read'] });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('cannot create keys')]);
  }
  expect((await askWith(service, left.revoked)('/api/voices')).status).toBe(401);

  for (const { path, sha256 } of [left.clip, left.chapter])
    expect(hashOf(await (await ask(path)).arrayBuffer()), path).toBe(sha256);
  expect((await json(askWith(service, account.key)(`/api/lexicons/${left.lexiconId}`))).name).toBe('Names');
  const speech = { voice_id: 'arthur', text: 'AWS in Paris.', lexicon_ids: [left.lexiconId] };
  await json(askWith(service, account.key)('/api/audio/speech', speech));

  const jobOf = (id: string) =>
    until(async () => {
      const job = await json(ask(`/api/audio/jobs/${id}`));
      return job.ended_at !== null && job;
    }, 500);
  expect(await jobOf('under-way')).toMatchObject({ status: 'succeeded', error: null });
  expect(await jobOf('flac')).toMatchObject({ status: 'failed' });
  await expect
    .poll(() => new Set(receiver.bodies.map(({ body }) => `${JSON.parse(body).type} ${JSON.parse(body).data.id}`)), {
      timeout: 60_000,
    })
    .toEqual(new Set(['job.succeeded told-late', 'job.succeeded under-way', 'job.failed flac']));
  const hmac = createHmac('sha256', Buffer.from(left.webhookSecret.slice('whsec_'.length), 'base64'));
  const [{ body, headers }] = receiver.bodies as [(typeof receiver.bodies)[0]];
  hmac.update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  expect(headers['webhook-signature']).toBe(`v1,${hmac.digest('base64')}`);
  expect((await json(ask('/api/usage'))).total.characters).toBeGreaterThan(left.characters);

  const flood = [team, app, device].flatMap(({ key }) =>
    Array.from({ length: 80 }, async () => (await askWith(service, key)('/api/voices/arthur')).json()),
  );
  const limits = new Set((await Promise.all(flood)).map((answer: Json) => answer.limit));
  expect(limits, 'the keys share the limit of the key above them').toEqual(new Set([undefined, 200]));

  await json(askWith(service, account.key)(`${keysPath}/${team.self.id}`, undefined, 'DELETE'));
  for (const { key } of [team, app, device]) expect((await askWith(service, key)('/api/voices')).status).toBe(401);
  expect((await askWith(service, account.key)('/api/voices')).status).toBe(200);
}
