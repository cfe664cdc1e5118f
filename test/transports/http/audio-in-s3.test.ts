// Tests stored audio with clips in S3: replies are the same whether Sonant or the store itself serves the audio, and
// failures are reported while the store is unreachable.
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../../src/app/config.ts';
import { openClipStore } from '../../../src/clips/open-clips.ts';
import { createSignedLinks, type LinkTo } from '../../../src/clips/stores/s3-bucket.ts';
import { S3Clips } from '../../../src/clips/stores/s3-clips.ts';
import { openJobsGateway } from '../../clips/jobs/open-jobs.ts';
import { createTestSigner } from '../../clips/provenance/signing.ts';
import { type Fault, openFaultProxy } from '../../clips/stores/fault-proxy.ts';
import { hasS3, openS3Server, type S3Server } from '../../clips/stores/s3-server.ts';
import { newFolder } from '../../new-folder.ts';
import { bytesOf, errorOf, openTestGateway } from './open-gateway.ts';

describe.skipIf(!hasS3)('with S3', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await openS3Server();
  });
  afterAll(() => server.client.destroy());

  const open = async ({ links = false, retentionMs = 3_600_000 } = {}) => {
    const proxy = await openFaultProxy(server.endpoint);
    const patience = { attemptMs: 500, callMs: 1_200, checkMs: 500, uploadAttemptMs: 500, uploadMs: 1_200 };
    const bucket = await server.openBucket(proxy.endpoint, patience);
    const clips = new S3Clips({ bucket, prefix: '' });
    const linkTo: LinkTo | undefined = links ? createSignedLinks({ bucket, prefix: '' }) : undefined;
    const gateway = await openTestGateway({ retentionMs, store: { clips, ...(linkTo && { linkTo }) } });
    const always = (fault: Fault | undefined) => {
      proxy.faultOf = () => fault;
    };
    const speak = async (body: object = {}) => {
      const answer = await gateway.speak({ text: 'Hello there, world.', ...body });
      const { audio_url = '' } = (await answer.clone().json()) as { audio_url?: string };
      return { answer, url: gateway.here(audio_url), path: new URL(audio_url).pathname };
    };
    return { gateway, always, speak };
  };

  test.each([false, true])(
    'links lead to the store: %j; the file is the same, whole, in part and unchanged',
    async (links) => {
      const { gateway, speak } = await open({ links });
      const { answer, url, path } = await speak();
      const id = answer.headers.get('X-Audio-Id')!;
      expect(path).toBe(`/audio/${id}.wav`);
      const whole = await bytesOf(await fetch(url));
      const spoken = await gateway.speak({ text: 'Hello there, world.', return_format: 'buffer' });
      expect([spoken.headers.get('X-Cache'), whole.equals(await bytesOf(spoken))]).toEqual(['HIT', true]);

      const got = await fetch(url, { redirect: 'manual' });
      await got.arrayBuffer();
      expect(got.status).toBe(links ? 302 : 200);
      if (links) {
        const [, age] = /^public, max-age=(\d+)$/.exec(got.headers.get('Cache-Control')!)!;
        expect(Number(age)).toBeLessThanOrEqual(1_800);
        expect(new URL(got.headers.get('Location')!).pathname).toContain(id);
      }
      const head = await fetch(url, { method: 'HEAD', redirect: 'manual' });
      const headers = ['Content-Length', 'Content-Type', 'ETag'].map((name) => head.headers.get(name));
      expect([head.status, ...headers]).toEqual([200, String(whole.length), 'audio/wav', `"${id}"`]);
      const part = await fetch(url, { headers: { Range: 'bytes=50-99' } });
      expect([part.status, part.headers.get('Content-Range')]).toEqual([206, `bytes 50-99/${whole.length}`]);
      expect(whole.subarray(50, 100).equals(await bytesOf(part))).toBe(true);
      expect((await fetch(url, { headers: { Range: `bytes=${whole.length}-` } })).status).toBe(416);
      // The tag may be the store's. A client that sends either tag has the file.
      for (const tag of [`"${id}"`, (await fetch(url)).headers.get('ETag')!]) {
        expect((await fetch(url, { headers: { 'If-None-Match': tag } })).status).toBe(304);
      }
      expect((await gateway.send(`/api/audio/${id}`, { method: 'DELETE' })).status).toBe(204);
      expect(await errorOf(await fetch(url))).toEqual([410, 'audio_expired']);
      if (links) expect((await fetch(got.headers.get('Location')!)).status).toBe(404);
    },
  );

  test('a bucket with public links gets no receipt, because everyone could read the text', async () => {
    for (const [name, value] of Object.entries(server.env)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { endpoint, bucketName: Bucket, client } = server;
    const publicUrl = `${endpoint}/${Bucket}`;
    const env = {
      ...{ SONANT_S3_BUCKET: Bucket, SONANT_S3_ENDPOINT: endpoint, SONANT_S3_PREFIX: 'public/' },
      ...{ SONANT_S3_LINKS: 'public', SONANT_S3_PUBLIC_URL: publicUrl },
    };
    const store = await openClipStore(loadConfig({ env, folder: newFolder(), engines: [] }));
    const marking = { software: 'Sonant 1.2.3', operator: '' };
    const gateway = await openJobsGateway({ openSigner: createTestSigner(), marking, store });
    await gateway.speak({ text: 'A secret.' });
    const { id } = await gateway.create();
    expect(await gateway.untilEnded(id)).toMatchObject({ status: 'succeeded' });
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket, Prefix: 'public/' }));
    const names = Contents.map(({ Key }) => Key!.replace(/.*\/(\w{3})_.*/, '$1'));
    expect([names.includes('aud'), names.includes('rec')]).toEqual([true, false]);
  });

  test('a link expires together with its redirect to the store', async () => {
    const { speak } = await open({ links: true, retentionMs: 1_000 });
    const { url } = await speak();
    const { headers } = await fetch(url, { redirect: 'manual' });
    await expect.poll(async () => (await fetch(url)).status).toBe(410);
    await expect.poll(async () => (await fetch(headers.get('Location')!)).status).toBe(403);
  });

  test.each<Fault>([{ kind: 'reset' }, { kind: 'freeze' }, { kind: 'answer', status: 503, code: 'SlowDown' }])(
    'while the store is away, by $kind, what needs it is refused, the rest goes on, and all does when it is back',
    async (fault) => {
      const { gateway, always, speak } = await open();
      const { url } = await speak();
      always(fault);
      const [kept, fetched, streamed] = await Promise.all([
        gateway.speak({ text: 'Another text.' }),
        fetch(url),
        gateway.speak({ method: 'streaming', text_chunks: ['Not kept.'], text: undefined, return_format: 'buffer' }),
      ]);
      expect(await errorOf(kept)).toEqual([503, 'storage_unavailable']);
      expect(await errorOf(fetched)).toEqual([503, 'storage_unavailable']);
      expect([streamed.status, (await bytesOf(streamed)).length > 1_000]).toEqual([200, true]);
      expect(Number(kept.headers.get('Retry-After'))).toBeGreaterThan(0);
      always(undefined);
      expect((await fetch(url)).status).toBe(200);
      expect((await speak({ text: 'Another text.' })).answer.status).toBe(200);
    },
  );

  test('a full store is reported as storage_full', async () => {
    const { gateway, always } = await open();
    always({ kind: 'answer', status: 403, code: 'QuotaExceeded' });
    expect(await errorOf(await gateway.speak({ text: 'No room.' }))).toEqual([507, 'storage_full']);
  });

  test('a file that breaks in the middle is a broken transfer, never a short file', async () => {
    const { always, speak } = await open();
    const { url } = await speak({ text: 'word '.repeat(100), sample_rate: 48000 });
    always({ kind: 'cut-answer', afterBytes: 200_000 });
    await expect(fetch(url).then(bytesOf)).rejects.toThrow();
    always(undefined);
    const whole = await bytesOf(await fetch(url));
    expect(whole.length).toBe(whole.readUInt32LE(4) + 8);
  });
});
