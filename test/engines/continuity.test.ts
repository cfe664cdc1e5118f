// Tests that streams have no gaps. A server that generates 7.5 seconds of audio per second, divided evenly among its
// streams, receives only as many streams as it can keep up with. Time is simulated.
import { expect, test } from 'vitest';
import { Concurrency, Playback } from '../../src/engines/openai-compatible/continuity.ts';
import { createServerGroup } from '../../src/engines/openai-compatible/server-group.ts';

test('a gap is the time by which a piece is late for playback, and late pieces add up', () => {
  const playback = new Playback();
  playback.add(800, 1);
  expect([playback.firstSoundMs, playback.underrunSeconds]).toEqual([800, 0]);
  playback.add(1_050, 1);
  expect(playback.hasGap).toBe(false);
  playback.add(500, 1);
  playback.add(1_700, 1);
  expect(playback.underrunSeconds).toBeCloseTo(0.25);
  playback.add(100, 1);
  expect(playback.underrunSeconds).toBeCloseTo(0.25);
  expect(playback.hasGap).toBe(true);
});

test('one late stream changes nothing; raising is slower each time that it failed', () => {
  const concurrency = new Concurrency(20);
  const fast = Object.assign(new Playback(), { receivedSeconds: 20, elapsedSeconds: 10 });
  const late = Object.assign(new Playback(), { receivedSeconds: 6, elapsedSeconds: 10, underrunSeconds: 4 });
  concurrency.gapped(16, late, 0, 0);
  for (let i = 0; i < 20; i++) concurrency.continuous(16, fast, 0, 0);
  concurrency.gapped(16, late, 0, 0);
  expect(concurrency.limit).toBe(20);
  concurrency.gapped(16, late, 0, 10);
  expect(concurrency.limit).toBe(9);
  // These streams began before the limit was lowered.
  for (let i = 0; i < 10; i++) concurrency.gapped(16, late, 5, 20);
  expect(concurrency.limit).toBe(9);
  const raisedAfter = (fromMs: number) => {
    const { limit } = concurrency;
    let nowMs = fromMs;
    for (; concurrency.limit === limit; nowMs += 100) concurrency.continuous(limit, fast, nowMs, nowMs + 100);
    return nowMs - fromMs;
  };
  expect(raisedAfter(10)).toBe(5_000);
  for (let i = 0; i < 2; i++) concurrency.gapped(10, late, 20_000, 20_000);
  expect(concurrency.limit).toBe(6);
  for (let limit = 7; limit < 10; limit++) raisedAfter(0);
  expect(concurrency.limit).toBe(9);
  // The next higher limit has failed before.
  expect(raisedAfter(35_000)).toBe(20_000);
  // A server with few streams does not show its capacity, nor does a server that barely keeps up.
  concurrency.continuous(3, fast, 200_000, 200_000);
  const barely = Object.assign(new Playback(), { receivedSeconds: 10.5, elapsedSeconds: 10 });
  concurrency.continuous(10, barely, 200_000, 200_000);
  expect(concurrency.limit).toBe(10);
  concurrency.continuous(10, barely, 400_000, 400_000);
  expect(concurrency.limit).toBe(11);
});

const tickMs = 20;
const speedOfServer = 7.5;
const speedMax = 3;
const pieceSeconds = 0.4;
const streamSeconds = 8;
const clients = 16;
const minutes = 10;

/**
 * Returns the share of streams without an audible gap, for all streams and for those after the first minute, and the
 * number of streams.
 */
async function simulate(isControlled: boolean) {
  let nowMs = 0;
  const streams = new Set<{ made: number; arrived: (() => void) | undefined }>();
  const group = createServerGroup({
    urls: ['http://gpu'],
    createServer: () => ({
      async *speak() {
        const stream = { made: 0, arrived: undefined as (() => void) | undefined };
        streams.add(stream);
        try {
          for (let sent = 0; sent < streamSeconds; sent += pieceSeconds) {
            while (stream.made < sent + pieceSeconds)
              await new Promise<void>((resolve) => {
                stream.arrived = resolve;
              });
            yield { samples: new Int16Array(1), sampleRateHz: 24_000 };
          }
        } finally {
          streams.delete(stream);
        }
      },
      listVoices: async () => ({ model: 'm', voices: [], uploaded: undefined }),
      uploadClone: async () => {},
      deleteClone: async () => {},
    }),
    // Infinite audio never leaves a gap, so the number of streams is not controlled.
    secondsOf: () => (isControlled ? pieceSeconds : Infinity),
    requestsAtOnce: clients,
    now: () => nowMs,
  });
  const ended: { hasGap: boolean; endedMs: number }[] = [];
  let running = 0;
  const speak = async () => {
    const playback = new Playback();
    let sinceMs = nowMs;
    for await (const _ of group.speak({ voice: 'v', text: 't' }, new AbortController().signal)) {
      playback.add(nowMs - sinceMs, pieceSeconds);
      sinceMs = nowMs;
    }
    running--;
    ended.push({ hasGap: playback.hasGap, endedMs: nowMs });
  };
  for (; nowMs < minutes * 60_000; nowMs += tickMs) {
    while (running < Math.min(clients, group.seats)) {
      running++;
      void speak();
    }
    const speed = Math.min(speedMax, speedOfServer / streams.size);
    for (const stream of streams) {
      stream.made += (speed * tickMs) / 1000;
      stream.arrived?.();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  group.close();
  const shareOf = (streams: typeof ended) => streams.filter(({ hasGap }) => !hasGap).length / streams.length;
  const later = ended.filter(({ endedMs }) => endedMs > 60_000);
  return { share: shareOf(ended), shareLater: shareOf(later), count: ended.length, seats: group.seats };
}

test('a server that is slower than speech from 8 streams on speaks nearly all of them without a gap', async () => {
  const [without, controlled] = [await simulate(false), await simulate(true)];
  console.log('streams without a gap:', { without, controlled });
  expect(without.share).toBeLessThan(0.05);
  // This share includes the time before the limit was found.
  expect(controlled.share).toBeGreaterThan(0.93);
  expect(controlled.shareLater).toBeGreaterThan(0.97);
  // Control uses at least three quarters of the server's capacity.
  expect(controlled.count).toBeGreaterThan(0.75 * without.count);
});
