// Offers a service with flite 1, 2 and 10 times the load that it can serve. Measures the requests served per second and
// per CPU second, the time to the first audio, and how soon refusals arrive. Other loads: clients that leave after two
// seconds, 64 waiting clients, and short streams among long texts. SONANT_BENCH_BEFORE names another checkout, which is
// measured in the same rounds. Takes two minutes for each checkout.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { startProcess } from './measuring/asked-process.ts';
import type { Bench, Cell, Goal, Table } from './measuring/bench.ts';
import type { OpenCheckout } from './measuring/open-checkout.ts';
import { median } from './measuring/rounds.ts';
import { closedLoop, learnStreams, longText, type Offered, openLoop, pacedLoop } from './overload/load.ts';

const seconds = 3;
const rounds = 2;
const cores = availableParallelism();
/** Enough clients to keep all threads busy. */
const fewClients = 2 * cores;
const warmUpSeconds = 4;
/** Number of clients that each request one sentence after the other, like the threads of a batch script. */
const politeClients = 64;
const politeSeconds = 6;
/** Time after which impatient clients disconnect. */
const leaveMs = 2000;
const goodputMin = 0.9;
/** At ten times the capacity, refusals need a part of it. */
const crowdedGoodputMin = 0.8;
const firstSoundMax = 2;

interface Service {
  addresses: OpenCheckout;
  cpuMs(): Promise<number>;
  isPinned: boolean;
}

/** A load, and what has been measured of it in all rounds. */
interface Measured {
  title: string;
  run(): Promise<Offered[]>;
  offered: Offered[];
  wallMs: number;
  cpuMs: number;
}

type Loads = Readonly<
  Record<'few' | 'once' | 'twice' | 'ten' | 'leaving' | 'polite' | 'alone' | 'amongLong', Measured>
>;

export const bench: Bench = {
  about: 'goodput and time to first audio at one, two and ten times the capacity',
  async run() {
    await using opened = new AsyncDisposableStack();
    const { SONANT_BENCH_BEFORE: before } = process.env;
    const roots = { ...(before && { before }), 'this checkout': join(import.meta.dirname, '..') };
    const checkouts = [];
    for (const [name, root] of Object.entries(roots)) {
      const service = await start(opened, root);
      checkouts.push({ name, service, loads: await prepare(service) });
    }
    // Each round measures all, so that other load on the machine affects all equally.
    for (let round = 0; round < rounds; round++)
      for (const { service, loads } of checkouts) for (const load of Object.values(loads)) await measure(service, load);
    const tables = checkouts.map(({ name, service, loads }) => tableOf(name, service, loads));
    return { tables, goals: goalsOf(checkouts.at(-1)!.loads) };
  },
};

async function prepare({ addresses: service }: Service): Promise<Loads> {
  const load = { service, seconds, request: await learnStreams(service) };
  let capacity = (await closedLoop(load, fewClients)).length / seconds;
  // V8 optimises code that runs often, so refusals are cheaper after a moment of overload.
  await openLoop({ ...load, seconds: warmUpSeconds }, 20 * capacity);
  const measured = (title: string, run: Measured['run']) => ({ title, run, offered: [], wallMs: 0, cpuMs: 0 });
  const times = (n: number) => measured(`${n} times capacity`, () => openLoop(load, n * capacity));
  return {
    few: measured(`${fewClients} clients`, async () => {
      const offered = await closedLoop(load, fewClients);
      capacity = offered.length / seconds;
      return offered;
    }),
    once: times(1),
    twice: times(2),
    ten: times(10),
    leaving: measured(`ten times capacity, leaving after ${leaveMs / 1000} s`, () =>
      openLoop({ ...load, seconds: politeSeconds, leaveMs }, 10 * capacity),
    ),
    polite: measured(`${politeClients} clients`, () => closedLoop({ ...load, seconds: politeSeconds }, politeClients)),
    alone: measured('a client that rests', () => pacedLoop(load)),
    amongLong: measured('the same, among long texts', async () => {
      const long = closedLoop({ ...load, request: longText }, 4 * fewClients);
      const offered = await pacedLoop(load);
      await long;
      return offered;
    }),
  };
}

function tableOf(name: string, { isPinned }: Service, loads: Loads): Table {
  const place = isPinned
    ? 'the service on one core, the clients on another'
    : 'the service and the clients on all cores';
  return {
    title: `${name}: streams of a sentence, ${place}`,
    columns: [
      { name: 'offered' },
      ...['served/s', 'of peak', 'served/CPU s', 'of peak'].map((title) => ({ name: title, digits: 2 })),
      ...['first sound p50 ms', 'p95', 'p99', 'late or cut', 'refused', 'refused after ms'].map((title) => ({
        name: title,
      })),
      { name: 'returns served', digits: 2 },
    ],
    rows: Object.values(loads).map((each) => rowOf(each, peaksOf(loads))),
  };
}

const peaksOf = ({ few, once, twice, ten }: Loads) => ({
  cpu: Math.max(...[few, once, twice, ten].map(perCpuSecond)),
  wall: Math.max(...[few, once, twice, ten].map(perSecond)),
});

function goalsOf(loads: Loads): Goal[] {
  const peaks = peaksOf(loads);
  const { twice, ten, leaving, polite, alone, amongLong } = loads;
  const ofPeak = [twice, ten, leaving].flatMap((each): Goal[] => {
    const goal = { digits: 2, min: each === twice ? goodputMin : crowdedGoodputMin };
    return [
      { name: `served/s at ${each.title} : peak`, figure: perSecond(each) / peaks.wall, ...goal },
      { name: 'the same by CPU', figure: perCpuSecond(each) / peaks.cpu, ...goal },
    ];
  });
  const refusals = polite.offered.filter(({ isRefused }) => isRefused).length;
  const slowdown = firstOf(amongLong) / firstOf(alone);
  return [
    ...ofPeak,
    { name: `refusals of ${politeClients} clients`, figure: refusals, digits: 0, max: 0 },
    { name: 'first sound among long texts : alone', figure: slowdown, digits: 2, max: firstSoundMax },
  ];
}

/**
 * Starts the service on the first core, if there are several cores and `taskset` is installed. The clients run in this
 * process.
 */
async function start(opened: AsyncDisposableStack, root: string): Promise<Service> {
  const isPinned = cores > 1 && spawnSync('taskset', ['-apc', '1', String(process.pid)]).status === 0;
  const pinned = { execPath: 'taskset', execArgv: ['-c', '0', process.execPath, ...process.execArgv] };
  // Log lines are written and discarded, so their cost is included.
  const options = { stdio: ['ignore', 'inherit', 'ignore', 'ipc'] as const, ...(isPinned && pinned) };
  const file = join(import.meta.dirname, 'overload/serve.ts');
  const service = await startProcess<OpenCheckout>(file, [root], { ...options, stdio: [...options.stdio] });
  opened.defer(service.close);
  return { isPinned, addresses: service.told, cpuMs: service.ask };
}

async function measure(service: Service, load: Measured): Promise<void> {
  const before = await service.cpuMs();
  const begunMs = performance.now();
  load.offered.push(...(await load.run()));
  load.wallMs += performance.now() - begunMs;
  load.cpuMs += (await service.cpuMs()) - before;
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
