// Tests stored speech, with the tone engine, real files and a real database: links, the cache, concurrent requests that
// share one synthesis, and stored streams. Nothing incomplete is ever stored.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Caller } from '../../src/accounts/keys/caller.ts';
import { keptMsMin } from '../../src/clips/clip-remover.ts';
import { createClipRoom } from '../../src/clips/clip-room.ts';
import { type ClipRows, createClipRows } from '../../src/clips/clip-rows.ts';
import { type Clip, createDelivery, type Delivery } from '../../src/clips/delivery.ts';
import { openLocalClips } from '../../src/clips/stores/local-clips.ts';
import { Failure } from '../../src/platform/errors.ts';
import { openSqlite } from '../../src/platform/store/sqlite.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { createSpeech, type Speech } from '../../src/speech/synthesize.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone, type ToneEngine } from '../engines/tone-engine.ts';
import { parseSpeechRequest } from '../speech/parse-request.ts';

const never = new AbortController().signal;
const ada = { callerId: 'ada', accountId: 'ada' };
const bob = { callerId: 'bob', accountId: 'bob' };
const refuse = (fault: unknown) => {
  throw fault;
};
let onFault: (fault: unknown) => void;
let folder: string;
let tone: ToneEngine;
let delivery: Delivery;
let speech: Speech;
let index: ClipRows;
/** Called when a file of a clip was opened. */
let onOpened: (key: string) => void;
/** Awaited before room is reserved. */
let untilRoom: Promise<unknown>;
let close: () => Promise<void>;
/** Close the audio that a test does not read. */
let closes: (() => void)[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sonant-delivery-'));
  tone = openTone();
  const store = await openSqlite(join(folder, 'rows.db'));
  const clips = await openLocalClips({ dir: join(folder, 'audio') });
  const openClip = clips.open.bind(clips);
  onOpened = () => {};
  onFault = refuse;
  closes = [];
  clips.open = async (key, range) => {
    const clip = await openClip(key, range);
    onOpened(key);
    onOpened = () => {};
    return clip;
  };
  const voices = createVoices([tone]);
  speech = createSpeech({ voices, schedule: new Schedule({ speakingMax: 4, waitingMax: 4 }) });
  const links = { baseUrl: () => 'https://tts.example', keepMs: 3_600_000 };
  index = createClipRows(store);
  const limits = { bytesMax: 0, accountBytesMax: 0 };
  const room = createClipRoom({ clips, index, limits, onFault: refuse });
  const reserve = room.reserve.bind(room);
  untilRoom = Promise.resolve();
  room.reserve = (options) => untilRoom.then(() => reserve(options));
  delivery = createDelivery({ speech, clips, index, room, links, onFault: (fault) => onFault(fault) });
  close = async () => {
    await clips.close();
    await store.close();
    await tone.close();
  };
});
afterEach(async () => {
  vi.useRealTimers();
  for (const each of closes) each();
  await close();
  rmSync(folder, { recursive: true });
});

const request = (fields: object = {}) =>
  parseSpeechRequest({ voice_id: 'tone-low', text: 'One two three.', sample_rate: 24000, ...fields });
const plan = (fields: object = {}, caller: Caller = ada) => speech.plan(request(fields), caller);
const deliver = async (fields: object = {}, caller = ada, options = {}) => {
  const delivered = await delivery.deliver(await plan(fields, caller), caller, never, { fresh: false, ...options });
  closes.push(delivered.close);
  return delivered;
};
const read = async (delivered: Pick<Clip, 'open'>) => Buffer.concat(await Array.fromAsync(delivered.open()));
const storedFiles = () =>
  readdirSync(join(folder, 'audio'), { recursive: true }).filter((name) => /aud_/.test(String(name)));

test('a clip without a row is removed', async () => {
  index.add = () => Promise.reject(new Error('full'));
  await expect(deliver()).rejects.toThrow('full');
  expect(storedFiles()).toEqual([]);
});

