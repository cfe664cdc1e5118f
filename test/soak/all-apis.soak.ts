// Tests every API at once, at twice the capacity, with faults, for MINUTES: two replicas behind the balancer on
// PostgreSQL and S3. Passes if every byte is right, every status is documented for its situation, and all
// resources are released. The offered rate is RATE times the rate that is served while clients wait for their answers.
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import { openGoogleServer } from '../engines/google-server.ts';
import { openOpenAiServer } from '../engines/openai-server.ts';
import { freePort } from '../free-port.ts';
import type { ReplicaProcess } from '../replica-process.ts';
import { type ApiClients, openApiClients } from './api-clients.ts';
import type { Outcome } from './checked-requests.ts';
import { Watch } from './checked-requests.ts';
import { type CheckingClient, openCheckingClient } from './checking-client.ts';
import type { FaultWindow } from './fault-cycle.ts';
import { type Engines, faultOf, killedReplica, startFaults } from './fault-cycle.ts';
import { learnSounds } from './known-sounds.ts';
import { describeSlope, leastInQuarters, type MemorySample, meansInQuarters, memorySlopeOf } from './memory-slope.ts';
import type { Installation } from './open-installation.ts';
import { openInstallation } from './open-installation.ts';
import { medianAndWorst, mib, rssOf, settled } from './open-service.ts';
import { openResourceClients, type ResourceClients } from './resource-clients.ts';

interface Handles {
  files: number;
  /** Threads that run JavaScript. Thread pools may grow or shrink by one thread. */
  threads: number;
  sockets: number;
  /** The kinds of files and the number of each. */
  kinds: string;
}

/** Files of each thread's event loop: an epoll, an eventfd, an io_uring, and both ends of a pipe. */
const filesOfThread = 5;

/** Counts the sockets of a process and its other open files, except the files of event loops. */
function handlesOf(pid: number): Handles {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(`${folder}/${fd}`)];
    } catch {
      return [];
    }
  });
  const sockets = targets.filter((target) => target.startsWith('socket:')).length;
  const kinds = [...Map.groupBy(targets, (target) => target.replace(/\[\d+\]$/, ''))].map(
    ([kind, some]) => `${some.length} ${kind}`,
  );
  const threads = targets.filter((target) => target.includes('eventpoll')).length;
  return {
    files: targets.length - sockets - threads * filesOfThread,
    threads,
    sockets,
    kinds: kinds.sort().join(', '),
  };
}

/** Established connections at the ports of a replica. */
function callersOf({ httpPort, grpcPort }: ReplicaProcess): number {
  const established = '01';
  const ends = [httpPort, grpcPort].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, from = '', , state]) => state === established && ends.some((end) => from.endsWith(end))).length;
}

