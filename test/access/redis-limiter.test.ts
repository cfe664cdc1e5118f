// Tests the limits that replicas share, on a real Redis or Valkey. They keep the contract, and are exact while many
// processes use them at once. Also covers the death of a replica, and a server that is frozen, killed and restarted.
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { operator } from '../../src/access/actor.ts';
import { createAdmit } from '../../src/access/admit.ts';
import { createFailedAttempts } from '../../src/access/failed-attempts.ts';
import { createKeyManagement } from '../../src/access/key-management.ts';
import { createKeyVerifier } from '../../src/access/key-verifier.ts';
import { createApiKeyRows } from '../../src/store/api-key-rows.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { refusalOf } from '../conformance/limited-descendants.ts';
import { limiterConformance } from '../conformance/limiter.ts';
import { hasOwnRedis, hasRedis, openOwnRedisServer, openRedisCluster, openRedisServer } from '../store/redis-server.ts';
import { openReplica, type ReplicaOptions } from './open-redis-limiter.ts';

type Replica = Awaited<ReturnType<typeof openReplica>>;

/** A cluster takes a while to start, so it starts before the tests. */
const cluster = hasOwnRedis ? openRedisCluster() : undefined;
afterAll(async () => (await cluster)?.close());

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const newPrefix = () => `test:${randomUUID()}:`;
const open = async (options: ReplicaOptions): Promise<Replica> => {
  const replica = await openReplica(options);
  closing.push(() => replica.close());
  return replica;
};

