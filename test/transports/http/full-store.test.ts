// Tests responses while a store is full, slow, unreachable or removed: audio that need not be stored is sent as usual,
// links are refused before synthesis, and everything recovers by itself.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ReturnFormat, SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { Failure } from '../../../src/platform/errors.ts';
import { isDistributed } from '../../distributed/storage.ts';
import { openCore } from '../rpc/open-core.ts';
import { readEvents, soundIn } from './event-reader.ts';
import { bytesOf, errorOf, openTestGateway, type TestGateway } from './open-gateway.ts';

let texts = 0;
/** A text that is not cached. */
const freshText = () => `Text number ${texts++}, which nobody has heard before.`;
const sse = '/api/audio/speech/sse';
const bytesMax = 100_000_000;
const counted = { isLimited: true, room: { bytesMax } };

const openGrpc = async (gateway: TestGateway) => (await openCore(gateway)).clientOf(SpeechService);

/** The audio of a text, in each way that needs no link. */
async function hear(gateway: TestGateway, text: string) {
  const grpc = await openGrpc(gateway);
  const metadata = { 'x-api-key': gateway.key };
  const inline = { voiceId: 'tone-low', text, returnFormat: ReturnFormat.BUFFER };
  const [buffer, stream, events] = [
    await gateway.speak({ text, return_format: 'buffer' }),
    await gateway.speak({ method: 'streaming', text_chunks: [text] }),
    await gateway.send(sse, { body: { voice_id: 'tone-low', text } }),
  ];
  expect([buffer.status, stream.status, events.status]).toEqual([200, 200, 200]);
  const length = Number(buffer.headers.get('Content-Length'));
  const heard = {
    buffer: await bytesOf(buffer),
    stream: await bytesOf(stream),
    events: soundIn(await readEvents(events)),
    inline: Buffer.from((await grpc.unary('synthesizeSpeech', inline, { metadata })).audio.value as Uint8Array),
  };
  expect(heard.buffer).toHaveLength(length);
  expect(heard.buffer.readUInt32LE(40)).toBe(length - 44);
  expect(heard.inline.equals(heard.buffer)).toBe(true);
  expect(heard.events.equals(heard.stream)).toBe(true);
  expect(heard.stream.subarray(44).equals(heard.buffer.subarray(44))).toBe(true);
  return heard;
}

const usageOf = async (gateway: TestGateway) => {
  const [sum] = await gateway.store.query<{ requests: number; characters: number }>(
    'select coalesce(sum(requests), 0) as requests, coalesce(sum(characters), 0) as characters from usage',
  );
  return { requests: Number(sum!.requests), characters: Number(sum!.characters) };
};

const full = () => Promise.reject(new Failure('storage_full'));
const bug = new Error('a bug');

function breakDrafts(clips: TestGateway['clips'], broken: object): void {
  const create = clips.create.bind(clips);
  clips.create = async (...given) => Object.assign(await create(...given), broken);
}

/** Asserts that no slot is held, and no room but that of the clips in the index. */
async function expectBalance(gateway: TestGateway, key = gateway.key) {
  const { schedule, limiter, room, rows, ledger } = gateway;
  const { callerId } = await gateway.keyVerifier.verify(key, '127.0.0.1');
  const bytesPerClip = 4096;
  const held = async () => {
    const kept = await rows.sumStored();
    const { storedBytes, freeBytes } = room.state();
    return {
      slots: [schedule.state.speaking, await limiter.running(callerId)],
      reserved: bytesMax - freeBytes! - storedBytes,
      unknown: kept.reduce((rest, { bytes, clips }) => rest - bytes - clips * bytesPerClip, storedBytes),
      pending: ledger.pendingRows,
    };
  };
  await expect.poll(held).toEqual({ slots: [0, 0], reserved: 0, unknown: 0, pending: 0 });
}

