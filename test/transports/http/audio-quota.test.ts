// Tests the quota for stored audio, over HTTP: whose audio is removed when the quota is full, which requests are
// refused before synthesis, and that recently acknowledged audio stays.
import type { Readable } from 'node:stream';
import { beforeEach, expect, test } from 'vitest';
import { expectedBytesOf } from '../../../src/speech/plan.ts';
import { isDistributed } from '../../distributed/storage.ts';
import { parseSpeechRequest } from '../../speech/parse-request.ts';
import { bytesOf, errorOf, openTestGateway, type TestGateway } from './open-gateway.ts';

/** Texts whose audio takes about 350 kB each, all different. */
let texts = 0;
const text = () => `Number ${texts++}. ${'one two three four '.repeat(3)}`;
const expectedBytes = expectedBytesOf(parseSpeechRequest({ voice_id: 'tone-low', text: text() }));
/** Room for a few clips, with a margin for rough estimates. */
const fewClips = 7 * expectedBytes;

let gateway: TestGateway;
const open = async (room: { bytesMax?: number; accountBytesMax?: number }) => {
  gateway = await openTestGateway({ room });
};
beforeEach(() => {
  texts = 100;
});

const ask = (key: string, fields: object = {}) =>
  gateway.speak({ text: text(), ...fields }, { headers: { 'X-API-Key': key } });
const link = async (key: string, fields: object = {}) => {
  const answer = await ask(key, fields);
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { audio_url: string }).audio_url;
};
const statusOf = async (url: string) => {
  const answer = await gateway.send(url);
  await answer.arrayBuffer();
  return answer.status;
};
const statusesOf = (urls: readonly string[]) => Promise.all(urls.map(statusOf));
/** Backdates everything stored so far, so that it is old and long unused. */
const age = () =>
  gateway.store.query('update clips set created_at_ms = created_at_ms - 120000, used_at_ms = used_at_ms - 120000');
const makeKey = () => gateway.makeKey();

test('a key that fills its quota loses its own oldest audio, and no other key loses any', async () => {
  await open({ accountBytesMax: fewClips });
  const [greedy, other] = [await makeKey(), await makeKey()];
  const others = [await link(other)];
  const made: string[] = [];
  for (let i = 0; i < 10; i++) {
    made.push(await link(greedy));
    await age();
  }
  const statuses = await statusesOf(made);
  expect(statuses[0]).toBe(410);
  expect(statuses.slice(-2)).toEqual([200, 200]);
  expect(statuses).toEqual(statuses.toSorted().toReversed());
  expect(await statusesOf(others)).toEqual([200]);
  expect(gateway.room.state().removedClips).toBe(statuses.filter((status) => status === 410).length);
  expect(gateway.room.state().storedBytes).toBeLessThan(2 * fewClips);
});

test('what was acknowledged a moment ago stays: further links are refused before they are spoken, sound is not', async () => {
  await open({ accountBytesMax: fewClips });
  const [greedy, other] = [await makeKey(), await makeKey()];
  const made: string[] = [];
  let refused: Response | undefined;
  for (let i = 0; i < 20 && !refused; i++) {
    const answer = await ask(greedy);
    if (answer.ok) made.push(((await answer.json()) as { audio_url: string }).audio_url);
    else refused = answer;
  }
  const { begun } = gateway.tone.counts;
  expect(refused!.headers.get('Retry-After')).toBe('60');
  expect(await errorOf(refused!)).toEqual([507, 'storage_full']);
  const stream = await ask(greedy, {
    text: undefined,
    method: 'streaming',
    text_chunks: [text()],
    return_format: 'url',
  });
  expect(await errorOf(stream)).toEqual([507, 'storage_full']);
  expect(gateway.tone.counts.begun).toBe(begun);
  expect(new Set(await statusesOf(made))).toEqual(new Set([200]));
  expect((await bytesOf(await ask(greedy, { return_format: 'buffer' }))).length).toBeGreaterThan(100_000);
  expect(await statusOf(await link(other))).toBe(200);
  expect(new Set(await statusesOf(made))).toEqual(new Set([200]));
});