describe.skipIf(!hasRedis)('with a server', () => {
  let url: string;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ url, close } = await openRedisServer());
  });
  afterAll(() => close());

  limiterConformance('Redis', (options) => openReplica({ url, prefix: newPrefix(), ...options }));

  test('four concurrent processes together are granted exactly the limits', async () => {
    const args = [url, newPrefix(), String(Date.UTC(2026, 10, 21))];
    const file = join(import.meta.dirname, 'limiter-process.ts');
    const processes = Array.from({ length: 4 }, () => fork(file, args));
    closing.push(() => {
      for (const child of processes) child.kill();
    });
    await Promise.all(processes.map((child) => once(child, 'message')));
    const taken = await Promise.all(
      processes.map(async (child) => {
        child.send('go');
        const [counts] = await once(child, 'message');
        return counts as { requests: number; texts: number; slots: number };
      }),
    );
    const sum = (name: 'requests' | 'texts' | 'slots') => taken.reduce((all, one) => all + one[name], 0);
    // The texts take 30 of the 35 slots.
    expect([sum('requests'), sum('texts'), sum('slots')]).toEqual([100, 30, 5]);
  });

  test('slots of a replica that died are free when its leases expire, and not before', async () => {
    const clock = { nowMs: Date.UTC(2026, 10, 21) };
    const shared = { url, prefix: newPrefix(), now: () => clock.nowMs };
    const [dying, other] = [await open(shared), await open(shared)];
    const limits = { concurrency: 3, charactersPerMonth: 1_000 };
    for (const chars of [100, 200, 300]) await dying.speak(chars, limits);
    clock.nowMs += 29_999;
    expect(await refusalOf(other.speak(1, limits))).toMatchObject({ facts: { limitReason: 'concurrency' } });
    expect(await other.limitStatus(limits)).toMatchObject({ characters: { remaining: 400 } });
    clock.nowMs += 1;
    (await other.speak(1, limits)).end(1);
    expect(await other.limitStatus(limits)).toMatchObject({ characters: { remaining: 999 } });
    expect(await other.limiter.running('owner')).toBe(0);
  });

  test('a slot that one replica frees is taken by a caller that waits in another', async () => {
    const shared = { url, prefix: newPrefix() };
    const [one, other] = [await open(shared), await open(shared)];
    const held = await one.speak(1, { concurrency: 1 });
    const waiting = other.speak(1, { concurrency: 1 });
    held.end(1);
    (await waiting).end(1);
  });

  test('a key that is revoked by one replica is refused by all with their next request; its owner’s others are not', async () => {
    const shared = { url, prefix: newPrefix() };
    const [one, other] = [await open(shared), await open(shared)];
    await other.request({}, 'revoked');
    await one.limiter.markEnded(new Map([['owner', ['revoked']]]));
    await expect(other.request({}, 'revoked')).rejects.toMatchObject({ reason: 'invalid_api_key' });
    await other.request({}, 'kept');
  });

  test('a key that one replica revokes is refused at once by another that has it cached, with its descendants and predecessors', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sonant-revoked-'));
    const store = await openSqlite(join(folder, 'sonant.db'));
    closing.push(async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    });
    const shared = { url, prefix: newPrefix() };
    const [one, other] = [await open(shared), await open(shared)];
    const rows = createApiKeyRows(store);
    const management = createKeyManagement({ rows, onChange: one.limiter.markEnded });
    const addresses = createFailedAttempts({ perMinute: 5 });
    const admit = createAdmit({
      keyVerifier: createKeyVerifier({ rows }),
      limits: { limiter: other.limiter, addresses },
    });
    const { key, apiKey } = await management.create({ scopes: ['keys:write', 'voices:read'] }, operator);
    const actor = { ...operator, ...(await createKeyVerifier({ rows }).verify(key, '')), address: '', requestId: '' };
    const child = await management.create({}, actor);
    const next = await management.rotate(apiKey.keyId, 60, operator);
    const all = [key, next.key, child.key].map((each) => ({ key: each, address: '10.0.0.1' }));
    for (const credentials of all) await admit(credentials);
    await management.revoke(next.apiKey.keyId, operator);
    for (const credentials of all)
      await expect(admit(credentials)).rejects.toMatchObject({ reason: 'invalid_api_key' });
  });

  test('failed attempts from an address at one replica count at the others', async () => {
    const shared = { url, prefix: newPrefix() };
    const [one, other] = [await open(shared), await open(shared)];
    const limitOf = ({ limiter }: Replica) => createFailedAttempts({ perMinute: 5, share: limiter.takeAttempt });
    const [limit, otherLimit] = [limitOf(one), limitOf(other)];
    for (let i = 0; i < 5; i++) limit.noteFailure('10.0.0.1');
    otherLimit.check('10.0.0.1');
    // The other replica does not learn that the address is blocked until it notes a failure itself.
    await expect
      .poll(() => one.limiter.takeAttempt('10.0.0.1', { perMinute: 5, burst: 5 }))
      .toBeGreaterThan(50_000_000);
    otherLimit.noteFailure('10.0.0.1');
    await expect.poll(() => refusalOf((async () => otherLimit.check('10.0.0.1'))())).toBeDefined();
    otherLimit.check('10.0.0.2');
  });

  test('what was spoken of a month, and is not written yet, counts at every replica', async () => {
    const ledger = { chars: 100 };
    const shared = { url, prefix: newPrefix(), spentSince: async () => ledger.chars };
    const [one, other] = [await open(shared), await open(shared)];
    const limits = { charactersPerMonth: 1_000 };
    const running = await one.speak(500, limits);
    expect(await refusalOf(other.speak(401, limits))).toMatchObject({ facts: { limit: 1_000, actual: 1_001 } });
    running.end(300);
    await expect.poll(() => other.limitStatus(limits)).toMatchObject({ characters: { remaining: 600 } });
  });
});

