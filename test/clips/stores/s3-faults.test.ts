// Tests clips in a bucket whose service is unreachable, slow or full, or breaks midway: incomplete clips are never
// visible, acknowledged clips exist, every call finishes, and everything recovers without a restart.
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Timeouts } from '../../../src/clips/stores/s3-client.ts';
import { S3Clips } from '../../../src/clips/stores/s3-clips.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { patternBytes } from '../../conformance/pattern-bytes.ts';
import { type Fault, openFaultProxy } from './fault-proxy.ts';
import { hasS3, openS3Server, type S3Server } from './s3-server.ts';

/** Short timeouts for failing calls. */
const little: Timeouts = {
  ...{ connectMs: 300, checkMs: 300, attemptMs: 300, callMs: 500 },
  ...{ uploadAttemptMs: 400, uploadMs: 800 },
};
/** Timeouts for many writers at once on a busy machine. */
const patient: Timeouts = {
  ...{ connectMs: 1_500, checkMs: 3_000, attemptMs: 1_500, callMs: 6_000 },
  ...{ uploadAttemptMs: 2_000, uploadMs: 8_000 },
};
const stallMs = 300;
const newKey = () => createId('aud', 128);
const unavailable = { reason: 'storage_unavailable' };
const mib = 1 << 20;