async function metricOf({ adminPort }: ReplicaProcess, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const lines = [...text.matchAll(new RegExp(`^${name}(?:\\{.*?\\})? (\\S+)$`, 'gm'))];
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** All held resources by name; empty if the installation is idle. */
async function readHeld({ replicas, databaseUrl }: Held): Promise<Record<string, number>> {
  const held: Record<string, number> = {};
  for (const name of ['sonant_speaking', 'sonant_waiting', 'sonant_engine_waiting', 'sonant_usage_pending_rows'])
    held[name] = (await Promise.all(replicas.map((replica) => metricOf(replica, name)))).reduce((a, b) => a + b);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const count = async (sql: string) => Number((await client.query(`select count(*) as n from ${sql}`)).rows[0].n);
  held['jobs that run'] = await count("jobs where status in ('queued', 'running')");
  held['leases of chapters'] = await count(
    `job_chapters where lease_holder is not null and lease_until_ms > ${Date.now()}`,
  );
  held['requests under way'] = await count(
    `answers where answer is null and runner is not null and until_ms > ${Date.now()}`,
  );
  held['webhooks to send'] = await count('webhook_messages where ended_at_ms is null');
  held['transactions that are open'] = await count("pg_stat_activity where state like 'idle in transaction%'");
  held.slots = await count('holdings where held > 0 and until_us > sonant_now_us()');
  held.locks = await count('flights where until_us > sonant_now_us()');
  await client.end();
  return held;
}

type Held = Pick<Installation, 'replicas' | 'databaseUrl'>;

/** Waits until no resource is held. Returns the remaining resources, which have leaked. */
async function readLeaked(held: Held, atMostMs: number): Promise<Record<string, number>> {
  for (const since = performance.now(); ; ) {
    const leaked = Object.fromEntries(Object.entries(await readHeld(held)).filter(([, count]) => count > 0));
    if (Object.keys(leaked).length === 0 || performance.now() - since > atMostMs) return leaked;
    await sleep(1000);
  }
}

interface CallOutcome extends Outcome {
  api: string;
}

/** Refusals for overload, with each API's message; resumable streams are limited to 64 MiB in total. */
const overload = [
  /^410 stream_expired$/,
  /overloaded|system_busy|^message More requests are waiting/,
  /503 at the handshake$/,
  /status code:? 503/,
];
/** The failures that docs/reliability.md names for faults, and the errors of broken connections. */
const faulty = [
  /storage_unavailable|storage_full|engine_(unavailable|error|timeout)|stream_expired|^50[024] .*internal_error/,
  /^message The speech engine has failed repeatedly|^message Storage is unavailable/,
  /^broken$|^no answer|^closed 10(06|11|12)$|^50[24] at the handshake$|^(UNAVAILABLE|INTERNAL|UNKNOWN|CANCELLED) \(.*\)$/,
];
const isOneOf = (forms: readonly RegExp[], { outcome }: CallOutcome) => forms.some((form) => form.test(outcome));

const isOk = ({ outcome }: CallOutcome) => outcome === 'ok';
const isWrong = ({ outcome }: CallOutcome) => outcome.startsWith('WRONG');

function countOf(calls: readonly CallOutcome[]): string {
  const counts = [...Map.groupBy(calls, ({ outcome }) => outcome.split('\n')[0]!)].map(
    ([outcome, some]) => [outcome, some.length] as const,
  );
  return counts
    .toSorted(([, a], [, b]) => b - a)
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(', ');
}

function toTable(calls: readonly CallOutcome[], touchedBy: (call: CallOutcome) => FaultWindow | undefined) {
  const lines = ['| API | calls | by no fault touched | by a fault touched |', '|---|---|---|---|'];
  const unexpected: string[] = [];
  for (const [api, some] of [...Map.groupBy(calls, (call) => call.api)].sort()) {
    const { calm = [], touched = [] } = Object.groupBy(some, (call) => (touchedBy(call) ? 'touched' : 'calm'));
    lines.push(`| ${api} | ${some.length} | ${countOf(calm)} | ${countOf(touched)} |`);
    for (const call of some) {
      if (isOk(call) || isOneOf(overload, call)) continue;
      const fault = touchedBy(call);
      if (fault && !isWrong(call) && isOneOf(faulty, call)) continue;
      const at = (call.endedMs / 1000).toFixed(1);
      unexpected.push(
        `${api}: ${call.outcome.split('\n')[0]} at ${at} s, ${fault ? `while ${fault.name}` : 'by no fault'}`,
      );
    }
  }
  const bytes = calls.reduce((sum, call) => sum + call.bytes, 0);
  return { lines, unexpected, bytes, wrong: calls.filter(isWrong).map(({ api, outcome }) => `${api}: ${outcome}`) };
}

type Readings = ReadonlyMap<string, number>;

const families: Readonly<Record<string, string>> = {
  'first sound of all streams': 'sonant_first_sound_seconds',
  'wait for a slot, interactive': 'sonant_wait_seconds{class="interactive"}',
  'wait for a slot, bulk': 'sonant_wait_seconds{class="bulk"}',
  'wait for the engine, first segment': 'sonant_engine_wait_seconds{engine="flite",segment="first"}',
  'wait for the engine, later segment': 'sonant_engine_wait_seconds{engine="flite",segment="later"}',
  'first sound of the engine': 'sonant_engine_first_sound_seconds{engine="flite"}',
};

async function readWaits({ adminPort }: ReplicaProcess): Promise<Readings> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return new Map([...text.matchAll(/^(\w+(?:\{.*?\})?) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]));
}

/** Mean and count of each wait between two readings, and the CPU time of the replica. */
function toWaits(before: Readings, after: Readings): string[] {
  const grown = (family: string, end: '_sum' | '_count') => {
    const [name, labels = ''] = family.split('{');
    const isOf = (each: string) => each.startsWith(`${name}${end}`) && each.endsWith(labels);
    const sum = (readings: Readings) => [...readings].reduce((all, [each, value]) => all + (isOf(each) ? value : 0), 0);
    return sum(after) - sum(before);
  };
  const cpu = 'sonant_process_cpu_seconds_total';
  const lines = Object.entries(families).flatMap(([what, family]) => {
    const count = grown(family, '_count');
    return count > 0 ? [`${what}: mean ${((1000 * grown(family, '_sum')) / count).toFixed(0)} ms of ${count}`] : [];
  });
  return [...lines, `processor: ${((after.get(cpu) ?? 0) - (before.get(cpu) ?? 0)).toFixed(1)} s`];
}