describe('while the store of audio', () => {
  const away = new Failure('storage_unavailable', { retryAfterSeconds: 1 });
  const states: Record<string, (untilBack: Promise<never>) => Promise<never>> = {
    'is full': () => Promise.reject(new Failure('storage_full')),
    'is away': () => Promise.reject(away),
    hangs: (untilBack) => untilBack,
  };
  test.each(Object.entries(states))('%s, sound that is not to be kept comes as ever', async (_, failUntil) => {
    const { promise: untilBack, reject: comeBack } = Promise.withResolvers<never>();
    untilBack.catch(() => {});
    const fail = () => failUntil(untilBack);
    const gateway = await openTestGateway(counted);
    const { create, open } = gateway.clips;
    const heardBefore = freshText();
    await bytesOf(await gateway.speak({ text: heardBefore, return_format: 'buffer' }));
    gateway.clips.create = fail;
    gateway.clips.open = fail;
    await hear(gateway, freshText());
    await hear(gateway, heardBefore);
    const preview = await gateway.send('/api/voices/tone-low/preview');
    expect([preview.status, (await bytesOf(preview)).length > 1000]).toEqual([200, true]);

    gateway.clips.create = create;
    gateway.clips.open = open;
    comeBack(away);
    const text = freshText();
    const cacheOf = async () => {
      const answer = await gateway.speak({ text, return_format: 'buffer' });
      await answer.arrayBuffer();
      return answer.headers.get('X-Cache');
    };
    await expect.poll(cacheOf).toBe('HIT');
    expect((await gateway.speak({ text: freshText() })).status).toBe(200);
    await expectBalance(gateway);
  });

  test('breaks while a buffer is stored, the buffer is whole and no half of it is kept', async () => {
    const gateway = await openTestGateway(counted);
    breakDrafts(gateway.clips, { commit: full });
    const heard = await hear(gateway, freshText());
    expect(heard.buffer.length).toBeGreaterThan(1000);
    expect(await gateway.store.query('select clip_id from clips')).toEqual([]);
    await expectBalance(gateway);
  });

  test.each<[string, (gateway: TestGateway) => void]>([
    ['the file is not created', ({ clips }) => Object.assign(clips, { create: full })],
    ['the file is not written', ({ clips }) => breakDrafts(clips, { write: full })],
    ['the file is not committed', ({ clips }) => breakDrafts(clips, { commit: full })],
    [
      'the row is not added',
      ({ store }) => {
        const query = store.query.bind(store);
        store.query = (sql, ...values) => (sql.startsWith('insert into clips') ? full() : query(sql, ...values));
      },
    ],
    ['the usage is not recorded', ({ usage }) => Object.assign(usage, { addAll: () => Promise.reject(bug) })],
  ])('fails a link, since %s, the link is not charged, and nothing is held', async (_, breakStore) => {
    const gateway = await openTestGateway(counted);
    const { clips, store, usage, keyVerifier } = gateway;
    const [{ create }, { query }, { addAll }] = [clips, store, usage];
    const text = freshText();
    // Characters for one link only.
    const { key } = await keyVerifier.create({ limits: { charactersPerMonth: text.length } });
    const ask = () => gateway.speak({ text }, { headers: { 'X-API-Key': key } });
    breakStore(gateway);
    expect((await ask()).status).toBeGreaterThanOrEqual(500);
    await expectBalance(gateway, key);
    expect(await usageOf(gateway)).toEqual({ requests: 0, characters: 0 });
    Object.assign(clips, { create });
    Object.assign(store, { query });
    Object.assign(usage, { addAll });
    expect((await ask()).status).toBe(200);
    await expectBalance(gateway, key);
  });
});

