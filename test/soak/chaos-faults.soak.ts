// Tests that an installation recovers when any part is killed, frozen, cut off, filled up and restored, under load and
// with a client that knows the right answers. Nothing acknowledged is lost, no audio is wrong, and nobody waits
// forever. The results for clients are printed as rows of a table.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import type { Call } from './checking-client.ts';
import { type Kind, kinds } from './checking-client.ts';
import { type Fault, faultsOf } from './fault-cycle.ts';
import { startLoad, tallyOf, wrongOf } from './load.ts';
import { openCheckedInstallation } from './open-checked-installation.ts';
import { startAgain } from './open-installation.ts';

interface FaultReport {
  calls: readonly Call[];
  beganMs: number;
  endedMs: number;
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const isOk = ({ outcome }: Call) => outcome === 'ok';

/** Calls that ran while the fault lasted. */
const touchedOf = ({ calls, beganMs, endedMs }: FaultReport): Call[] =>
  calls.filter((call) => call.endedMs > beganMs && call.beganMs < endedMs);

const longestSilenceMs = ({ calls }: FaultReport): number => Math.max(0, ...calls.map(({ silentMs }) => silentMs));

/** Calls that began after the recovery, and failed. */
const lateFailuresOf = ({ calls, endedMs }: FaultReport): Call[] =>
  calls.filter((call) => call.beganMs >= endedMs && !isOk(call));

function toRow(name: string, report: FaultReport): string {
  const { beganMs, endedMs, calls } = report;
  const late = lateFailuresOf(report);
  const lastMs = late.length === 0 ? 0 : Math.max(...late.map((call) => call.beganMs)) - endedMs;
  // Time from which clients of every kind were answered again.
  const again = [...Map.groupBy(calls, ({ kind }) => kind).values()].map(
    (some) => some.find((call) => isOk(call) && call.endedMs > endedMs)?.endedMs ?? Number.NaN,
  );
  const firstOkMs = Math.min(...again) - endedMs;
  const lateSaid = late.length === 0 ? 'none' : `${tallyOf(late)}, the last began ${seconds(lastMs)} after it`;
  const cells = [
    `${name}, for ${seconds(endedMs - beganMs)}`,
    tallyOf(touchedOf(report)),
    lateSaid,
    seconds(firstOkMs),
    seconds(longestSilenceMs(report)),
  ];
  return `| ${cells.join(' | ')} |`;
}

const { FAULTS = '' } = process.env;
const calmMs = 3_000;
const recoveryMs = 6_000;
/** Allowance for a busy machine. */
const busyMs = 30_000;

const installation = await openCheckedInstallation(3);
afterAll(() => installation.close());

const { postgres, s3, wires } = installation;
const manyStreams: readonly Kind[] = ['grpc stream', 'grpc stream', ...kinds];
const faults: Fault[] = [
  { name: 'nothing is wrong', begin: () => {}, lastsMs: 15_000, end: () => {} },
  ...faultsOf(installation),
  {
    ...{ name: 'PostgreSQL is restarted (fast)', lastsMs: 0 },
    begin: () => postgres.kill('SIGINT'),
    end: () => startAgain(postgres),
  },
  {
    ...{ name: 'S3 is slow (0.2 s a piece of 64 KiB)', lastsMs: 10_000 },
    begin: () => Object.assign(s3, { faultOf: () => ({ kind: 'slow', pauseMs: 200 }) }),
    end: () => Object.assign(s3, { faultOf: () => undefined }),
  },
  {
    ...{ name: 'S3 is full (its quota)', lastsMs: 8_000 },
    begin: () => s3.limitObjects(1),
    end: () => s3.limitObjects(-1),
  },
  {
    ...{ name: 'the network to s3: silence', lastsMs: 20_000 },
    begin: () => wires.s3.silence(),
    end: () => wires.s3.heal(),
  },
].filter(({ name }) => name.includes(FAULTS));

/** Longest wait of a client, according to docs/. */
function waitMsMaxOf(name: string): number {
  if (/s3/i.test(name)) return 30_000;
  if (/postgres/i.test(name)) return 8_000;
  return name.includes('replica') ? 5_000 : 1_000;
}

test.each(faults)('$name', async ({ name, begin, lastsMs, end }) => {
  const load = startLoad(installation.client, name.includes('replica') ? manyStreams : undefined);
  await sleep(calmMs);
  const beganMs = performance.now();
  await begin();
  await sleep(lastsMs);
  await end();
  const endedMs = performance.now();
  await sleep(recoveryMs);
  const report = { calls: await load.stop(), beganMs, endedMs };
  console.log(toRow(name, report));
  expect(wrongOf(report.calls)).toEqual([]);
  expect(longestSilenceMs(report), 'nobody hangs').toBeLessThan(waitMsMaxOf(name) + busyMs);
  for (const kind of kinds) expect((await installation.client.call(kind)).outcome, `${kind} afterwards`).toBe('ok');
});

test('all that was acknowledged is there', async () => {
  console.log(await installation.checkAcknowledged());
  expect(installation.replicas.map((replica) => replica.isUp())).toEqual([true, true, true]);
});