test('over the quota of all, the key that holds the most loses its oldest', async () => {
  await open({ bytesMax: fewClips, accountBytesMax: fewClips });
  const [greedy, modest] = [await makeKey(), await makeKey()];
  const modestLinks = [await link(modest)];
  const greedyLinks: string[] = [];
  await age();
  for (let i = 0; i < 9; i++) {
    greedyLinks.push(await link(greedy));
    await age();
  }
  modestLinks.push(await link(modest));
  expect(await statusesOf(modestLinks)).toEqual([200, 200]);
  expect(await statusOf(greedyLinks[0]!)).toBe(410);
});

test('sound that was stored without a link makes room for links, and pushes none out', async () => {
  await open({ accountBytesMax: fewClips });
  const key = await makeKey();
  const links: string[] = [];
  for (let i = 0; i < 3; i++) links.push(await link(key));
  await age();
  for (let i = 0; i < 9; i++) await bytesOf(await ask(key, { return_format: 'buffer' }));
  expect(await statusesOf(links)).toEqual([200, 200, 200]);
  const { removedClips } = gateway.room.state();
  links.push(await link(key));
  expect(gateway.room.state().removedClips).toBeGreaterThan(removedClips);
  expect(await statusesOf(links)).toEqual([200, 200, 200, 200]);
});

test('a sound is whole though its clip makes room for others before it is read', async () => {
  await open({});
  const { ledger, rows, storedClips, speak, store } = gateway;
  const { memory } = storedClips;
  const living = async () =>
    (await store.query<{ id: string }>('select clip_id as id from clips where deleted_at_ms is null')).map(
      ({ id }) => id,
    );
  const makeRoom = async () => {
    for (const id of await living()) {
      expect(await rows.expireUnused(id, Date.now())).toBe(true);
      await memory.clips.remove(id);
    }
  };
  const body = { text: text(), return_format: 'buffer' };
  const hear = async () => {
    const answer = await speak(body);
    return [answer.status, answer.headers.get('X-Cache'), (await bytesOf(answer)).length];
  };
  const { length } = await bytesOf(await speak(body));
  await makeRoom();
  const { add } = ledger;
  const hearWhileRoomIsMade = async () => {
    // The ledger entry is the last step before the audio is read.
    ledger.add = (...asked) => add(...asked).then(makeRoom);
    const heard = await hear();
    ledger.add = add;
    expect(await living()).toEqual([]);
    return heard;
  };
  expect(await hearWhileRoomIsMade()).toEqual([200, 'MISS', length]);
  expect(await hear()).toEqual([200, 'MISS', length]);
  expect(await hearWhileRoomIsMade()).toEqual([200, 'HIT', length]);
  for (let n = 0; n < 3; n++) await hear();
  const [id] = await living();
  expect(memory.isHeld(id!)).toBe(true);
  expect(await hearWhileRoomIsMade()).toEqual([200, 'HIT', length]);
});

test('a stored sound that nobody will read is closed', async () => {
  await open({});
  const { ledger, clips, speak } = gateway;
  const body = { text: text(), return_format: 'buffer' };
  await bytesOf(await speak(body));
  const { open: openClip } = clips;
  const opened: Readable[] = [];
  clips.open = async (...asked) => {
    const clip = await openClip.apply(clips, asked);
    if (clip) opened.push(clip.body);
    return clip;
  };
  const isClosed = () => opened.length > 1 && opened.every(({ closed }) => closed);
  const { add } = ledger;
  ledger.add = () => Promise.reject(new Error('a fault'));
  expect((await errorOf(await speak(body)))[0]).toBe(500);
  await expect.poll(isClosed).toBe(true);
  opened.length = 0;
  gateway.storedClips.memory.clear();
  const leaving = new AbortController();
  const written = Promise.withResolvers<void>();
  ledger.add = async () => {
    leaving.abort();
    return written.promise;
  };
  await expect(speak(body, { signal: leaving.signal })).rejects.toThrow();
  await expect.poll(() => gateway.calls.at(-1)!.status).toBe('CANCELLED');
  ledger.add = add;
  written.resolve();
  await expect.poll(isClosed).toBe(true);
});

