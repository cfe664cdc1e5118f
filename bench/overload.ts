// Offers a service with flite 1, 2 and 10 times the load that it can serve. Measures the requests served per second and
// per CPU second, and the time to the first audio. Also measures how soon refusals arrive, and whether clients that
// retry at the stated time are served. Other loads: clients that leave after two seconds, 64 waiting clients, and short
// streams among long texts. SONANT_BENCH_BEFORE names another checkout to measure too.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { startProcess } from './measuring/asked-process.ts';
import type { Bench, Cell, Goal, Table } from './measuring/bench.ts';
import type { OpenCheckout } from './measuring/open-checkout.ts';
import { median } from './measuring/rounds.ts';
import { closedLoop, learnStreams, longText, type Offered, openLoop, pacedLoop } from './overload/load.ts';

const seconds = 4;
const rounds = 3;
const times = [1, 2, 10];
const cores = availableParallelism();
/** Enough clients to keep all threads busy. */
const fewClients = 2 * cores;
/** Number of refusals before the measurement. */
const refusalsBefore = 1500;
const warmUpSeconds = 12;
/** Number of clients that each request one sentence after the other, like the threads of a batch script. */
const politeClients = 64;
const politeSeconds = 8;
/** Time after which impatient clients disconnect. */
const leaveMs = 2000;
const goodputMin = 0.9;
const firstSoundMax = 2;

interface Service {
  addresses: OpenCheckout;
  cpuMs(): Promise<number>;
}

interface Measured {
  title: string;
  offered: readonly Offered[];
  wallMs: number;
  cpuMs: number;
}

export const bench: Bench = {
  about: 'goodput and time to first audio at one, two and ten times the capacity',
  async run() {
    const tables: Table[] = [];
    const goals: Goal[] = [];
    const { SONANT_BENCH_BEFORE: beforeRoot } = process.env;
    if (beforeRoot !== undefined) tables.push((await measureCheckout(beforeRoot, 'before')).table);
    const { table, ...own } = await measureCheckout(join(import.meta.dirname, '..'), 'this checkout');
    tables.push(table);
    goals.push(...own.goals);
    return { tables, goals };
  },
};

async function measureCheckout(root: string, name: string) {
  await using opened = new AsyncDisposableStack();
  const { isPinned, ...service } = await start(opened, root);
  const request = await learnStreams(service.addresses);
  const load = { service: service.addresses, seconds, request };
  const warmUp = await measure('', service, () => closedLoop(load, fewClients));
  // V8 optimises code that runs often, so refusals are cheaper after a moment of overload.
  await openLoop({ ...load, seconds: warmUpSeconds }, Math.max(20 * perSecond(warmUp), refusalsBefore / warmUpSeconds));
  let capacity = 0;
  const clients = times.map((n) => ({
    title: `${n * fewClients} clients`,
    async run() {
      const offered = await closedLoop(load, n * fewClients);
      if (n === 1) capacity = offered.length / seconds;
      return offered;
    },
  }));
  const open = times.map((n) => ({ title: `${n} times capacity`, run: () => openLoop(load, n * capacity) }));
  const leaving = {
    title: `ten times capacity, leaving after ${leaveMs / 1000} s`,
    run: () => openLoop({ ...load, seconds: politeSeconds, leaveMs }, 10 * capacity),
  };
  const polite = {
    title: `${politeClients} clients`,
    run: () => closedLoop({ ...load, seconds: politeSeconds }, politeClients),
  };
  const alone = { title: 'a client that rests', run: () => pacedLoop(load) };
  let bulkServed = 0;
  const amongBulk = {
    title: 'the same, among long texts',
    async run() {
      const bulk = closedLoop({ ...load, request: longText }, 4 * fewClients);
      const offered = await pacedLoop(load);
      bulkServed += (await bulk).filter(({ firstMs }) => firstMs !== undefined).length;
      return offered;
    },
  };
  const measured = await measureInTurn(service, [...clients, ...open, leaving, polite, alone, amongBulk]);
  const saturated = measured.slice(0, -4);
  const peaks = { cpu: Math.max(...saturated.map(perCpuSecond)), wall: Math.max(...saturated.map(perSecond)) };
  const place = isPinned
    ? 'the service on one core, the clients on another'
    : 'the service and the clients on all cores';
  const table: Table = {
    title: `${name}: streams of a sentence, ${place}; ${bulkServed} long texts were spoken meanwhile in the last`,
    columns: [
      { name: 'offered' },
      ...['served/s', 'of peak', 'served/CPU s', 'of peak'].map((title) => ({ name: title, digits: 2 })),
      ...['first sound p50 ms', 'p95', 'p99', 'late or cut', 'refused', 'refused after ms'].map((title) => ({
        name: title,
      })),
      { name: 'returns served', digits: 2 },
    ],
    rows: measured.map((each) => rowOf(each, peaks)),
  };
  const [atTwice, atTen, afterLeaving, fromQueue, unloaded, loaded] = measured.slice(-6);
  const goals: Goal[] = (
    [
      ['twice', atTwice!],
      ['ten times', atTen!],
      ['ten times, leaving,', afterLeaving!],
    ] as const
  ).flatMap(([offered, each]) => [
    {
      name: `served/s at ${offered} capacity : peak`,
      figure: perSecond(each) / peaks.wall,
      digits: 2,
      min: goodputMin,
    },
    { name: `the same by CPU`, figure: perCpuSecond(each) / peaks.cpu, digits: 2, min: goodputMin },
  ]);
  const refusals = fromQueue!.offered.filter(({ isRefused }) => isRefused).length;
  goals.push({ name: `refusals of ${politeClients} clients`, figure: refusals, digits: 0, max: 0 });
  const slowdown = firstOf(loaded!) / firstOf(unloaded!);
  goals.push({ name: 'first sound among long texts : alone', figure: slowdown, digits: 2, max: firstSoundMax });
  return { table, goals };
}

