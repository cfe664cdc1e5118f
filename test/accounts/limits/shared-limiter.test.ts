// Tests the limits that replicas share, on a real PostgreSQL. They keep the contract, and are exact while many processes
// use them at once. Also covers the death of a replica, and a server that is frozen, killed and restarted.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createAdmit } from '../../../src/accounts/keys/admit.ts';
import { createApiKeyRows } from '../../../src/accounts/keys/api-key-rows.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { createKeyManagement } from '../../../src/accounts/keys/key-management.ts';
import { createKeyVerifier } from '../../../src/accounts/keys/key-verifier.ts';
import { createFailedAttempts } from '../../../src/accounts/limits/failed-attempts.ts';
import { openPostgres } from '../../../src/platform/store/postgres.ts';
import type { RowStore } from '../../../src/platform/store/row-store.ts';
import { refusalOf, silent, usual } from '../../conformance/limited-descendants.ts';
import { limiterConformance } from '../../conformance/limiter.ts';
import { startOwnPostgres } from '../../platform/store/postgres-server.ts';
import { openReplica, type ReplicaOptions } from '../keys/open-shared-limiter.ts';

type Replica = Awaited<ReturnType<typeof openReplica>>;

const server = await startOwnPostgres();
const url = (await server?.createDatabase()) ?? '';
let store: RowStore;
beforeAll(async () => {
  if (server) store = await openPostgres({ url });
});
afterAll(async () => {
  await store?.close();
  await server?.stop();
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await store?.query('truncate limits, holdings');
});
const open = async (options: Partial<ReplicaOptions> = {}): Promise<Replica> => {
  const replica = await openReplica({ url, ...options });
  closing.push(() => replica.close());
  return replica;
};

describe.skipIf(!server)('replicas on one PostgreSQL', () => {
  limiterConformance('PostgreSQL', (options) => openReplica({ url, ...options }));

  test('four concurrent processes together are granted exactly the limits', async () => {
    const args = [url, String(Date.UTC(2026, 10, 21))];
    const file = join(import.meta.dirname, '../keys/limiter-process.ts');
    const processes = Array.from({ length: 4 }, () => fork(file, args));
    closing.push(() => {
      for (const child of processes) child.kill();
    });
    await Promise.all(processes.map((child) => once(child, 'message')));
    // One after the other, because refused texts refund requests.
    const sums: number[] = [];
    for (const name of ['requests', 'texts', 'slots']) {
      const granted = processes.map(async (child) => {
        child.send(name);
        return (await once(child, 'message'))[0] as number;
      });
      sums.push((await Promise.all(granted)).reduce((sum, count) => sum + count, 0));
    }
    // The texts take 30 of the 35 slots.
    expect(sums).toEqual([100, 30, 5]);
  });

  test('slots of a replica that died are free when its leases expire, and not before', async () => {
    const clock = { nowMs: Date.UTC(2026, 10, 21) };
    const shared = { now: () => clock.nowMs };
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
    const [one, other] = [await open(), await open()];
    const held = await one.speak(1, { concurrency: 1 });
    const waiting = other.speak(1, { concurrency: 1 });
    held.end(1);
    (await waiting).end(1);
  });

  test('a key that one replica revokes is refused at once by another that has it cached, with its descendants and predecessors', async () => {
    const other = await open();
    const rows = createApiKeyRows(store);
    const management = createKeyManagement({ rows });
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
    const [one, other] = [await open(), await open()];
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
    const shared = { spentSince: async () => ledger.chars };
    const [one, other] = [await open(shared), await open(shared)];
    const limits = { charactersPerMonth: 1_000 };
    const running = await one.speak(500, limits);
    expect(await refusalOf(other.speak(401, limits))).toMatchObject({ facts: { limit: 1_000, actual: 1_001 } });
    running.end(300);
    await expect.poll(() => other.limitStatus(limits)).toMatchObject({ characters: { remaining: 600 } });
  });

  test('a crash of the server resets no rate limit and frees no slot, and calls fail meanwhile', async () => {
    const [one, other] = [await open(), await open()];
    const limits = { requestsPerMinute: 60, concurrency: 2, charactersPerMonth: 1_000 };
    for (let i = 0; i < 30; i++) await Promise.all([one.request(limits), other.request(limits)]);
    const startMs = performance.now();
    const running = await one.speak(100, limits);
    await server!.kill();
    expect((await refusalOf(other.request(limits)))?.reason).toBe('storage_unavailable');
    expect((await refusalOf(other.speak(1, limits)))?.reason).toBe('storage_unavailable');
    const options = { signal: new AbortController().signal, report: silent, isPart: true };
    const caller = { callerId: 'owner', keyId: 'key', limits: { ...usual, ...limits } };
    const continued = await one.limiter.takeSynthesis(caller, 50, { ...options, replaces: running });
    await server!.start();
    await expect.poll(() => other.limiter.running('owner')).toBe(1);
    expect(await other.limitStatus(limits)).toMatchObject({ characters: { remaining: 850 } });
    let admitted = 0;
    for (const replica of [one, other]) while (!(await refusalOf(replica.request(limits)))) admitted++;
    // One request becomes available each second.
    expect(admitted).toBeLessThanOrEqual(Math.ceil((performance.now() - startMs) / 1000));
    const second = await other.speak(1, limits);
    expect(await refusalOf(one.speak(1, limits))).toMatchObject({ facts: { limitReason: 'concurrency' } });
    for (const synthesis of [continued, second]) synthesis.end(1);
    await expect.poll(() => other.limiter.running('owner')).toBe(0);
  });

  test('a frozen server lets no call wait for long, and what ended meanwhile is stated when it is back', async () => {
    const replica = await open({ statementMs: 2_000 });
    const running = await replica.speak(1);
    const query = "select pid from pg_stat_activity where application_name = 'sonant' and pid <> pg_backend_pid()";
    const pids = (await store.query<{ pid: number }>(query)).map(({ pid }) => pid);
    for (const pid of [server!.pid, ...pids]) process.kill(pid, 'SIGSTOP');
    const refused = await Promise.all([refusalOf(replica.request()), refusalOf(replica.speak(1))]);
    running.end(1);
    for (const pid of [server!.pid, ...pids]) process.kill(pid, 'SIGCONT');
    expect(refused.map((each) => each?.reason)).toEqual(Array(2).fill('storage_unavailable'));
    await expect.poll(() => replica.limiter.running('owner')).toBe(0);
    await replica.request();
  });
});