describe.skipIf(!hasS3)('an S3 service', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await openS3Server();
  });
  afterAll(() => server.client.destroy());

  const openTroubled = async (timeouts?: Timeouts, { endpoint, openBucket } = server) => {
    const proxy = await openFaultProxy(endpoint);
    const bucket = await openBucket(proxy.endpoint, timeouts);
    const clips = new S3Clips({ bucket, prefix: '', stallMs });
    const keep = async (bytes: Uint8Array, key = newKey()) => {
      const draft = await clips.create(key, 'audio/wav');
      try {
        for (let at = 0; at < bytes.length; at += mib) await draft.write(bytes.subarray(at, at + mib));
        await draft.commit();
        return key;
      } finally {
        await draft.discard();
      }
    };
    const bytesOf = async (key: string) => {
      const clip = await clips.open(key);
      return clip && buffer(clip.body);
    };
    const always = (fault: Fault | undefined) => {
      proxy.faultOf = () => fault;
    };
    /** Applies the fault to `count` matching requests, and passes on all other requests. */
    const some = (count: number, looks: RegExp, fault: Fault) => {
      let left = count;
      proxy.faultOf = ({ method, url }) => (looks.test(`${method} ${url}`) && left-- > 0 ? fault : undefined);
    };
    return { proxy, clips, keep, bytesOf, always, some };
  };

  test.each<Fault>([
    { kind: 'reset' },
    { kind: 'freeze' },
    { kind: 'lose-answer' },
    { kind: 'answer', status: 503, code: 'SlowDown' },
    { kind: 'answer', status: 503, code: 'ServiceUnavailable', retryAfter: 3600 },
    { kind: 'answer', status: 500, code: 'InternalError' },
    { kind: 'answer', status: 403, code: 'AccessDenied' },
    { kind: 'answer', status: 404, code: 'NoSuchBucket' },
  ])(
    'that does this, $kind $code, is unavailable, and is asked before anything is begun until it is back',
    async (fault) => {
      const { proxy, clips, keep, bytesOf, always } = await openTroubled(little);
      const never = newKey();
      const there = await recovered(() => keep(patternBytes(1_000)));
      const early = await clips.create(newKey(), 'audio/wav');
      always(fault);
      await Promise.all([
        expect(clips.open(there)).rejects.toMatchObject(unavailable),
        expect(clips.remove(newKey())).rejects.toMatchObject(unavailable),
        expect(clips.sweep(async () => true)).rejects.toMatchObject(unavailable),
        expect(early.write(patternBytes(1_000)).then(() => early.commit())).rejects.toMatchObject(unavailable),
      ]);
      proxy.requests.length = 0;
      await expect(clips.create(never, 'audio/wav')).rejects.toMatchObject(unavailable);
      // Earlier requests may still be cleaned up in the background.
      expect(proxy.requests.filter((requests) => requests.includes(never) && !requests.startsWith('HEAD '))).toEqual(
        [],
      );
      always(undefined);
      const key = await recovered(() => keep(patternBytes(2_000)));
      expect(patternBytes(2_000).equals((await recovered(() => bytesOf(key)))!)).toBe(true);
      expect(await recovered(() => clips.open(never))).toBeUndefined();
      await clips.close();
    },
  );

  test('that refuses connections is unavailable', async () => {
    const clips = new S3Clips({ bucket: await server.openBucket('http://127.0.0.1:1'), prefix: '' });
    await expect(clips.open(newKey())).rejects.toMatchObject(unavailable);
    await clips.close();
  });

  test.each<[string, RegExp, Fault, number?]>([
    ['slows down', /PUT/, { kind: 'answer', status: 503, code: 'SlowDown' }],
    ['resets connections', /PUT/, { kind: 'reset' }],
    ['cuts what is sent', /PUT/, { kind: 'cut-request', afterBytes: 100_000 }],
    ['loses an answer', /PUT/, { kind: 'lose-answer' }],
    ['loses the answer to the last call', /POST.*uploadId/, { kind: 'lose-answer' }],
    ['freezes', /PUT/, { kind: 'freeze' }, 50_000],
  ])('that %s once is tried again, and nobody notices', async (_, looks, fault, size = 6 * mib) => {
    const isSmall = size < mib;
    const timeouts = {
      ...little,
      attemptMs: isSmall ? 500 : 10_000,
      callMs: 10_000,
      uploadAttemptMs: 10_000,
      uploadMs: 30_000,
    };
    const { clips, keep, bytesOf, some } = await openTroubled(timeouts);
    some(1, looks, fault);
    const whole = patternBytes(size);
    const key = await keep(whole);
    expect(whole.equals((await bytesOf(key))!)).toBe(true);
    await clips.remove(key);
    await clips.close();
  });

  test.each<[string, RegExp, Fault]>([
    ['second part', /PUT.*partNumber=2/, { kind: 'reset' }],
    ['first part', /PUT.*partNumber=1&/, { kind: 'answer', status: 500, code: 'InternalError' }],
    ['last call', /POST.*uploadId/, { kind: 'answer', status: 500, code: 'InternalError' }],
    ['beginning', /POST.*uploads/, { kind: 'reset' }],
  ])('that does not take the %s of a clip has nothing of it, and nothing is left', async (_, looks, fault) => {
    const empty = await openS3Server();
    const { proxy, clips, keep, some } = await openTroubled(undefined, empty);
    some(100, looks, fault);
    const key = newKey();
    await expect(keep(patternBytes(6 * mib), key)).rejects.toMatchObject(unavailable);
    expect(await clips.open(key)).toBeUndefined();
    proxy.faultOf = () => undefined;
    await clips.close();
    expect(await empty.listUploads()).toEqual([]);
    empty.client.destroy();
  });

  test.each<[string, Fault]>([
    ['at its beginning', { kind: 'cut-answer', afterBytes: 0 }],
    ['in its middle', { kind: 'cut-answer', afterBytes: 700_000 }],
    ['at its end', { kind: 'cut-answer', afterBytes: 999_999 }],
    ['in its middle, by silence', { kind: 'stall-answer', afterBytes: 700_000 }],
  ])('that breaks a body %s destroys its reader', async (_, fault) => {
    const { clips, keep, bytesOf, always } = await openTroubled();
    const key = await keep(patternBytes(1_000_000));
    always(fault);
    await expect(bytesOf(key)).rejects.toMatchObject(unavailable);
    always(undefined);
    expect((await bytesOf(key))?.length).toBe(1_000_000);
    await clips.close();
  });

  test('does not time out while the reader pauses', async () => {
    const { clips, keep } = await openTroubled();
    const whole = patternBytes(3 * mib);
    const { body } = (await clips.open(await keep(whole)))!;
    body.read(0);
    await sleep(2 * stallMs);
    expect(whole.equals(await buffer(body))).toBe(true);
    await clips.close();
  });

  test('that is slow slows the writer: at most three parts are buffered', async () => {
    const { clips, always } = await openTroubled(little);
    always({ kind: 'freeze' });
    const draft = await clips.create(newKey(), 'audio/wav');
    let taken = 0;
    const writing = (async () => {
      for (;;) {
        await draft.write(patternBytes(mib));
        taken += mib;
      }
    })();
    await expect(writing).rejects.toMatchObject(unavailable);
    expect(taken).toBeLessThanOrEqual(15 * mib);
    await draft.discard();
    always(undefined);
    await clips.close();
  });

  test.each<Fault>([
    { kind: 'answer', status: 507, code: 'InsufficientStorage' },
    { kind: 'answer', status: 403, code: 'QuotaExceeded' },
  ])('that answers $status $code is full', async (fault) => {
    const { keep, always } = await openTroubled();
    always(fault);
    await expect(keep(patternBytes(1_000))).rejects.toMatchObject({ reason: 'storage_full' });
    await expect(keep(patternBytes(6 * mib))).rejects.toMatchObject({ reason: 'storage_full' });
    always(undefined);
    await keep(patternBytes(1_000));
  });

  test('is full when its quota is used up, and writable again when something is removed', async (context) => {
    const full = await openS3Server();
    if (!full.limitObjects) return context.skip();
    const clips = new S3Clips({ bucket: await full.openBucket(), prefix: '' });
    const keep = async () => {
      const key = newKey();
      const draft = await clips.create(key, 'audio/wav');
      await draft.write(patternBytes(1_000));
      await draft.commit();
      return key;
    };
    await full.limitObjects(1);
    const key = await keep();
    await expect(keep()).rejects.toMatchObject({ reason: 'storage_full' });
    await clips.remove(key);
    await keep();
    await clips.close();
    full.client.destroy();
  });

  test('that fails at random loses nothing that it acknowledged, and shows no part of a clip', async () => {
    const { clips, keep, proxy } = await openTroubled(patient);
    const faults: Fault[] = [
      { kind: 'reset' },
      { kind: 'freeze' },
      { kind: 'lose-answer' },
      { kind: 'answer', status: 503, code: 'SlowDown' },
      { kind: 'cut-request', afterBytes: 30_000 },
      { kind: 'slow', pauseMs: 5 },
    ];
    proxy.faultOf = () => (Math.random() < 0.4 ? faults[Math.floor(Math.random() * faults.length)] : undefined);
    const made = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const whole = patternBytes(i % 10 === 0 ? 6 * mib : 50_000, i);
        const key = newKey();
        const refusal = await keep(whole, key).then(
          () => undefined,
          (error) => error,
        );
        if (refusal) expect(refusal).toMatchObject(unavailable);
        return { key, whole, isStored: !refusal };
      }),
    );
    proxy.faultOf = () => undefined;
    await clips.close();
    const behind = new S3Clips({ bucket: await server.openBucket(), prefix: '' });
    for (const { key, whole, isStored } of made) {
      const clip = await behind.open(key);
      const isWhole = clip && whole.equals(await buffer(clip.body));
      expect(isWhole).toBe(isStored ? true : isWhole === undefined ? undefined : true);
    }
    expect(made.filter(({ isStored }) => isStored).length).toBeGreaterThan(0);
    await behind.close();
  });
});

/** Repeats the work until it succeeds: on a busy machine, a short timeout is sometimes too short. */
async function recovered<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 50) throw error;
    }
  }
}