const { MINUTES = '5', RATE = '2', REPORT = '' } = process.env;
const minutes = Number(MINUTES);
const calibrationMs = 20_000;
const quietMs = 15_000;
const flightsMax = 500;
const leakMsMax = 120_000;
const sayEveryMs = 60_000;
const readHeapEveryMs = 5_000;
/** In a shorter run, caches may still fill in the second quarter. */
const growthMinutesMin = 30;
/** Mean memory in the last quarter, divided by that in the second quarter. */
const growthMax = 1.05;

interface Opened {
  installation: Installation;
  engines: Engines;
  checking: CheckingClient;
  apis: ApiClients;
  kept: ResourceClients;
}

const opened = new AsyncDisposableStack();
let all: Opened;
beforeAll(async () => {
  const onClose = (close: () => Promise<void>) => opened.defer(close);
  const engines = { openai: await openOpenAiServer({}, onClose), google: await openGoogleServer({}, onClose) };
  const wyomingPorts = [await freePort(), await freePort()];
  const wyomingKey = createApiKey().key;
  const installation = await openInstallation(2, {
    settings: {
      ...{
        SONANT_OPENAI_URL: engines.openai.url,
        SONANT_OPENAI_SAMPLE_RATE: '24000',
        SONANT_GOOGLE_ENDPOINT: engines.google.endpoint,
      },
      ...{ SONANT_GOOGLE_PER_MINUTE: '100000', SONANT_GOOGLE_CLONES_PER_MINUTE: '100000' },
      ...{ SONANT_WEBHOOK_ALLOW: '127.0.0.1', SONANT_AUDIO_MIB_MAX: '512' },
      // Both replicas run on this machine and share its processors.
      SONANT_FLITE_THREADS: String(Math.max(1, Math.floor(availableParallelism() / 2))),
      ...{ SONANT_BOOTSTRAP_KEY: wyomingKey, SONANT_WYOMING_KEY: wyomingKey },
    },
    settingsOf: (n) => ({ SONANT_WYOMING_ADDR: `127.0.0.1:${wyomingPorts[n]}` }),
  });
  opened.defer(() => installation.close());
  const { url, target, makeKey } = installation;
  const { key } = await makeKey();
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const sounds = await learnSounds((path, body) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }),
  );
  const checking = openCheckingClient({ url, target, key, sounds });
  const apis = openApiClients({ url, target, key, wyomingPorts });
  const kept = await openResourceClients({ url, key });
  for (const client of [checking, apis, kept]) opened.defer(() => client.close());
  all = { installation, engines, checking, apis, kept };
}, 180_000);
afterAll(() => opened.disposeAsync());

/** All kinds of calls, by name. */
function askers(): Map<string, () => Promise<CallOutcome>> {
  const { checking, apis, kept } = all;
  const named = new Map<string, () => Promise<CallOutcome>>();
  for (const kind of ['link', 'buffer', 'stream', 'events', 'grpc', 'grpc stream'] as const)
    named.set(kind, async () => ({ api: kind, ...(await checking.call(kind)) }));
  for (const [api, ask] of Object.entries({ ...apis.apis, ...kept.apis }))
    named.set(api, async () => ({ api, ...(await new Watch().outcomeOf(ask)) }));
  return named;
}

/** Calls that take minutes or have their own limit are repeated when they have finished. */
const closedLoop = ['job', 'job', 'clone', 'lexicon', 'key', 'probe'];
const restMsOf: Readonly<Record<string, number>> = { clone: 15_000, probe: 1_000 };

