// Tests any clip store against the contract in src/clips/stores/clip-store.ts.
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ByteRange, ClipStore } from '../../src/clips/stores/clip-store.ts';
import { createId } from '../../src/platform/runtime/id.ts';
import { patternBytes } from './pattern-bytes.ts';

/** Invalid keys, none of which may reach a clip. */
export const badKeys = [
  '',
  '.',
  '..',
  '/',
  '/etc/passwd',
  '../../../../etc/passwd',
  '..\\..\\windows\\win.ini',
  'aud_01JD3Q8S6V5W2K9YB4XJ/../../secret',
  'aud_01JD3Q8S6V5W2K9YB4XJ/',
  'aud_01JD3Q8S6V5W2K9YB4XJ.wav',
  'aud_01JD3Q8S6V5W2K9YB4XJ\0',
  'aud_01JD3Q8S6V5W2K9YB4XJ\n',
  ' aud_01JD3Q8S6V5W2K9YB4XJ',
  'aud_01jd3q8s6v5w2k9yb4xj',
  'AUD_01JD3Q8S6V5W2K9YB4XJ',
  'aud_%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  'aud_..............................',
  'aud_////////////////////',
  'aud_０１ＪＤ３Ｑ８Ｓ６Ｖ５Ｗ２Ｋ９ＹＢ４ＸＪ',
  'aud_SHORT',
  `aud_${'A'.repeat(81)}`,
  'drafts/aud_01JD3Q8S6V5W2K9YB4XJ',
  'drafts',
  'file:///etc/passwd',
  'C:\\boot.ini',
  'con',
];

const newKey = () => createId('aud', 128);

export function clipStoreConformance(name: string, open: () => Promise<ClipStore>): void {
  describe(`${name} meets the contract of a clip store`, () => {
    let store: ClipStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    const keep = async (bytes: Uint8Array, key = newKey()) => {
      const draft = await store.create(key, 'audio/wav');
      await draft.write(bytes);
      await draft.commit();
      return key;
    };
    const bytesOf = async (key: string, range?: ByteRange) => {
      const clip = await store.open(key, range);
      return clip && buffer(clip.body);
    };

    test('a clip is readable, complete, once it is committed and not before', async () => {
      const key = newKey();
      const whole = patternBytes(300_000);
      const draft = await store.create(key, 'audio/wav');
      let at = 0;
      for (const size of [1, 0, 9_999, 65_536, 100_000, 124_464]) {
        await draft.write(whole.subarray(at, at + size));
        at += size;
        expect(await store.open(key)).toBeUndefined();
      }
      await draft.commit();
      const clip = (await store.open(key))!;
      expect(clip.byteCount).toBe(whole.length);
      expect(whole.equals(await buffer(clip.body))).toBe(true);
    });

    test('the header may be written last', async () => {
      const key = newKey();
      const draft = await store.create(key, 'audio/wav');
      await draft.write(Buffer.from('????'));
      await draft.write(Buffer.from('body'));
      await draft.commit(Buffer.from('head'));
      expect(String(await bytesOf(key))).toBe('headbody');
    });

    test('a clip of no bytes is a clip', async () => {
      const key = newKey();
      await (await store.create(key, 'audio/wav')).commit();
      const clip = (await store.open(key))!;
      expect(clip.byteCount).toBe(0);
      expect((await buffer(clip.body)).length).toBe(0);
    });

    test.each([
      [0, 0],
      [0, 99],
      [99, 99],
      [10, 19],
      [90, 1_000],
      [100, 100],
      [5_000, 6_000],
      [10, 9],
    ])('bytes %i to %i', async (first, last) => {
      const whole = patternBytes(100);
      const key = await keep(whole);
      const clip = (await store.open(key, { first, last }))!;
      expect(clip.byteCount).toBe(100);
      expect([...(await buffer(clip.body))]).toEqual([...whole.subarray(first, last + 1)]);
    });

    test('what is discarded leaves nothing, and may be discarded again', async () => {
      const key = newKey();
      const draft = await store.create(key, 'audio/wav');
      await draft.write(patternBytes(1_000));
      await draft.discard();
      await draft.discard();
      expect(await store.open(key)).toBeUndefined();
      const unavailable = { reason: 'storage_unavailable' };
      await expect(draft.write(patternBytes(1))).rejects.toMatchObject(unavailable);
      await expect(draft.commit()).rejects.toMatchObject(unavailable);
      expect(await store.open(key)).toBeUndefined();
    });

    test('what is committed stays: discarding it, writing to it and committing it again change nothing', async () => {
      const key = newKey();
      const draft = await store.create(key, 'audio/wav');
      await draft.write(patternBytes(1_000));
      await draft.commit();
      await draft.discard();
      await expect(draft.write(patternBytes(1))).rejects.toMatchObject({ reason: 'storage_unavailable' });
      await expect(draft.commit()).rejects.toMatchObject({ reason: 'storage_unavailable' });
      expect(patternBytes(1_000).equals((await bytesOf(key))!)).toBe(true);
    });

    test('of two drafts with one key the later to commit is the clip, whole', async () => {
      const key = newKey();
      const [one, two] = [await store.create(key, 'audio/wav'), await store.create(key, 'audio/wav')];
      await Promise.all([one.write(patternBytes(70_000, 1)), two.write(patternBytes(60_000, 2))]);
      await two.commit();
      expect(patternBytes(60_000, 2).equals((await bytesOf(key))!)).toBe(true);
      await one.commit();
      expect(patternBytes(70_000, 1).equals((await bytesOf(key))!)).toBe(true);
    });

    test('a removed clip is gone, but open readers finish', async () => {
      const whole = patternBytes(500_000);
      const key = await keep(whole);
      const reader = (await store.open(key))!;
      await store.remove(key);
      await store.remove(key);
      expect(await store.open(key)).toBeUndefined();
      expect(whole.equals(await buffer(reader.body))).toBe(true);
    });

    test('little is buffered for a stalled reader', async () => {
      const key = await keep(patternBytes(4_000_000));
      const { body } = (await store.open(key))!;
      body.read(0);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(body.readableLength).toBeLessThanOrEqual(256 * 1024);
      body.destroy();
    });

    test('concurrent clips do not mix', async () => {
      const keys = await Promise.all(Array.from({ length: 30 }, (_, i) => keep(patternBytes(20_000 + i, i))));
      const intact = await Promise.all(
        keys.map(async (key, i) => patternBytes(20_000 + i, i).equals((await bytesOf(key))!)),
      );
      expect(intact).not.toContain(false);
    });

    test.each(badKeys)('%j is no key: nothing is opened, removed or made', async (key) => {
      expect(await store.open(key)).toBeUndefined();
      await store.remove(key);
      await expect(store.create(key, 'audio/wav')).rejects.toThrow(TypeError);
    });

    test('closing discards the drafts that are open', async () => {
      const closing = await open();
      const key = newKey();
      const draft = await closing.create(key, 'audio/wav');
      await draft.write(patternBytes(10));
      await closing.close();
      await expect(draft.commit()).rejects.toMatchObject({ reason: 'storage_unavailable' });
      expect(await closing.open(key)).toBeUndefined();
    });
  });
}