/**
 * Starts the service on the first core, if there are several cores and `taskset` is installed. The clients run in this
 * process.
 */
async function start(opened: AsyncDisposableStack, root: string): Promise<Service & { isPinned: boolean }> {
  const isPinned = cores > 1 && spawnSync('taskset', ['-apc', '1', String(process.pid)]).status === 0;
  const pinned = { execPath: 'taskset', execArgv: ['-c', '0', process.execPath, ...process.execArgv] };
  // Log lines are written and discarded, so their cost is included.
  const options = { stdio: ['ignore', 'inherit', 'ignore', 'ipc'] as const, ...(isPinned && pinned) };
  const file = join(import.meta.dirname, 'overload/serve.ts');
  const service = await startProcess<OpenCheckout>(file, [root], { ...options, stdio: [...options.stdio] });
  opened.defer(service.close);
  return { isPinned, addresses: service.told, cpuMs: service.ask };
}

async function measure(title: string, service: Service, load: () => Promise<Offered[]>): Promise<Measured> {
  const before = await service.cpuMs();
  const begunMs = performance.now();
  const offered = await load();
  const wallMs = performance.now() - begunMs;
  return { title, offered, wallMs, cpuMs: (await service.cpuMs()) - before };
}

/** Measures all loads in each round, so that other load on the machine affects all equally. */
async function measureInTurn(
  service: Service,
  loads: readonly { title: string; run: () => Promise<Offered[]> }[],
): Promise<Measured[]> {
  const measured = loads.map(({ title }): Measured => ({ title, offered: [], wallMs: 0, cpuMs: 0 }));
  for (let round = 0; round < rounds; round++)
    for (const [i, { title, run }] of loads.entries()) {
      const { offered, wallMs, cpuMs } = await measure(title, service, run);
      const before = measured[i]!;
      measured[i] = {
        ...{ title, offered: [...before.offered, ...offered] },
        ...{ wallMs: before.wallMs + wallMs, cpuMs: before.cpuMs + cpuMs },
      };
    }
  return measured;
}

const servedOf = ({ offered }: Measured) => offered.filter(({ firstMs }) => firstMs !== undefined);
const perSecond = (measured: Measured) => servedOf(measured).length / (measured.wallMs / 1000);
const perCpuSecond = (measured: Measured) => servedOf(measured).length / (measured.cpuMs / 1000);
const firstOf = (measured: Measured) => median(servedOf(measured).map(({ firstMs }) => firstMs!));

function rowOf(measured: Measured, peaks: { wall: number; cpu: number }): Cell[] {
  const { title, offered } = measured;
  const firsts = servedOf(measured)
    .map(({ firstMs }) => firstMs!)
    .toSorted((a, b) => a - b);
  const refused = offered.filter(({ isRefused }) => isRefused);
  const returns = offered.filter(({ isReturn }) => isReturn);
  const returnsServed = returns.filter(({ firstMs }) => firstMs !== undefined).length;
  return [
    ...[title, perSecond(measured), perSecond(measured) / peaks.wall],
    ...[perCpuSecond(measured), perCpuSecond(measured) / peaks.cpu],
    ...[
      firsts[Math.floor(0.5 * firsts.length)],
      firsts[Math.floor(0.95 * firsts.length)],
      firsts[Math.floor(0.99 * firsts.length)],
    ],
    ...[offered.length - firsts.length - refused.length, refused.length],
    refused.length === 0 ? undefined : median(refused.map(({ endMs }) => endMs)),
    returns.length === 0 ? undefined : returnsServed / returns.length,
  ];
}