function startAsking(calls: CallOutcome[]) {
  const named = askers();
  const openLoop = [...named.keys()].filter((api) => !closedLoop.includes(api));
  const flights = new Set<Promise<void>>();
  let [isOver, unsent] = [false, 0];
  const ask = async (api: string) => {
    const call = await named.get(api)!();
    calls.push(call);
    if (call.outcome.startsWith('WRONG')) console.log(`${api}: ${call.outcome}`);
  };
  const fly = (api: string) => {
    const flight = ask(api).finally(() => flights.delete(flight));
    flights.add(flight);
  };
  const repeat = async (api: string, restMs = restMsOf[api] ?? 300) => {
    while (!isOver) {
      await ask(api);
      for (let n = 0; n < restMs && !isOver; n += 100) await sleep(100);
    }
  };
  const work: Promise<void>[] = [];
  return {
    repeat: (apis: readonly string[]) => void work.push(...apis.map((api) => repeat(api))),
    openLoop,
    /** Sends calls at this rate without waiting for earlier ones. */
    offer(perSecond: number) {
      const arrive = async () => {
        let dueMs = performance.now();
        for (let n = 0; !isOver; n++) {
          dueMs += (-Math.log(1 - Math.random()) * 1000) / perSecond;
          const early = dueMs - performance.now();
          if (early > 0) await sleep(early);
          if (flights.size < flightsMax) fly(openLoop[n % openLoop.length]!);
          else unsent++;
        }
      };
      work.push(arrive());
    },
    async stop() {
      isOver = true;
      await Promise.all(work);
      await Promise.all(flights);
      return unsent;
    },
  };
}

const firstMsOf = (calls: readonly CallOutcome[]) =>
  calls.flatMap(({ outcome, firstMs }) => (outcome === 'ok' && firstMs !== undefined ? [firstMs] : []));

/** Learns in two rounds, since each API has two texts. On a busy machine, a call may be refused, so it is repeated. */
async function learn(): Promise<void> {
  for (const round of [0, 1])
    for (const [api, ask] of askers()) {
      if (round > 0 && [...closedLoop, 'slow reader'].includes(api)) continue;
      let outcome = '';
      for (let tries = 0; tries < 5 && outcome !== 'ok' && !outcome.startsWith('WRONG'); tries++)
        ({ outcome } = await ask());
      expect(outcome, `${api}, when all is well`).toBe('ok');
    }
  all.apis.endLearning();
  all.kept.endLearning();
}

async function unloaded(): Promise<CallOutcome[]> {
  const calls: CallOutcome[] = [];
  const asking = startAsking(calls);
  asking.repeat(['probe']);
  await sleep(quietMs);
  await asking.stop();
  return calls;
}

/** Calls served per second while every API has two clients that wait for their answers. */
async function capacity(): Promise<number> {
  const calls: CallOutcome[] = [];
  const asking = startAsking(calls);
  asking.repeat([...asking.openLoop, ...asking.openLoop]);
  await sleep(calibrationMs);
  const served = calls.filter(({ outcome }) => outcome === 'ok').length;
  await asking.stop();
  expect(calls.filter(({ outcome }) => outcome.startsWith('WRONG'))).toEqual([]);
  return (served / calibrationMs) * 1000;
}

const handles = () => all.installation.replicas.map((replica) => handlesOf(replica.pid()));
const steady = (read: () => unknown) => settled(() => JSON.stringify(read()), 3_000, 30_000);