test('a clip is answered from the cache even if the database has no room to record its use', async () => {
  const first = await deliver();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + keptMsMin });
  index.markUsed = () => Promise.reject(new Failure('storage_full'));
  expect(await deliver()).toMatchObject({ audioId: first.audioId, cached: true });
  index.markUsed = async () => false;
  expect(await deliver()).toMatchObject({ cached: false });
});

test('instructions and a seed are part of the cache key', async () => {
  const asked = [{}, { seed: 0 }, { seed: 1 }, { instructions: 'Whisper.' }, { instructions: 'Shout.' }];
  const all = [...asked, { instructions: 'Shout.', seed: 1 }];
  for (const fields of all) expect((await deliver(fields)).cached, JSON.stringify(fields)).toBe(false);
  for (const fields of [...all, { instructions: '', seed: null }]) {
    const warnings = Object.entries(fields).flatMap(([name, value]) =>
      value || value === 0 ? [`ignored:${name}`] : [],
    );
    expect(await deliver(fields), JSON.stringify(fields)).toMatchObject({ cached: true, warnings });
  }
});

test('sound whose clip is removed is whole once it was found, and is spoken anew where that was before', async () => {
  const sound = { return_format: 'buffer' };
  const first = await deliver(sound);
  const again = await deliver(sound);
  await delivery.remove(first.audioId, ada);
  const [whole, cached] = [await read(first), await read(again)];
  expect([whole.length, again.cached, cached.equals(whole)]).toEqual([first.byteCount, true, true]);

  const made = await deliver(sound);
  // Removes the clip just after it was found.
  onOpened = (key) => void rmSync(join(folder, 'audio', key.slice(-2), key));
  const other = await deliver(sound);
  expect([other.cached, other.audioId === made.audioId]).toEqual([false, false]);
  expect((await read(other)).equals(whole)).toBe(true);
});

test('sound that was read before a slow store made room is stored whole', async () => {
  const slow = Promise.withResolvers<void>();
  onFault = () => {};
  untilRoom = slow.promise;
  const whole = await read(await deliver({ return_format: 'buffer' }));
  slow.resolve();
  await expect.poll(storedFiles).toHaveLength(1);
  await expect.poll(async () => (await deliver({ return_format: 'buffer' })).cached).toBe(true);
  expect((await read(await deliver({ return_format: 'buffer' }))).equals(whole)).toBe(true);
});

test('the cache is never shared between owners, and no-cache bypasses it', async () => {
  const mine = await deliver();
  expect((await deliver({}, bob)).cached).toBe(false);
  const fresh = await deliver({}, ada, { fresh: true });
  expect(fresh).toMatchObject({ cached: false });
  expect(fresh.audioId).not.toBe(mine.audioId);
});

test('identical concurrent requests share one synthesis, which goes on when one of them aborts', async () => {
  const leaving = new AbortController();
  const left = delivery.deliver(await plan(), ada, leaving.signal, { fresh: false }).catch((e) => e.message);
  const all = Array.from({ length: 5 }, () => deliver());
  leaving.abort(new Error('gone'));
  expect(await left).toBe('gone');
  const ids = new Set((await Promise.all(all)).map(({ audioId }) => audioId));
  expect([ids.size, tone.counts.begun]).toEqual([1, 1]);
});

test('an estimate is near what comes out, and costs the engine nothing', async () => {
  const text = 'The old harbour master walked slowly along the stone pier. Nobody knew why.';
  const estimate = await (await plan({ text })).estimate(new AbortController().signal);
  expect(tone.counts.begun).toBe(0);
  expect(estimate).toMatchObject({ chars: 75, segmentCount: expect.any(Number), warnings: [] });
  const delivered = await deliver({ text });
  expect(estimate.seconds / delivered.seconds).toBeGreaterThan(0.5);
  expect(estimate.seconds / delivered.seconds).toBeLessThan(2);
});
