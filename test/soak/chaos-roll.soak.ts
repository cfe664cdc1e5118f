// Tests a rolling restart: all replicas are stopped by SIGTERM and restarted, one after the other, while clients that
// never retry keep sending requests of every kind. No request fails, and no stream is cut.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Kind, kinds } from './checking-client.ts';
import { startLoad, tallyOf } from './load.ts';
import { type CheckedInstallation, openCheckedInstallation } from './open-checked-installation.ts';

const { ROUNDS = '2' } = process.env;
const rounds = Number(ROUNDS);
/** Time until the balancer notices that a replica is available again. */
const backMs = 2_500;
/** Most callers make short calls, which a closing listener could lose. */
const callers: readonly Kind[] = [...kinds, 'key', 'key', 'key', 'key'];

let installation: CheckedInstallation;
beforeAll(async () => {
  installation = await openCheckedInstallation(3);
}, 180_000);
afterAll(() => installation.close());

test(`${rounds} times all of them`, async () => {
  const load = startLoad(installation.client, callers);
  await sleep(2_000);
  const tookMs: number[] = [];
  for (let round = 0; round < rounds; round++)
    for (const replica of installation.replicas) {
      const since = performance.now();
      expect(await replica.end('SIGTERM')).toBe(0);
      tookMs.push(performance.now() - since);
      await replica.start();
      await sleep(backMs);
    }
  const calls = await load.stop();
  console.log(
    `${tookMs.length} replicas stopped, each within ${Math.ceil(Math.max(...tookMs) / 1000)} s: ${tallyOf(calls)}; ` +
      `the longest silence ${Math.round(Math.max(...calls.map(({ silentMs }) => silentMs)))} ms; ${await installation.checkAcknowledged()}`,
  );
  for (const replica of installation.replicas) if (replica.said()) console.log(replica.said().slice(-2_000));
  expect(calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
});