describe('while the database has no room', () => {
  test('streams and buffers go on, and what they cost is recorded when there is room', async () => {
    const gateway = await openTestGateway({ ...counted, ledger: { retryMs: 50 } });
    const { addAll } = gateway.usage;
    gateway.usage.addAll = () => Promise.reject(new Failure('storage_full'));
    const text = freshText();
    await hear(gateway, text);
    expect([gateway.ledger.pendingRows, await usageOf(gateway)]).toEqual([1, { requests: 0, characters: 0 }]);
    gateway.usage.addAll = addAll;
    await expect.poll(() => gateway.ledger.pendingRows).toBe(0);
    // The second of the two buffers comes from the cache.
    expect(await usageOf(gateway)).toEqual({ requests: 4, characters: 3 * text.length });
    expect(gateway.faults).toHaveLength(1);
    await expectBalance(gateway);
  });

  test('and none is left in memory either, calls are refused before they begin, and not charged', async () => {
    const gateway = await openTestGateway({ ...counted, ledger: { retryMs: 50, pendingRowsMax: 1 } });
    const { addAll } = gateway.usage;
    gateway.usage.addAll = () => Promise.reject(new Failure('storage_full'));
    expect((await gateway.speak({ text: freshText(), return_format: 'buffer' })).status).toBe(200);
    const begun = gateway.tone.counts.begun;
    const refused = [
      await gateway.speak({ text: freshText(), return_format: 'buffer' }),
      await gateway.speak({ method: 'streaming', text_chunks: [freshText()] }),
      await gateway.send(sse, { body: { voice_id: 'tone-low', text: freshText() } }),
    ];
    for (const answer of refused) {
      expect(answer.headers.get('Retry-After')).toBe('1');
      expect(await errorOf(answer)).toEqual([507, 'storage_full']);
    }
    expect(gateway.tone.counts.begun).toBe(begun);
    gateway.usage.addAll = addAll;
    await expect.poll(() => gateway.ledger.pendingRows).toBe(0);
    await hear(gateway, freshText());
    expect((await usageOf(gateway)).requests).toBe(5);
    await expectBalance(gateway);
  });

  test('a stream whose last usage cannot be recorded for another reason is reported', async () => {
    const gateway = await openTestGateway(counted);
    gateway.usage.addAll = () => Promise.reject(bug);
    gateway.tone.trouble.pieceDelayMs = 20;
    const answer = await gateway.speak({ method: 'streaming', text_chunks: [`${freshText()} `.repeat(20)] });
    const reader = answer.body!.getReader();
    await reader.read();
    await reader.cancel();
    await expect.poll(() => gateway.faults).toContain(bug);
    await expectBalance(gateway);
  });
});

describe.skipIf(isDistributed)('after the folder of audio was removed', () => {
  test('links are stored again at once; those of before are gone, and the cache makes them anew', async () => {
    const gateway = await openTestGateway();
    const text = freshText();
    const linkOf = async () => ((await (await gateway.speak({ text })).json()) as { audio_url: string }).audio_url;
    const before = await linkOf();
    const whole = await bytesOf(await gateway.send(before));
    rmSync(join(gateway.folder, 'audio'), { recursive: true });
    expect(await errorOf(await gateway.send(before))).toEqual([404, 'not_found']);
    expect((await gateway.send(before, { method: 'HEAD' })).status).toBe(404);
    const anew = await linkOf();
    expect(anew).not.toBe(before);
    expect((await bytesOf(await gateway.send(anew))).equals(whole)).toBe(true);
    expect(await linkOf()).toBe(anew);
  });
});

describe('inline audio that is larger than may be', () => {
  let gateway: TestGateway;
  beforeEach(async () => {
    gateway = await openTestGateway({ isLimited: true });
  });
  const ask = async (text: string, bufferBytesMax: number) => {
    const { key } = await gateway.keyVerifier.create({ limits: { charactersPerMonth: 1000 } });
    const grpc = await openGrpc(gateway);
    const inline = { voiceId: 'tone-low', text, returnFormat: ReturnFormat.BUFFER, bufferBytesMax };
    const call = (more: object = {}) =>
      grpc.unary('synthesizeSpeech', { ...inline, ...more }, { metadata: { 'x-api-key': key } });
    return { refused: await call().catch((error) => error), call };
  };

  test('by its estimate is refused before it is spoken, and costs nothing', async () => {
    const { refused, call } = await ask('one two three four five six seven. '.repeat(25).trim(), 100_000);
    expect(refused.details).toMatch(/larger than 100000 bytes/);
    expect([gateway.tone.counts.begun, await usageOf(gateway)]).toEqual([0, { requests: 0, characters: 0 }]);
    // The month's full quota is still available.
    await call({ text: `One two. ${' '.repeat(991)}` });
    expect((await usageOf(gateway)).characters).toBe(1000);
  });

  test('only as it turns out ends as soon as it is, and costs nothing', async () => {
    gateway.tone.trouble.pieceDelayMs = 5;
    const text = 'one two three four five six seven eight nine. '.repeat(10).trim();
    const { refused, call } = await ask(text, 1_500_000);
    expect(refused.details).toMatch(/larger than 1500000 bytes/);
    const { begun } = gateway.tone.counts;
    expect(begun).toBeGreaterThan(0);
    await expect.poll(() => gateway.tone.counts.running).toBe(0);
    expect(gateway.tone.counts.aborted + gateway.tone.counts.finished).toBe(begun);
    expect(await usageOf(gateway)).toEqual({ requests: 0, characters: 0 });
    await call({ text: `One two. ${' '.repeat(991)}` });
  });
});
