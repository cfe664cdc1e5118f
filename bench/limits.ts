// Measures the cost of checking the limits on a key, in this process and in a local Redis or Valkey, compared with a
// bare round trip. Checks are made one after the other, and 64 at a time.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFallbackLimiter } from '../src/access/fallback-limiter.ts';
import { createLimiter, type Limiter } from '../src/access/limiter.ts';
import { openRedisLimiter } from '../src/access/redis-limiter.ts';
import { openRedis, toScript } from '../src/store/redis.ts';
import { hasRedis, openRedisServer } from '../test/store/redis-server.ts';
import type { Bench } from './measuring/bench.ts';
import { compare, cpuOf, median, wallOf } from './measuring/rounds.ts';

const decisions = 2_000;
const atOnce = 64;
const goals = { requestToTrip: 2.5, memoryUs: 10 };
const signal = new AbortController().signal;
const silent = () => {};
const limits = { requestsPerMinute: 1_000_000, concurrency: 10_000, charactersPerMonth: 1_000_000_000_000 };
let lastCaller = 0;

/** Returns callers of 500 owners in rotation, so that no owner exceeds a limit. */
const newCaller = () => {
  const callerId = `owner${lastCaller++ % 500}`;
  return { callerId, keyId: callerId, limits };
};
const request = async (limiter: Limiter) => {
  await limiter.takeRequest(newCaller(), silent).catch(silent);
};
const speak = async (limiter: Limiter) => {
  (await limiter.takeSynthesis(newCaller(), 10, { signal, report: silent })).end(10);
};

const inTurn = (work: () => Promise<unknown>) => async () => {
  for (let i = 0; i < decisions; i++) await work();
};
const together = (work: () => Promise<unknown>) => async () => {
  const one = async () => {
    for (let i = 0; i < decisions / atOnce; i++) await work();
  };
  await Promise.all(Array.from({ length: atOnce }, one));
};

export const bench: Bench = {
  about: 'a decision about limits, in microseconds: in memory and on Redis, compared with a bare round trip',
  async run() {
    if (!hasRedis) throw new Error('there is no redis-server or valkey-server here, and TEST_REDIS_URL is not set');
    const server = await openRedisServer();
    const prefix = `bench:${mkdtempSync(join(tmpdir(), 'sonant-bench-limits-')).slice(-6)}:`;
    const redis = await openRedis({ url: server.url, prefix, answerMs: 5_000 });
    const spentSince = async () => 0;
    const fallback = createFallbackLimiter({ fallback: 'closed', replicas: 1, spentSince });
    const memory = createLimiter({ spentSince });
    const shared = openRedisLimiter({ redis, prefix, fallback, spentSince });
    const nothing = toScript('return 1');
    const trip = () => redis.run(nothing, [`${prefix}nothing`], []);
    const works = {
      'memory, request': () => request(memory),
      'memory, synthesis': () => speak(memory),
      'Redis, bare trip': trip,
      'Redis, request': () => request(shared),
      'Redis, synthesis': () => speak(shared),
    };
    const each = async (turns: typeof inTurn) =>
      compare(
        Object.fromEntries(Object.entries(works).map(([name, work]) => [name, turns(work)])) as Record<
          keyof typeof works,
          () => Promise<void>
        >,
      );
    const [alone, crowded] = [await each(inTurn), await each(together)];
    await shared.close();
    redis.close();
    await server.close();
    const us = (costMs: number) => (costMs * 1000) / decisions;
    const names = Object.keys(works) as (keyof typeof works)[];
    const toTrip = median(
      alone['Redis, request'].map(({ wallMs }, round) => wallMs / alone['Redis, bare trip'][round]!.wallMs),
    );
    return {
      tables: [
        {
          title: 'A decision, in us',
          columns: [
            { name: 'where, what' },
            { name: 'one by one', digits: 1 },
            { name: 'CPU here', digits: 1 },
            { name: `${atOnce} at once`, digits: 1 },
          ],
          rows: names.map((name) => [name, us(wallOf(alone[name])), us(cpuOf(alone[name])), us(wallOf(crowded[name]))]),
        },
      ],
      goals: [
        { name: 'request on Redis : bare trip', figure: toTrip, digits: 2, max: goals.requestToTrip },
        { name: 'request in memory, us', figure: us(wallOf(alone['memory, request'])), digits: 1, max: goals.memoryUs },
      ],
    };
  },
};
