// Tests text sent from one replica to another, on a real Redis or Valkey: complete, in order, and closed on both sides
// when either side or the server is gone.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { openRedis, type Redis, toScript } from '../../src/store/redis.ts';
import { type Answer, createRedisRelay, type Relay } from '../../src/store/redis-relay.ts';
import { hasOwnRedis, hasRedis, openOwnRedisServer, openRedisServer } from './redis-server.ts';

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
    faults.length = 0;
  });

  const faults: unknown[] = [];
  const onFault = (fault: unknown) => void faults.push(fault);
  const open = async () => {
    const redis: Redis = await openRedis({ url: server.url, prefix, answerMs: 5_000 });
    closing.push(() => redis.close());
    return { redis, relay: createRedisRelay({ redis, prefix, onFault, askMs: 3_000 }) };
  };
  /** Repeats the request until an answer arrives, because the offer was not awaited. */
  const ask = async (relay: Relay) => {
    let answer: Answer | undefined;
    await expect.poll(async () => (answer = await relay.ask('mine', '?'))).toBeDefined();
    return answer!;
  };
  /** Answers with this many lines. Records the number of lines produced, and whether the reader left. */
  const serve = async (count: number, more: { breaksAt?: number; error?: Error; waitsAt?: number } = {}) => {
    const noted = { made: 0, left: 0 };
    const opened = await open();
    opened.relay.offer('mine');
    opened.relay.serve(async (question) => {
      if (question === 'wrong') throw new Error('no answer');
      async function* lines() {
        for (; noted.made < count; noted.made++) {
          if (noted.made === more.breaksAt) throw more.error ?? new Error('broken');
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
    const answer = await ask(relay);
    expect(answer.head).toBe('yes');
    await sleep(300);
    expect(noted.made).toBeLessThan(40);
    const lines = await Array.fromAsync(answer.lines);
    expect(lines.map((line) => Number(line.split(':')[0]))).toEqual(lines.map((_, i) => i));
    expect(lines.length).toBe(200);
    answer.leave();
    await expect.poll(() => noted.left).toBeGreaterThan(0);
  });

  test('what is not read takes little room in Redis, expires, and is gone once its reader has left', async () => {
    await serve(200);
    const { relay, redis } = await open();
    const answer = await ask(relay);
    const script = toScript(`local found = redis.call('KEYS', ARGV[1])[1]
if not found then return nil end
return {redis.call('XLEN', found), redis.call('PTTL', found)}`);
    const stream = async () =>
      (await redis.run(script, [], [`${prefix}relay:*-????????????`])) as [number, number] | null;
    await expect.poll(async () => (await stream())?.[0]).toBe(16);
    await sleep(200);
    const [unread, expiresMs] = (await stream())!;
    expect(unread).toBe(16);
    expect(expiresMs).toBeGreaterThan(0);
    answer.leave();
    await expect.poll(stream).toBeNull();
  });

  test('a stream that nobody holds is requested from nobody', async () => {
    const { relay: holder, redis: holding } = await serve(1);
    const { relay } = await open();
    expect(await relay.ask('yours', '?')).toBeUndefined();
    expect(await ask(relay)).toBeDefined();
    expect(await holder.ask('mine', '?')).toBeUndefined();
    // A replica that died has not withdrawn its offer, but it no longer listens.
    holding.close();
    await expect.poll(() => relay.ask('mine', '?')).toBeUndefined();
  });

  test('a failed response is reported there, and can be requested again here', async () => {
    await serve(1);
    const { redis } = await open();
    const relay = createRedisRelay({ redis, prefix, onFault, askMs: 200 });
    await expect(relay.ask('mine', 'wrong')).rejects.toMatchObject({ reason: 'overloaded' });
    expect(faults).toMatchObject([{ message: 'no answer' }]);
  });

  test('messages of another version, or of nobody, are passed over', async () => {
    await serve(3);
    const { relay, redis } = await open();
    const holder = await redis.run(toScript("return redis.call('GET', KEYS[1])"), [`${prefix}relay:has:mine`], []);
    const publish = toScript("return redis.call('PUBLISH', KEYS[1], ARGV[1])");
    for (const message of ['{', 'null', '{"relay":1,"id":"x","question":"?"}'])
      expect(await redis.run(publish, [`${prefix}relay:${holder}`], [message])).toBe(1);
    expect((await Array.fromAsync((await ask(relay)).lines)).length).toBe(3);
  });

  test('a broken stream breaks for the remote reader too', async () => {
    await serve(10, { breaksAt: 5 });
    const { relay } = await open();
    const seen: string[] = [];
    const read = async () => {
      for await (const line of (await ask(relay)).lines) seen.push(line);
    };
    await expect(read()).rejects.toMatchObject({ reason: 'internal_error' });
    expect(seen.length).toBe(5);
    // Only the other replica knows the cause.
    await expect.poll(() => faults).toMatchObject([{ message: 'broken' }]);
  });

  test('a stream that ends with a Failure there has its reason here, and is no fault', async () => {
    await serve(10, { breaksAt: 5, error: new Failure('stream_expired') });
    const { relay } = await open();
    const { lines } = await ask(relay);
    await expect(Array.fromAsync(lines)).rejects.toMatchObject({ reason: 'stream_expired' });
    expect(faults).toEqual([]);
  });

  test('a reader that disconnects is noticed, even while nothing is sent', async () => {
    const { noted } = await serve(10, { waitsAt: 3 });
    const { relay } = await open();
    const answer = await ask(relay);
    answer.leave();
    await expect.poll(() => noted.left).toBeGreaterThan(0);
  });

  test('a replica that dies while nothing is sent is noticed', async () => {
    const { redis } = await serve(10, { waitsAt: 3 });
    const { relay } = await open();
    const answer = await ask(relay);
    redis.close();
    await expect(Array.fromAsync(answer.lines)).rejects.toMatchObject({
      reason: 'storage_unavailable',
      message: 'The replica that serves this stream has stopped.',
    });
  });

  test('while the connection beside it has an outage, nobody is said to have nothing', async () => {
    const { redis } = await open();
    const busier = { hasAnsweredFor: () => false };
    const relay = createRedisRelay({ redis, busier, prefix, onFault });
    await expect(relay.ask('mine', '?')).rejects.toMatchObject({ reason: 'storage_unavailable' });
  });

  describe.skipIf(!hasOwnRedis)('of a server that is away for a while', () => {
    const openAway = async () => {
      const own = await openOwnRedisServer();
      closing.push(() => own.close());
      const replica = async () => {
        const redis = await openRedis({ url: own.url, prefix, answerMs: 100 });
        closing.push(() => redis.close());
        return { redis, relay: createRedisRelay({ redis, prefix, onFault, askMs: 3_000 }) };
      };
      const [holder, asker] = [await replica(), await replica()];
      holder.relay.serve(async () => ({ head: 'yes', lines: (async function* () {})(), leave() {} }));
      /** Repeats the question until it is answered; every earlier outcome must be retryable. */
      const answered = async () => {
        const outcomes: (string | undefined)[] = [];
        const ask = () =>
          asker.relay.ask('mine', '?').then(
            (answer) => outcomes.push(answer?.head),
            ({ reason }) => outcomes.push(reason),
          );
        await expect.poll(() => ask().then(() => outcomes.at(-1))).toBe('yes');
        const retried = outcomes.slice(0, -1);
        expect(retried).toEqual(retried.map((one) => (one === 'overloaded' ? one : 'storage_unavailable')));
      };
      return { own, holder, asker, answered };
    };

    test('what was offered while it was frozen is found when it is back', async () => {
      const { own, holder, asker, answered } = await openAway();
      own.freeze();
      holder.relay.withdraw('another');
      await expect(asker.relay.ask('mine', '?')).rejects.toMatchObject({ reason: 'storage_unavailable' });
      await expect.poll(() => holder.redis.isAway).toBe(true);
      holder.relay.offer('mine');
      own.thaw();
      await answered();
    });

    test('what was offered before it lost its data is found when it is back', async () => {
      const { own, holder, asker, answered } = await openAway();
      holder.relay.offer('mine');
      await expect.poll(() => asker.relay.ask('mine', '?')).toBeDefined();
      await own.kill();
      await own.start();
      await answered();
    });
  });
});
