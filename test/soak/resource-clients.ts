// Checks stored resources: jobs whose end a webhook announces, lexicons, cloned voices and keys. Each client creates a
// resource, uses it, deletes it, and checks that it is gone.
import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPlace } from '../../src/clips/provenance/places.ts';
import { listen } from '../free-port.ts';
import { sentences } from '../sentences.ts';
import type { ApiCall } from './api-clients.ts';
import { RequestClient, readAll, Seen, same, Watch } from './checked-requests.ts';

export interface ResourceClients {
  readonly apis: Readonly<Record<'job' | 'lexicon' | 'clone' | 'key', ApiCall>>;
  endLearning(): void;
  /** Finished jobs whose webhook has not arrived yet. */
  unannounced(): readonly string[];
  /** Number of webhooks with a wrong signature. */
  readonly forged: number;
  readonly announced: number;
  close(): void;
}

const jobMsMax = 20 * 60_000;
const goneMsMax = 10_000;
const chapters = [0, 1].map((n) => ({ title: `Chapter ${n}`, text: sentences.slice(9 * n, 9 * n + 6).join(' ') }));

export async function openResourceClients({ url, key }: { url: string; key: string }): Promise<ResourceClients> {
  const http = new RequestClient(url, key);
  const known = new Map<string, Buffer>();
  let isLearning = true;
  const check = (api: string, heard: Buffer, watch: Watch) => {
    if (isLearning) known.set(api, heard);
    same(heard, known.get(api)!, watch);
  };
  const json = async (answer: Response) => JSON.parse((await answer.text()) || '{}');
  const send = async (method: string, path: string, watch: Watch, body?: object | FormData) => {
    const isForm = body instanceof FormData;
    const headers: Record<string, string> = body && !isForm ? { 'Content-Type': 'application/json' } : {};
    return http.ask(path, { method, headers, ...(body && { body: isForm ? body : JSON.stringify(body) }) }, watch);
  };
  const speak = async (fields: object, watch: Watch) => {
    const body = { text: `${sentences[2]} Sonant says so.`, output_format: 'pcm', return_format: 'buffer', ...fields };
    return readAll(await http.post('/api/audio/speech', body, watch), watch);
  };
  /** Repeats the work while the service refuses because it is busy or faulty. */
  const untilDone = async <T>(work: () => Promise<T>, msMax: number): Promise<T> => {
    for (const since = performance.now(); ; ) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Seen) || performance.now() - since > msMax) throw error;
        await sleep(1000);
      }
    }
  };
  /** Deletes a resource. A fault may hide the reply to a deletion that succeeded; the next attempt then finds nothing. */
  const remove = async (path: string, watch: Watch, msMax: number): Promise<void> => {
    let attempts = 0;
    await untilDone(async () => {
      attempts++;
      try {
        await send('DELETE', path, watch);
      } catch (error) {
        if (attempts === 1 || !(error as Error).message.startsWith(`${path}: 404 `)) throw error;
      }
    }, msMax);
  };
  /** Waits until the work fails because the resource is gone: other replicas notice a deletion later. */
  const untilGone = async (work: () => Promise<unknown>) => {
    for (const since = performance.now(); ; ) {
      const error: unknown = await work().then(
        () => undefined,
        (thrown) => thrown,
      );
      if (error && !(error instanceof Seen)) return;
      if (performance.now() - since > goneMsMax) throw error ?? new Error('deleted, and still there');
      await sleep(500);
    }
  };

  const { secret } = await json(await send('POST', '/api/auth/webhook-secret', new Watch()));
  const hooks = await openReceiver(secret);
  const ended = new Set<string>();

  const [reference, consent] = await Promise.all(
    ['wav', 'mp3'].map(async (format) => {
      const text = 'The boat left the harbour early, long before the sun came up. Nobody had seen it go.';
      const answer = await fetch(`${url}/api/audio/speech`, {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ voice_id: 'arthur', text, output_format: format, return_format: 'buffer' }),
      });
      return new Blob([await answer.arrayBuffer()]);
    }),
  );

  const apis: ResourceClients['apis'] = {
    async job(watch) {
      const id = randomUUID();
      const path = `/api/audio/jobs/${id}`;
      const body = { voice_id: 'arthur', chapters, output_format: 'mp3', webhook_url: hooks.url };
      await untilDone(async () => (await send('PUT', path, watch, body)).arrayBuffer(), jobMsMax);
      for (const since = performance.now(); ; ) {
        const job = await untilDone(async () => json(await send('GET', path, watch)), jobMsMax);
        if (job.status === 'failed') throw new Error(JSON.stringify(job.error));
        if (job.ended_at !== null) {
          ended.add(id);
          const { pathname } = new URL(job.audio_url);
          const file = await untilDone(async () => readAll(await http.get(pathname, watch), watch), jobMsMax);
          const headers = { 'Content-Type': 'audio/mpeg' };
          const inspect = () => http.ask('/api/audio/inspect', { method: 'POST', headers, body: file }, watch);
          const { manifest } = await untilDone(async () => json(await inspect()), jobMsMax);
          if (!manifest?.valid) throw new Error(`the manifest of the job's file: ${JSON.stringify(manifest)}`);
          check('job', withoutManifest(file), watch);
          break;
        }
        if (performance.now() - since > jobMsMax) throw new Error(`after ${jobMsMax} ms it is ${job.status}`);
        await sleep(500);
      }
      // The webhook of a job that is deleted at once may or may not be sent.
      for (let n = 0; n < 60 && !hooks.heard.has(id); n++) await sleep(500);
      await remove(path, watch, jobMsMax);
    },
    async lexicon(watch) {
      const entries = [{ grapheme: 'Sonant', alias: 'the house over there' }];
      const made = await json(await send('POST', '/api/lexicons', watch, { name: 'Soak', entries }));
      const fields = { voice_id: 'arthur', lexicon_ids: [made.lexicon_id] };
      try {
        check('lexicon', await speak(fields, watch), watch);
      } finally {
        await remove(`/api/lexicons/${made.lexicon_id}`, watch, goneMsMax * 6);
      }
      await untilGone(() => speak(fields, watch));
    },
    async clone(watch) {
      const form = new FormData();
      const fields = { name: 'Ada', language_code: 'en-US', speaker_name: 'Ada L.' };
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      form.set('reference_audio', reference!);
      form.set('consent_audio', consent!);
      const { voice_id } = await json(await send('POST', '/api/voices', watch, form));
      try {
        for (let n = 0; n < 120; n++) {
          const { status } = await untilDone(
            async () => json(await send('GET', `/api/voices/${voice_id}`, watch)),
            60_000,
          );
          if (status === 'ready') break;
          if (status !== 'pending') throw new Error(`the voice is ${status}`);
          await sleep(500);
        }
        check('clone', await speak({ voice_id }, watch), watch);
        await untilDone(() => send('POST', `/api/voices/${voice_id}/consent/revoke`, watch), 60_000);
        await untilGone(() => speak({ voice_id }, watch));
      } finally {
        await remove(`/api/voices/${voice_id}`, watch, 60_000);
      }
    },
    async key(watch) {
      const made = await json(await send('POST', '/api/auth/api-keys', watch, { name: 'soak' }));
      const own = new RequestClient(url, made.key);
      await readAll(await own.get('/api/voices', watch), watch);
      await remove(`/api/auth/api-keys/${made.id}`, watch, 60_000);
      await untilGone(async () => readAll(await own.get('/api/voices', watch), watch));
    },
  };
  return {
    apis,
    endLearning() {
      isLearning = false;
    },
    unannounced: () => [...ended].filter((id) => !hooks.heard.has(id)),
    get forged() {
      return hooks.forged;
    },
    get announced() {
      return hooks.heard.size;
    },
    close: () => hooks.close(),
  };
}

/** Returns the content after the manifest, because manifests differ between jobs. */
function withoutManifest(file: Buffer): Buffer {
  const { start, length } = findPlace(file)!;
  return file.subarray(start + length);
}

/** A receiver of Standard Webhooks that refuses every fourth message at first, so that it must be sent again. */
async function openReceiver(secret: string) {
  const heard = new Set<string>();
  const state = { forged: 0 };
  let count = 0;
  const server = createServer(async (request, response) => {
    const body = await readText(request).catch(() => '');
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = request.headers;
    const mac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
    const right = `v1,${mac.update(`${id}.${at}.${body}`).digest('base64')}`;
    if (!String(signature).split(' ').includes(right)) state.forged++;
    if (count++ % 4 === 1) return void response.writeHead(503).end();
    heard.add((JSON.parse(body) as { data: { id: string } }).data.id);
    response.writeHead(204).end();
  });
  const serverPort = await listen(server);
  return Object.assign(state, {
    heard,
    url: `http://127.0.0.1:${serverPort}/hook`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
}
