// Tests clips in a bucket of a real S3 service: the contract, and faults that only a bucket has.
import { buffer } from 'node:stream/consumers';
import { HeadObjectCommand, PutBucketPolicyCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPublicLinks, createSignedLinks, toS3Path } from '../../../src/clips/stores/s3-bucket.ts';
import { S3Clips } from '../../../src/clips/stores/s3-clips.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { clipStoreConformance } from '../../conformance/clip-store.ts';
import { patternBytes } from '../../conformance/pattern-bytes.ts';
import { hasS3, openS3Server, type S3Server } from './s3-server.ts';

const prefix = 'some/clips/';
const newKey = () => createId('aud', 128);
const mib = 1 << 20;

describe.skipIf(!hasS3)('S3', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await openS3Server();
  });
  afterAll(() => server.client.destroy());

  const open = async (abandonedAfterMs?: number, { openBucket } = server) =>
    new S3Clips({
      bucket: await openBucket(),
      prefix,
      ...(abandonedAfterMs !== undefined && { abandonedAfterMs }),
    });
  const keep = async (clips: S3Clips, bytes: Uint8Array, head?: Uint8Array, key = newKey()) => {
    const draft = await clips.create(key, 'audio/wav');
    const room = Buffer.alloc(300_000);
    for (let at = 0; at < bytes.length; at += room.length) {
      // The buffer may be reused after a write.
      const piece = room.subarray(0, Math.min(room.length, bytes.length - at));
      piece.set(bytes.subarray(at, at + piece.length));
      await draft.write(piece);
    }
    room.fill(0);
    await draft.commit(head);
    return key;
  };

  clipStoreConformance('a bucket', () => open());

  test.each([5 * mib - 1, 5 * mib, 5 * mib + 1, 10 * mib, 10 * mib + 1, 17 * mib])(
    'a clip of %i bytes is whole, its head last',
    async (byteCount) => {
      const clips = await open();
      const whole = patternBytes(byteCount);
      const head = Buffer.from('the head');
      const key = await keep(clips, whole, head);
      head.copy(whole);
      const clip = (await clips.open(key))!;
      expect(clip.byteCount).toBe(byteCount);
      expect(whole.equals(await buffer(clip.body))).toBe(true);
      for (const first of [0, 5 * mib - 10, byteCount - 20]) {
        const part = (await clips.open(key, { first, last: first + 19 }))!;
        expect(whole.subarray(first, first + 20).equals(await buffer(part.body))).toBe(true);
      }
      const found = await server.client.send(
        new HeadObjectCommand({ Bucket: server.bucketName, Key: toS3Path(prefix, key) }),
      );
      expect(found.ContentType).toBe('audio/wav');
      expect(await server.listUploads()).toEqual([]);
      await clips.close();
    },
  );

  test('a long clip is invisible before it is committed, and leaves nothing if it is discarded', async () => {
    const clips = await open();
    const keys = [newKey(), newKey()];
    const drafts = await Promise.all(keys.map((key) => clips.create(key, 'audio/wav')));
    for (const draft of drafts) for (let i = 0; i < 12; i++) await draft.write(patternBytes(mib));
    await expect.poll(() => server.listUploads()).toHaveLength(2);
    for (const key of keys) expect(await clips.open(key)).toBeUndefined();
    await drafts[0]!.commit();
    await drafts[1]!.discard();
    expect((await clips.open(keys[0]!))?.byteCount).toBe(12 * mib);
    expect(await clips.open(keys[1]!)).toBeUndefined();
    await expect.poll(() => server.listUploads()).toEqual([]);
    await clips.close();
  });

  test('the sweep removes what is old and unknown, and nothing else', async () => {
    const one = await openS3Server();
    const [young, old] = [await open(undefined, one), await open(0, one)];
    const [known, lost] = [await keep(young, patternBytes(10)), await keep(young, patternBytes(10))];
    const begun = await young.create(newKey(), 'audio/wav');
    for (let i = 0; i < 12; i++) await begun.write(patternBytes(mib));
    await expect.poll(() => one.listUploads()).toHaveLength(1);
    const foreign = [`${prefix}notes.txt`, `${prefix}aa/${known}`, toS3Path('', lost), toS3Path('some/', lost)];
    const put = (Key: string) => one.client.send(new PutObjectCommand({ Bucket: one.bucketName, Key, Body: 'x' }));
    await Promise.all(foreign.map(put));
    const isKnown = async (key: string) => key !== lost;
    expect(await young.sweep(isKnown)).toBe(0);
    expect(await old.sweep(isKnown)).toBe(2);
    expect(await old.sweep(isKnown)).toBe(0);
    expect(await young.open(lost)).toBeUndefined();
    expect((await young.open(known))?.byteCount).toBe(10);
    for (const Key of foreign) await one.client.send(new HeadObjectCommand({ Bucket: one.bucketName, Key }));
    await expect(begun.commit()).rejects.toMatchObject({ reason: 'storage_unavailable' });
    await Promise.all([young.close(), old.close()]);
    one.client.destroy();
  });

  test('the sweep sees every page of a long list', async () => {
    const many = await openS3Server();
    const clips = await open(0, many);
    const keys = new Set(Array.from({ length: 1_010 }, newKey));
    const left = [...keys];
    const put = async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop())
        await keep(clips, patternBytes(1), undefined, key);
    };
    await Promise.all(Array.from({ length: 20 }, put));
    const seen = new Set<string>();
    expect(await clips.sweep(async (key) => Boolean(seen.add(key)))).toBe(0);
    expect(seen).toEqual(keys);
    await clips.close();
    many.client.destroy();
  });

  describe('a link', () => {
    const file = (key: string, lifeMs = 3_600_000) => ({
      ...{ key, contentType: 'audio/mpeg', fileName: `${key}.mp3`, expiresAtMs: Date.now() + lifeMs },
    });

    test('that is signed points at the store, which sends our headers, and stays the same for a while', async () => {
      const bucket = await server.openBucket();
      const clips = new S3Clips({ bucket, prefix });
      const whole = patternBytes(1_000);
      const [key, other] = [await keep(clips, whole), await keep(clips, whole)];
      const linkTo = createSignedLinks({ bucket, prefix });
      const { url, maxAgeSeconds } = await linkTo(file(key));
      expect(maxAgeSeconds).toBeGreaterThan(1_700);
      expect(maxAgeSeconds).toBeLessThanOrEqual(1_800);
      const answer = await fetch(url);
      expect([answer.status, whole.equals(await answer.bytes())]).toEqual([200, true]);
      const headers = ['Content-Type', 'Content-Disposition', 'Cache-Control'].map((name) => answer.headers.get(name));
      expect(headers).toEqual([
        'audio/mpeg',
        `inline; filename="${key}.mp3"`,
        expect.stringMatching(/^public, max-age=1(799|800), immutable$/),
      ]);
      const part = await fetch(url, { headers: { Range: 'bytes=10-19' } });
      expect([part.status, part.headers.get('Content-Range')]).toEqual([206, 'bytes 10-19/1000']);
      expect(whole.subarray(10, 20).equals(await part.bytes())).toBe(true);
      expect((await linkTo(file(key))).url).toBe(url);
      expect((await fetch(url.replace(key, other).replace(/\/..\//, `/${other.slice(-2)}/`))).status).toBe(403);
      expect((await fetch(url.replace(/\?.*/, ''))).status).toBe(403);
      await clips.remove(key);
      expect((await fetch(url)).status).toBe(404);
      await clips.close();
    });

    test('a signed link expires with its audio, and has the public address of the store', async () => {
      const bucket = await server.openBucket();
      const clips = new S3Clips({ bucket, prefix });
      const key = await keep(clips, patternBytes(10));
      const brief = await createSignedLinks({ bucket, prefix })(file(key, 1_000));
      expect(brief.url).toMatch(/X-Amz-Expires=1&/);
      await expect.poll(async () => (await fetch(brief.url)).status).toBe(403);
      await clips.close();
      const elsewhere = await server.openBucket(server.endpoint, {}, 'https://audio.example.com/s3');
      const { url } = await createSignedLinks({ bucket: elsewhere, prefix })(file(key));
      expect(url.startsWith(`https://audio.example.com/s3/${server.bucketName}/${toS3Path(prefix, key)}?`)).toBe(true);
      elsewhere.close();
    });

    test('that is public works if the bucket is public', async () => {
      const clips = await open();
      const whole = patternBytes(1_000);
      const key = await keep(clips, whole);
      const publicUrl = `${server.endpoint}/${server.bucketName}`;
      const { url, maxAgeSeconds } = await createPublicLinks({ publicUrl, prefix })(file(key, 60_000));
      expect(maxAgeSeconds).toBeGreaterThan(50);
      expect((await fetch(url)).status).toBe(403);
      const Resource = `arn:aws:s3:::${server.bucketName}/*`;
      const Statement = [{ Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource }];
      const Policy = JSON.stringify({ Version: '2012-10-17', Statement });
      await server.client.send(new PutBucketPolicyCommand({ Bucket: server.bucketName, Policy }));
      const answer = await fetch(url);
      expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'audio/wav']);
      expect(whole.equals(await answer.bytes())).toBe(true);
      await clips.close();
    });
  });
});
