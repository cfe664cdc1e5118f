// Text from one replica to another, on a real Redis or Valkey: whole, in order, and with an end on both sides when either
// side, or the server, goes.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openRedis, type Redis } from '../../src/redis/redis.ts';
import { createRedisRelay } from '../../src/redis/redis-relay.ts';
import { hasRedis, openRedisServer } from '../access/redis-server.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe.skipIf(!hasRedis)('a relay', () => {
  let server: Awaited<ReturnType<typeof openRedisServer>>;
  let prefix: string;
  beforeAll(async () => {
    server = await openRedisServer();
  });
  afterAll(() => server.close());
  beforeEach(() => {
    prefix = `test:${randomUUID()}:`;
  });

  const open = async () => {
    const redis: Redis = await openRedis({ url: server.url, prefix, answerMs: 5_000 });
    closing.push(() => redis.close());
    return { redis, relay: createRedisRelay({ redis, prefix, askMs: 3_000 }) };
  };
  /** Answers with so many lines, and notes how far it came and whether it was left. */
  const serve = async (count: number, more: { breaksAt?: number; waitsAt?: number } = {}) => {
    const noted = { made: 0, left: 0 };
    const opened = await open();
    opened.relay.serve(async (question) => {
      if (question !== 'mine?') return undefined;
      async function* lines() {
        for (; noted.made < count; noted.made++) {
          if (noted.made === more.breaksAt) throw new Error('broken');
          if (noted.made === more.waitsAt) await new Promise(() => {});
          yield `${noted.made}:${'x'.repeat(1000)}`;
        }
      }
      return { head: 'yes', lines: lines(), leave: () => noted.left++ };
    });
    return { noted, ...opened };
  };

  test('answers whole and in order, and waits for who reads', async () => {
    const { noted } = await serve(200);
    const { relay } = await open();
    const answer = (await relay.ask('mine?'))!;
    expect(answer.head).toBe('yes');
    await sleep(300);
    expect(noted.made).toBeLessThan(40);
    const lines = await Array.fromAsync(answer.lines);
    expect(lines.map((line) => Number(line.split(':')[0]))).toEqual(lines.map((_, i) => i));
    expect(lines.length).toBe(200);
    answer.leave();
    await expect.poll(() => noted.left).toBeGreaterThan(0);
  });

  test('nobody answers what nobody has', async () => {
    await serve(1);
    const redis = await openRedis({ url: server.url, prefix });
    closing.push(() => redis.close());
    expect(await createRedisRelay({ redis, prefix, askMs: 100 }).ask('yours?')).toBeUndefined();
  });

  test('what breaks there breaks here', async () => {
    await serve(10, { breaksAt: 5 });
    const { relay } = await open();
    const seen: string[] = [];
    const read = async () => {
      for await (const line of (await relay.ask('mine?'))!.lines) seen.push(line);
    };
    await expect(read()).rejects.toThrow('cut off');
    expect(seen.length).toBe(5);
  });

  test('who leaves is missed, also while no line comes', async () => {
    const { noted } = await serve(10, { waitsAt: 3 });
    const { relay } = await open();
    const answer = (await relay.ask('mine?'))!;
    answer.leave();
    await expect.poll(() => noted.left, { timeout: 10_000 }).toBeGreaterThan(0);
  });

  test('a replica that dies while no line comes is missed', async () => {
    const { redis } = await serve(10, { waitsAt: 3 });
    const { relay } = await open();
    const answer = (await relay.ask('mine?'))!;
    redis.close();
    await expect(Array.fromAsync(answer.lines)).rejects.toThrow('cut off');
  });
});
