// Tests the monthly count that a database gets from the usage ledger after running streams have written some of their
// characters to the ledger. These characters count once, even if the database crashed, or considered a stream's replica
// dead.
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../../src/platform/store/postgres.ts';
import { silent, usual } from '../../conformance/limited-descendants.ts';
import { startOwnPostgres } from '../../platform/store/postgres-server.ts';
import { openReplica } from './open-shared-limiter.ts';

const limits = { charactersPerMonth: 1_000 };

/** A server, two replicas, a number as the ledger, and the remaining characters that the second replica reports. */
async function openBoth() {
  const server = (await startOwnPostgres())!;
  onTestFinished(() => server.stop());
  const url = await server.createDatabase();
  await (await openPostgres({ url })).close();
  const ledger = { chars: 0 };
  const clock = { nowMs: Date.UTC(2026, 10, 21) };
  const spentSince = async () => ledger.chars;
  const openOne = async () => {
    const replica = await openReplica({ url, spentSince, now: () => clock.nowMs });
    onTestFinished(() => replica.close());
    return replica;
  };
  const [one, other] = [await openOne(), await openOne()];
  const left = async () => (await other.limitStatus(limits)).characters?.remaining;
  /** Waits until the leases have expired and the next call notices it. */
  const outliveLeases = async () => {
    clock.nowMs += 30_000;
    (await other.speak(1, limits)).end(0);
  };
  return { server, ledger, one, other, left, outliveLeases };
}

const there = test.skipIf(!(await isThere()));
async function isThere(): Promise<boolean> {
  const server = await startOwnPostgres();
  await server?.stop();
  return server !== undefined;
}

there('what running streams have recorded counts once when the month is read again', async () => {
  const { server, ledger, one, other, left, outliveLeases } = await openBoth();
  const stream = await one.speak(500, limits);
  ledger.chars = 300;
  stream.recorded?.(300);
  expect(await left()).toBe(500);
  await server.kill();
  await server.start();
  await expect.poll(() => other.limiter.running('owner')).toBe(1);
  expect(await left()).toBe(500);
  // Unrecorded characters are refunded; the stream still ends normally.
  await outliveLeases();
  await expect.poll(left).toBe(700);
  ledger.chars = 500;
  stream.end(500);
  await expect.poll(left).toBe(500);
});

there('so it does where a synthesis goes on whose slot was lost', async () => {
  const { ledger, one, left, outliveLeases } = await openBoth();
  const part = await one.speak(500, limits);
  ledger.chars = 400;
  part.recorded?.(400);
  await outliveLeases();
  const caller = { callerId: 'owner', keyId: 'key', limits: { ...usual, ...limits } };
  const options = { signal: new AbortController().signal, report: silent, isPart: true, replaces: part };
  const whole = await one.limiter.takeSynthesis(caller, 100, options);
  await expect.poll(left).toBe(400);
  ledger.chars = 550;
  whole.end(550);
  await expect.poll(left).toBe(450);
});
