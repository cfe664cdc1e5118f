// Tests that sources that send data forever are abandoned, and that their data is kept.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Download, download, leastRateDefault, TransferRate } from '../../../src/library/models/download.ts';
import { cutAfter, type Mirror, openMirror, sha256Of } from './model-mirror.ts';

let root: string;
let to: string;
let mirror: Mirror;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'sonant-download-'));
});
afterAll(() => rm(root, { recursive: true }));
beforeEach(async () => {
  to = join(await mkdtemp(join(root, 'case-')), 'file');
  mirror = await openMirror({ file: whole });
});
afterEach(() => mirror[Symbol.asyncDispose]());

const whole = randomBytes(1_000_000);
const build = { bytes: whole.length, sha256: sha256Of(whole) };
const patience = {
  stallMs: 20_000,
  pauseMs: 1,
  pauseMsMax: 4,
  retryAfterMsMax: 5_000,
  attemptsMax: 4,
  ...leastRateDefault,
};
const { signal } = new AbortController();
const fetchIt = (options: Partial<Download> = {}) =>
  download({ url: `${mirror.url}/file`, to, builds: [build], signal, patience, ...options });
const there = async () => (await readdir(join(to, '..'))).sort();
const expectWhole = async () => {
  expect(sha256Of(await readFile(to))).toBe(build.sha256);
  expect(await there()).toEqual(['file']);
};

const least = { windowMs: 500, windowBytesMin: 2_000 };

test('a source that sends a byte now and then without end is given up, and what has arrived is kept', async () => {
  mirror.pace = { bytes: 1, ms: 10 };
  const fetched = fetchIt({ patience: { ...patience, ...least } });
  await expect(fetched).rejects.toMatchObject({
    reason: 'engine_unavailable',
    message: expect.stringMatching(
      /\/file is too slow: \d+ bytes in [\d.]+ s; at least 2000 bytes in 0\.5 s are expected/,
    ),
  });
  expect([mirror.requests.length, await there()]).toEqual([1, ['file.part', 'file.part.json']]);
  mirror.pace = undefined;
  await fetchIt();
  expect(mirror.requests.at(-1)?.range).toMatch(/^bytes=[1-9]\d*-$/);
  await expectWhole();
});

test('one that breaks off after every byte is given up too', async () => {
  mirror.fault = cutAfter(() => 1);
  await expect(fetchIt({ patience: { ...patience, ...least } })).rejects.toThrow(/is too slow/);
  expect(mirror.requests.length).toBeLessThan(2_000);
});

test('one that is slow, but not as slow, is waited for, and pauses do not count', () => {
  let nowMs = 0;
  const rate = new TransferRate('http://mirror/file', { windowMs: 60_000, windowBytesMin: 60_000 }, () => nowMs);
  const take = (seconds: number, bytes: number) => {
    nowMs += 1000 * seconds;
    rate.add(bytes);
  };
  rate.run();
  for (let i = 0; i < 1_000; i++) take(1, 1_000);
  rate.rest();
  take(3_600, 0);
  rate.run();
  for (let i = 0; i < 19; i++) take(1, 999);
  expect(() => {
    for (let i = 0; i < 60; i++) take(1, 999);
  }).toThrow(/is too slow: 5\d{4} bytes in 60 s; at least 60000 bytes in 60 s/);
});

test('a source that sends its answer’s head without end is given up', async () => {
  const dripping = createServer((socket) => {
    socket.on('error', () => {}).write('HTTP/1.1 200 OK\r\nX-Drip: ');
    const timer = setInterval(() => socket.write('x'), 20);
    socket.once('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => dripping.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = dripping.address() as AddressInfo;
    const hasty = { ...patience, stallMs: 300, attemptsMax: 2 };
    const fetched = fetchIt({ url: `http://127.0.0.1:${port}/file`, patience: hasty });
    await expect(fetched).rejects.toThrow(/cannot be fetched: it did not answer within 1 s/);
  } finally {
    dripping.close();
  }
});