test('keys that a key created draw on its quota', async () => {
  await open({ accountBytesMax: fewClips });
  const send = (path: string, key: string, body: object) => gateway.send(path, { body, headers: { 'X-API-Key': key } });
  const parent = await gateway.makeKey(['speech:synthesize', 'voices:read', 'keys:write']);
  const made = await send('/api/auth/api-keys', parent, { scopes: ['speech:synthesize'] });
  const { key: child } = (await made.json()) as { key: string };
  const parents = await link(parent);
  await age();
  for (let i = 0; i < 9; i++) {
    await link(child);
    await age();
  }
  expect(await statusOf(parents)).toBe(410);
});

test('a link out of the cache counts as new', async () => {
  await open({ accountBytesMax: fewClips });
  const key = await makeKey();
  const often = text();
  const first = await link(key, { text: often });
  await age();
  const second = await link(key);
  await age();
  expect(await link(key, { text: often })).toBe(first);
  for (let i = 0; i < 9 && (await statusOf(second)) === 200; i++) await ask(key);
  expect(await statusesOf([first, second])).toEqual([200, 410]);
});

test('expired audio goes before any that lives, and audio larger than the quota pushes out none', async () => {
  await open({ bytesMax: fewClips, accountBytesMax: fewClips });
  const [one, other] = [await makeKey(), await makeKey()];
  const expired = await link(one);
  await gateway.store.query('update clips set expires_at_ms = $1', Date.now() - 1);
  const others = [await link(other), await link(other)];
  await age();
  const id = /aud_\w+/.exec(expired)![0];
  const purged = 'select clip_id from clips where clip_id = $1 and purged_at_ms is not null';
  for (let i = 0; i < 9 && (await gateway.store.query(purged, id)).length === 0; i++) await link(one);
  expect(await gateway.store.query(purged, id)).toHaveLength(1);
  expect(await statusesOf(others)).toEqual([200, 200]);

  const long = 'one two three four '.repeat(100);
  expect(await errorOf(await ask(other, { text: long, sample_rate: 48_000 }))).toEqual([507, 'storage_full']);
  expect(await statusesOf(others)).toEqual([200, 200]);
});

test('deleting audio gives its room back at once', async () => {
  await open({ accountBytesMax: fewClips });
  const url = await link(gateway.key);
  const { storedBytes } = gateway.room.state();
  expect((await gateway.send(`/api/audio/${/aud_\w+/.exec(url)![0]}`, { method: 'DELETE' })).status).toBe(204);
  expect([storedBytes > 100_000, gateway.room.state().storedBytes]).toEqual([true, 0]);
});

test.skipIf(isDistributed)(
  'without a setting, half of the file system is for audio, a quarter of that for a key',
  async () => {
    await open({});
    await link(gateway.key);
    const { sizeBytes } = (await gateway.clips.disk())!;
    const { bytesMax, accountBytesMax } = gateway.room.state();
    expect([bytesMax, accountBytesMax]).toEqual([Math.floor(sizeBytes / 2), Math.floor(sizeBytes / 8)]);
  },
);

test('a disk without room is reported, and room comes back by itself', async () => {
  await open({});
  const made = await link(gateway.key);
  await age();
  const disk = { sizeBytes: 1e9, freeBytes: 0 };
  gateway.clips.disk = async () => ({ ...disk });
  await expect.poll(gateway.room.restore).toBe(false);
  // Everything that may be removed has been removed.
  expect(await statusOf(made)).toBe(410);
  expect(await errorOf(await ask(gateway.key))).toEqual([507, 'storage_full']);
  disk.freeBytes = 5e8;
  await expect.poll(gateway.room.restore).toBe(true);
  expect(await statusOf(await link(gateway.key))).toBe(200);
});