describe.skipIf(!hasOwnRedis)('with a server that may be ill-treated', () => {
  const openServer = async () => {
    const server = await openOwnRedisServer();
    closing.push(() => server.close());
    return server;
  };

  test('all that is kept of an owner is in one slot of a cluster', async () => {
    const { url } = (await cluster)!;
    const { request, speak, limiter, limitStatus } = await open({ url, prefix: 'sonant:' });
    const limits = { concurrency: 1, charactersPerMonth: 10 };
    await request(limits);
    const held = await speak(5, limits);
    expect(await refusalOf(speak(5, limits))).toMatchObject({ facts: { limitReason: 'concurrency' } });
    expect(await refusalOf(speak(6, limits))).toMatchObject({ facts: { limitReason: 'characters' } });
    held.end(5);
    await limiter.markEnded(new Map([['owner', ['key']]]));
    await expect(request(limits)).rejects.toMatchObject({ reason: 'invalid_api_key' });
    expect(await limitStatus(limits)).toMatchObject({ characters: { remaining: 5 } });
    expect(limiter.state).toEqual({ isAway: false, outages: 0, decidedAlone: 0 });
  });

  test('a frozen server blocks nobody: each replica grants its share until the server is back', async () => {
    const server = await openServer();
    const replica = await open({ url: server.url, prefix: 'sonant:', fallback: 'degrade', answerMs: 100 });
    const limits = { requestsPerMinute: 60, concurrency: 4 };
    const before = await replica.speak(1, limits);
    server.freeze();
    let count = 0;
    while (!(await refusalOf(replica.request(limits)))) count++;
    expect(count).toBe(30);
    const alone = [await replica.speak(1, limits), await replica.speak(1, limits)];
    expect(await refusalOf(replica.speak(1, limits))).toMatchObject({
      facts: { limitReason: 'concurrency', limit: 2 },
    });
    expect(replica.limiter.state.isAway).toBe(true);
    server.thaw();
    await expect.poll(() => replica.limiter.state.isAway).toBe(false);
    // A synthesis that began without Redis keeps its slot.
    await expect.poll(() => replica.limiter.running('owner')).toBe(3);
    for (const one of [before, ...alone]) one.end(1);
    await expect.poll(() => replica.limiter.running('owner')).toBe(0);
    await replica.request(limits);
    expect(replica.logged.slice(0, 2)).toEqual(['away', 'back']);
  });

  test('after a restart without data the server gets the running calls, and the month is read again', async () => {
    const server = await openServer();
    const ledger = { chars: 0 };
    const options = {
      url: server.url,
      prefix: 'sonant:',
      fallback: 'degrade',
      spentSince: async () => ledger.chars,
    } as const;
    const [one, other] = [await open(options), await open(options)];
    const limits = { concurrency: 2, charactersPerMonth: 1_000 };
    const held = await one.speak(100, limits);
    await server.kill();
    ledger.chars += 200;
    (await other.speak(200, limits)).end(200);
    // Each of the two replicas may use half of the remaining 800 characters.
    expect(await refusalOf(one.speak(401, limits))).toMatchObject({ facts: { limitReason: 'characters' } });
    await server.start();
    await expect.poll(() => one.redis.isAway || other.redis.isAway).toBe(false);
    await expect.poll(() => other.limiter.running('owner')).toBe(1);
    await expect.poll(() => other.limitStatus(limits)).toMatchObject({ characters: { remaining: 700 } });
    (await other.speak(1, limits)).end(0);
    held.end(100);
    await expect.poll(() => other.limiter.running('owner')).toBe(0);
  });

  test.each([
    ['open', undefined],
    ['closed', 'storage_unavailable'],
  ] as const)('where it is to be %s while Redis is away, it is', async (fallback, reason) => {
    const server = await openServer();
    const { request, speak, limiter } = await open({ url: server.url, prefix: 'sonant:', fallback });
    await server.kill();
    const limits = { requestsPerMinute: 1, concurrency: 1 };
    for (let i = 0; i < 3; i++) {
      expect((await refusalOf(request(limits)))?.reason).toBe(reason);
      expect((await refusalOf(speak(1, limits)))?.reason).toBe(reason);
    }
    expect(limiter.state).toEqual({ isAway: true, outages: 1, decidedAlone: 6 });
  });

  test('a replica that starts without the server connects in the background', async () => {
    const server = await openServer();
    await server.kill();
    const replica = await open({ url: server.url, prefix: 'sonant:', fallback: 'degrade' });
    await replica.request();
    expect(replica.limiter.state).toMatchObject({ isAway: true, outages: 1 });
    await server.start();
    await expect.poll(() => replica.limiter.state.isAway).toBe(false);
    await replica.request();
    expect(replica.limiter.state.decidedAlone).toBe(1);
  });
});
