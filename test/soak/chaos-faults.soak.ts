// Tests that an installation recovers when any part is killed, frozen, cut off, filled up and restored, under load and
// with a client that knows the right answers. Nothing acknowledged is lost, no audio is wrong, and nobody waits
// forever. The results for clients are printed as rows of a table.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Fault as S3Fault } from '../clips/stores/fault-proxy.ts';
import type { Call } from './checking-client.ts';
import { type Kind, kinds } from './checking-client.ts';
import { startLoad, tallyOf, wrongOf } from './load.ts';
import { type CheckedInstallation, openCheckedInstallation } from './open-checked-installation.ts';
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

interface Fault {
  name: string;
  begin(): unknown;
  lastsMs: number;
  end(): unknown;
  /** Longest wait of a client, according to docs/. */
  waitMsMax: number;
  callers?: readonly Kind[];
}

let installation: CheckedInstallation;
beforeAll(async () => {
  installation = await openCheckedInstallation(3);
}, 180_000);
afterAll(() => installation?.close());

const postgresMsMax = 8_000;
const s3MsMax = 30_000;
const manyStreams: readonly Kind[] = ['grpc stream', 'grpc stream', ...kinds];
const always = (fault: S3Fault) => () => {
  installation.s3.faultOf = () => fault;
};
const s3IsWell = () => {
  installation.s3.faultOf = () => undefined;
};

const wires = ['postgres', 's3'] as const;
const waitMsMaxOf = { postgres: postgresMsMax, s3: s3MsMax };
const cuts: Fault[] = wires.flatMap((wire) => [
  {
    name: `the network to ${wire} resets`,
    begin: () => installation.wires[wire].reset(),
    lastsMs: 5_000,
    end: () => installation.wires[wire].heal(),
    waitMsMax: waitMsMaxOf[wire],
  },
  {
    name: `the network to ${wire} is silent`,
    begin: () => installation.wires[wire].silence(),
    lastsMs: wire === 's3' ? 20_000 : 10_000,
    end: () => installation.wires[wire].heal(),
    waitMsMax: waitMsMaxOf[wire],
  },
]);

const faults: Fault[] = [
  { name: 'nothing is wrong', begin: () => {}, lastsMs: 15_000, end: () => {}, waitMsMax: 1_000 },
  {
    name: 'a replica of three is killed (kill -9)',
    begin: () => installation.replicas[0]!.end('SIGKILL'),
    lastsMs: 4_000,
    end: () => installation.replicas[0]!.start(),
    waitMsMax: 5_000,
    callers: manyStreams,
  },
  {
    name: 'PostgreSQL is restarted (fast)',
    begin: () => installation.postgres.kill('SIGINT'),
    lastsMs: 0,
    end: () => startAgain(installation.postgres),
    waitMsMax: postgresMsMax,
  },
  {
    name: 'PostgreSQL is killed (kill -9)',
    begin: () => installation.postgres.kill('SIGKILL'),
    lastsMs: 5_000,
    end: () => startAgain(installation.postgres),
    waitMsMax: postgresMsMax,
  },
  {
    name: 'S3 is slow (0.2 s a piece of 64 KiB)',
    begin: always({ kind: 'slow', pauseMs: 200 }),
    lastsMs: 10_000,
    end: s3IsWell,
    waitMsMax: s3MsMax,
  },
  {
    name: 'S3 answers 503',
    begin: always({ kind: 'answer', status: 503, code: 'ServiceUnavailable' }),
    lastsMs: 10_000,
    end: s3IsWell,
    waitMsMax: s3MsMax,
  },
  {
    name: 'S3 is full (its quota)',
    begin: () => installation.s3.limitObjects(1),
    lastsMs: 8_000,
    end: () => installation.s3.limitObjects(-1),
    waitMsMax: s3MsMax,
  },
  ...cuts,
].filter(({ name }) => name.includes(FAULTS));

test.each(faults)('$name', async ({ name, begin, lastsMs, end, waitMsMax, callers }) => {
  const load = startLoad(installation.client, callers);
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
  expect(longestSilenceMs(report), 'nobody hangs').toBeLessThan(waitMsMax + busyMs);
  for (const kind of kinds) expect((await installation.client.call(kind)).outcome, `${kind} afterwards`).toBe('ok');
});

test('all that was acknowledged is there', async () => {
  console.log(await installation.checkAcknowledged());
  expect(installation.replicas.map((replica) => replica.isUp())).toEqual([true, true, true]);
});