test(
  `all APIs for ${minutes} minutes at ${RATE} times the capacity`,
  async () => {
    const { installation, engines, kept } = all;
    const { replicas } = installation;
    await learn();
    const [constant] = replicas;
    const waitsAtRest = await readWaits(constant!);
    const calm = await unloaded();
    const waitsCalm = toWaits(waitsAtRest, await readWaits(constant!));
    const perSecond = await capacity();
    await steady(() => replicas.map(callersOf));
    const before: Handles[] = handles();
    console.log(
      `${perSecond.toFixed(1)} calls a second are served; ${(perSecond * Number(RATE)).toFixed(1)} are offered`,
    );

    const waitsBefore = await readWaits(constant!);
    const calls: CallOutcome[] = [];
    const memory: MemorySample[] = [];
    const watching = setInterval(() => {
      if (replicas[0]!.isUp()) memory.push([performance.now(), rssOf({ pid: replicas[0]!.pid() })]);
      for (const kept of [engines.openai.requests, engines.google.calls, installation.s3.requests]) kept.length = 0;
    }, 1000);
    const heap: MemorySample[] = [];
    const reading = setInterval(() => {
      const read = readWaits(constant!).then((readings) =>
        heap.push([performance.now(), readings.get('sonant_process_memory_bytes{kind="heap"}')!]),
      );
      read.catch(() => {});
    }, readHeapEveryMs);
    const saying = setInterval(() => {
      for (const [n, replica] of replicas.entries())
        if (n !== killedReplica && !replica.isUp())
          console.log(`replica ${n} is down: ${replica.said().slice(-2_000)}`);
      const late = calls.filter(({ endedMs }) => endedMs > performance.now() - sayEveryMs);
      console.log(`${late.length} calls, ${late.filter(({ outcome }) => outcome === 'ok').length} ok`);
    }, sayEveryMs);
    const asking = startAsking(calls);
    asking.repeat(closedLoop);
    asking.offer(perSecond * Number(RATE));
    const faults = startFaults(installation, engines);
    await sleep(minutes * 60_000);
    await faults.stop();
    const waitsLoaded = toWaits(waitsBefore, await readWaits(constant!));
    if (REPORT) writeFileSync(REPORT, replicas.map((replica) => replica.said()).join('\n'));
    for (const replica of replicas) expect(replica.isUp(), replica.said().slice(-2_000)).toBe(true);
    const unsent = await asking.stop();
    clearInterval(watching);
    clearInterval(reading);
    clearInterval(saying);

    const leaked = await readLeaked(installation, leakMsMax);
    for (let n = 0; n < 60 && kept.unannounced().length > 0; n++) await sleep(1000);
    await installation.balancer.close();
    await steady(() => [replicas.map(callersOf), handles()]);
    const after = handles();
    const callers = replicas.map(callersOf);

    const touched = (call: Outcome & { api: string }) => faultOf(faults.windows, call);
    const table = toTable(calls, touched);
    const still = firstMsOf(calm);
    const loaded = firstMsOf(calls.filter((call) => call.api === 'probe' && !touched(call)));
    const means = meansInQuarters(memory);
    const files = after.map(({ files }, n) => files - before[n]!.files);
    const lines = [
      ...table.lines,
      `${calls.length} calls in ${minutes} minutes (${unsent} more were not sent: ${flightsMax} were under way); ` +
        `${faults.windows.length} faults`,
      `bytes: ${mib(table.bytes)} verified, ${table.wrong.length} calls wrong`,
      `statuses: ${table.unexpected.length} unexpected${table.unexpected.map((each) => `\n    ${each}`).join('')}`,
      `leaked: ${JSON.stringify(leaked)}; connections of callers ${callers.join(' and ')}; files ${files.join(' and ')} more ` +
        `than before (${before.map(({ files }) => files).join(' and ')}); sockets ` +
        `${after.map(({ sockets }) => sockets).join(' and ')} (${before.map(({ sockets }) => sockets).join(' and ')} before)`,
      `threads of JavaScript ${after.map(({ threads }) => threads).join(' and ')} ` +
        `(${before.map(({ threads }) => threads).join(' and ')} before)`,
      ...files.flatMap((more, n) =>
        more > 0 ? [`files of replica ${n} before: ${before[n]!.kinds}; after: ${after[n]!.kinds}`] : [],
      ),
      `webhooks: ${kept.announced} jobs announced, ${kept.unannounced().length} not, ${kept.forged} forged`,
      `memory of the replica that was never killed: ${mib(memory[0]![1])} at first, ${mib(memory.at(-1)![1])} at last, at most ` +
        `${mib(medianAndWorst(memory.map(([, bytes]) => bytes)).worst)}; ${describeSlope(memorySlopeOf(memory))}; mean in each quarter: ${means.map(mib).join(', ')}`,
      `objects on the heap of its main thread, at least, in each quarter: ${leastInQuarters(heap).map(mib).join(', ')}`,
      `first sound of one sentence: median ${medianAndWorst(still).median.toFixed(0)} ms without load (${still.length}), ` +
        `${medianAndWorst(loaded).median.toFixed(0)} ms with (${loaded.length}): ` +
        `${(medianAndWorst(loaded).median / medianAndWorst(still).median).toFixed(1)} times`,
      `of that, in the replica that was never killed, without load: ${waitsCalm.join('; ')}`,
      `with: ${waitsLoaded.join('; ')}`,
      `said by the replicas: ${
        replicas
          .flatMap((replica) => replica.said().match(/.*"level":"error".*/g) ?? [])
          .slice(0, 5)
          .join('\n') || 'no error'
      }`,
    ];
    console.log(lines.join('\n'));
    if (REPORT) writeFileSync(REPORT, [...lines, ...replicas.map((replica) => replica.said())].join('\n'));
    expect(table.wrong).toEqual([]);
    expect(table.unexpected).toEqual([]);
    expect(leaked).toEqual({});
    if (minutes >= growthMinutesMin) expect(means[3]! / means[1]!, 'growth of memory').toBeLessThan(growthMax);
    expect(callers).toEqual([0, 0]);
    expect(Math.max(...files), 'open files').toBeLessThanOrEqual(0);
    expect([kept.unannounced(), kept.forged]).toEqual([[], 0]);
    expect(replicas.map((replica) => replica.said()).join('')).not.toContain('"level":"error"');
  },
  (minutes + 15) * 60_000,
);
