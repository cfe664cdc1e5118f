// More requests than can be served: what a service with flite serves in a second, by its CPU and by the clock, when it is
// offered once, twice and ten times what it can do, and how soon that is heard; what is refused, how soon, and whether who
// comes back when told is served; short streams among long texts; and the adaptive limit against another, simulated.
// SONANT_BENCH_BEFORE names another checkout, whose service is then measured too.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createAdaptiveLimit } from '../src/speech/adaptive-limit.ts';
import type { Bench, Cell, Goal, Table } from './measuring/bench.ts';
import type { OpenCheckout } from './measuring/open-checkout.ts';
import { median } from './measuring/rounds.ts';
import { createGradient2 } from './overload/gradient2.ts';
import { closedLoop, longText, type Offered, openLoop, stream } from './overload/load.ts';
import { simulate } from './overload/simulated-engine.ts';

const seconds = 4;
const rounds = 2;
const times = [1, 2, 10];
/** As many as keep all threads busy. */
const fewClients = 2 * availableParallelism();
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
  about: 'what is served of once, twice and ten times what can be, and how soon it is heard',
  async run() {
    const tables: Table[] = [];
    const goals: Goal[] = [];
    const { SONANT_BENCH_BEFORE: beforeRoot } = process.env;
    if (beforeRoot !== undefined) tables.push((await measureCheckout(beforeRoot, 'before')).table);
    const { table, ...own } = await measureCheckout(join(import.meta.dirname, '..'), 'this checkout');
    tables.push(table, compareLimits());
    goals.push(...own.goals);
    return { tables, goals };
  },
};

async function measureCheckout(root: string, name: string) {
  await using opened = new AsyncDisposableStack();
  const service = await start(opened, root);
  const load = { service: service.addresses, seconds, fields: stream };
  await closedLoop({ ...load, seconds: 3 }, fewClients);
  const alone = await measure('one at a time', service, () => closedLoop({ ...load, seconds: 3 }, 1));
  const first = await measure('', service, () => closedLoop(load, fewClients));
  const capacity = servedOf(first).length / (first.wallMs / 1000);
  const closed = times.map((n) => ({
    title: `${n * fewClients} clients`,
    run: () => closedLoop(load, n * fewClients),
  }));
  const open = times.map((n) => ({ title: `${n} times capacity`, run: () => openLoop(load, n * capacity) }));
  const measured = await measureInTurn(service, [...closed, ...open]);
  const bulk = closedLoop({ ...load, seconds: seconds + 2, fields: longText }, 4 * fewClients);
  const mixed = await measure('half capacity, among long texts', service, () => openLoop(load, capacity / 2));
  const bulkServed = (await bulk).filter(({ firstMs }) => firstMs !== undefined).length;
  const all = [alone, ...measured, mixed];
  const peak = Math.max(...measured.map(perCpuSecond));
  const table: Table = {
    title: `${name}: streams of a sentence; ${bulkServed} long texts were spoken meanwhile in the last`,
    columns: [
      { name: 'offered' },
      ...['served/s', 'served/CPU s', 'of peak'].map((title) => ({ name: title, digits: 2 })),
      ...['first sound p50 ms', 'p95', 'refused', 'refused after ms'].map((title) => ({ name: title })),
      { name: 'returns served', digits: 2 },
    ],
    rows: all.map((each) => rowOf(each, peak)),
  };
  const shares = measured.slice(-2).map((each) => perCpuSecond(each) / peak);
  const slowdown = firstOf(mixed) / firstOf(alone);
  const goals: Goal[] = [
    { name: 'goodput at twice capacity : peak', figure: shares[0]!, digits: 2, min: goodputMin },
    { name: 'goodput at ten times capacity : peak', figure: shares[1]!, digits: 2, min: goodputMin },
    { name: 'first sound among long texts : alone', figure: slowdown, digits: 2, max: firstSoundMax },
  ];
  return { table, goals };
}

async function start(opened: AsyncDisposableStack, root: string): Promise<Service> {
  const child = fork(join(import.meta.dirname, 'overload/serve.ts'), [root]);
  opened.defer(async () => {
    const exited = once(child, 'exit');
    child.disconnect();
    await exited;
  });
  const [addresses] = await once(child, 'message');
  return {
    addresses,
    async cpuMs() {
      child.send('cpu');
      return (await once(child, 'message'))[0];
    },
  };
}

async function measure(title: string, service: Service, load: () => Promise<Offered[]>): Promise<Measured> {
  const before = await service.cpuMs();
  const begunMs = performance.now();
  const offered = await load();
  const wallMs = performance.now() - begunMs;
  return { title, offered, wallMs, cpuMs: (await service.cpuMs()) - before };
}

/** Each in each round, so that what else the machine does meets all of them alike. */
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
const perCpuSecond = (measured: Measured) => servedOf(measured).length / (measured.cpuMs / 1000);
const firstOf = (measured: Measured) => median(servedOf(measured).map(({ firstMs }) => firstMs!));

function rowOf(measured: Measured, peak: number): Cell[] {
  const { title, offered, wallMs } = measured;
  const served = servedOf(measured);
  const firsts = served.map(({ firstMs }) => firstMs!).toSorted((a, b) => a - b);
  const refused = offered.filter(({ firstMs }) => firstMs === undefined);
  const returns = offered.filter(({ isReturn }) => isReturn);
  const returnsServed = returns.filter(({ firstMs }) => firstMs !== undefined).length;
  return [
    ...[title, served.length / (wallMs / 1000), perCpuSecond(measured), perCpuSecond(measured) / peak],
    ...[firsts[Math.floor(0.5 * firsts.length)], firsts[Math.floor(0.95 * firsts.length)], refused.length],
    refused.length === 0 ? undefined : median(refused.map(({ endMs }) => endMs)),
    returns.length === 0 ? undefined : returnsServed / returns.length,
  ];
}

/** Vegas against Gradient2, 64 clients that always want to be heard. */
function compareLimits(): Table {
  const setUps = [
    { title: '2 threads', threads: 2, sigma: 0.1 },
    { title: '2 threads, uneven', threads: 2, sigma: 0.4 },
    { title: '8 threads', threads: 8, sigma: 0.2 },
    { title: 'a thousand threads', threads: 1000, sigma: 0.3 },
  ];
  const rows = setUps.flatMap(({ title, threads, sigma }): Cell[][] =>
    (
      [
        ['Vegas', createAdaptiveLimit],
        ['Gradient2', createGradient2],
      ] as const
    ).map(([algorithm, create]) => {
      const limit = create({ min: 2, max: 64, initial: 16 });
      const load = { threads, sigma, segmentMs: 100, wanting: 64, requests: 20_000, random: randomNumbers() };
      const { heardPerSecond, medianMs, limitMean } = simulate(limit, load);
      return [title, algorithm, heardPerSecond, medianMs, limitMean];
    }),
  );
  const columns = [
    ...[{ name: 'engine' }, { name: 'limit by' }, { name: 'heard/s', digits: 1 }],
    ...[{ name: 'first sound p50 ms' }, { name: 'limit', digits: 1 }],
  ];
  return { title: 'Simulated: 100 ms until the first sound without a queue, 64 clients', columns, rows };
}

/** The same for each. */
function randomNumbers(): () => number {
  let state = 7;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
