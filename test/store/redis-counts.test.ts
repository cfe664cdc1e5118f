// Tests counts that replicas share: the sums of the other replicas, without replicas that stopped or died.
import { expect, onTestFinished, test } from 'vitest';
import { openRedis } from '../../src/store/redis.ts';
import { createRedisCounts } from '../../src/store/redis-counts.ts';
import { hasRedis, openRedisServer } from './redis-server.ts';

test.skipIf(!hasRedis)('each gets the sums of the others', async () => {
  const server = await openRedisServer();
  const prefix = `counts-${process.pid}:`;
  const redis = await openRedis({ url: server.url, prefix });
  onTestFinished(async () => {
    redis.close();
    await server.close();
  });
  const [one, two, three] = Array.from({ length: 3 }, () => createRedisCounts(redis, prefix));
  expect(await one!('gpu', { a: 2, b: 1 })).toEqual({ others: {}, replicas: 1 });
  expect(await two!('gpu', { b: 4 })).toEqual({ others: { a: 2, b: 1 }, replicas: 2 });
  expect(await three!('gpu', {})).toEqual({ others: { a: 2, b: 5 }, replicas: 3 });
  expect(await three!('another engine', { a: 1 })).toEqual({ others: {}, replicas: 1 });
  // A replica without requests is no longer counted.
  expect(await one!('gpu', {})).toEqual({ others: { b: 4 }, replicas: 2 });
  // A replica that has died is no longer counted either.
  await expect.poll(() => one!('gpu', { a: 1 }), { interval: 500 }).toEqual({ others: {}, replicas: 1 });
});
