// The limits that replicas share, on a real Redis or Valkey.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe } from 'vitest';
import { createFallbackLimiter } from '../../src/access/fallback-limiter.ts';
import { openRedisLimiter } from '../../src/access/redis-limiter.ts';
import { openRedis } from '../../src/redis/redis.ts';
import { limiterConformance } from '../conformance/limiter.ts';
import { hasRedis, openRedisServer, type RedisServer } from './redis-server.ts';

describe.skipIf(!hasRedis)('with a server', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await openRedisServer();
  });
  afterAll(() => server.close());

  limiterConformance('Redis', async (options) => {
    const prefix = `test:${randomUUID()}:`;
    const redis = await openRedis({ url: server.url, prefix, answerMs: 5_000 });
    const fallback = createFallbackLimiter({ ...options, fallback: 'closed', replicas: 1 });
    const limiter = openRedisLimiter({ redis, prefix, fallback, ...options });
    return {
      limiter,
      async close() {
        await limiter.close();
        redis.close();
      },
    };
  });
});
