// Contenders measured side by side. In every round each has its turn twice, in one order and then in the other
// (A B C C B A), so that a machine that slows down or speeds up treats all alike, and only costs of the same round are
// divided by each other. CPU time is that of all threads of the process, and of the programs it ran. What one leaves to
// be collected is collected before the next has its turn.
import { childrenCpuMs, collectGarbage, ownCpuMs } from './machine.ts';

export type Work = () => unknown;

export interface Cost {
  wallMs: number;
  cpuMs: number;
}

export type Costs<Name extends string> = Readonly<Record<Name, readonly Cost[]>>;

export async function costOf(work: Work): Promise<Cost> {
  collectGarbage();
  const cpu = cpuMs();
  const wall = performance.now();
  await work();
  return { wallMs: performance.now() - wall, cpuMs: cpuMs() - cpu };
}

const cpuMs = (): number => ownCpuMs() + childrenCpuMs();

/** One cost per round, the mean of the two turns, after rounds that are not counted. `measure` has another's CPU in mind. */
export async function compare<Name extends string, W = Work>(
  contenders: Readonly<Record<Name, W>>,
  { rounds = 5, warmUps = 2, measure = costOf as (work: W) => Promise<Cost> } = {},
): Promise<Costs<Name>> {
  const names = Object.keys(contenders) as Name[];
  const costs = Object.fromEntries(names.map((name) => [name, [] as Cost[]])) as Record<Name, Cost[]>;
  for (let round = -warmUps; round < rounds; round++) {
    const turns = new Map<Name, Cost[]>(names.map((name) => [name, []]));
    for (const name of [...names, ...names.toReversed()]) turns.get(name)!.push(await measure(contenders[name]));
    if (round < 0) continue;
    for (const [name, [first, second]] of turns) {
      const mean = (of: keyof Cost) => (first![of] + second![of]) / 2;
      costs[name].push({ wallMs: mean('wallMs'), cpuMs: mean('cpuMs') });
    }
  }
  compared.push(costs);
  return costs;
}

/** The same of work that knows what CPU it took, such as that of another process; `wallMs` is not measured. */
export const compareCpu = <Name extends string>(
  contenders: Readonly<Record<Name, () => Promise<number>>>,
  counts: { rounds: number; warmUps: number },
): Promise<Costs<Name>> =>
  compare(contenders, { ...counts, measure: async (work) => ({ wallMs: 0, cpuMs: await work() }) });

/** How far apart the rounds' ratios were, as a share of their median. */
export interface Spread {
  count: number;
  /** The median of all ratios' spreads. */
  typical: number;
  most: number;
}

/** Not there where it was not measured. */
export interface RoundSpreads {
  cpu?: Spread | undefined;
  wall?: Spread | undefined;
}

/** All comparisons of this process, which is that of one bench. */
const compared: Costs<string>[] = [];

/** Of each contender's cost, divided by that of the first one in the same round; undefined where nothing was compared. */
export function spreadsOfRounds(all: readonly Costs<string>[] = compared): RoundSpreads | undefined {
  const [cpu, wall] = [spreadOf(all, 'cpuMs'), spreadOf(all, 'wallMs')];
  return cpu || wall ? { cpu, wall } : undefined;
}

function spreadOf(all: readonly Costs<string>[], of: keyof Cost): Spread | undefined {
  const spreads = all.flatMap((costs) => {
    const [first, ...others] = Object.values(costs).map((rounds) => rounds.map((cost) => cost[of]));
    if (!first || others.length === 0 || first.length < 2 || first.includes(0)) return [];
    const ratios = others.map((other) => other.map((cost, round) => cost / first[round]!));
    return ratios
      .filter((each) => median(each) > 0)
      .map((each) => (Math.max(...each) - Math.min(...each)) / median(each));
  });
  return spreads.length === 0
    ? undefined
    : { count: spreads.length, typical: median(spreads), most: Math.max(...spreads) };
}

export const cpuOf = (costs: readonly Cost[]): number => median(costs.map(({ cpuMs }) => cpuMs));
export const wallOf = (costs: readonly Cost[]): number => median(costs.map(({ wallMs }) => wallMs));

/** How many times the CPU of `over` these took, together: the median of the rounds' own ratios. */
export const cpuRatio = (costs: readonly (readonly Cost[])[], over: readonly (readonly Cost[])[]): number =>
  median(sumsOf(costs).map((cpuMs, round) => cpuMs / sumsOf(over)[round]!));

const sumsOf = (costs: readonly (readonly Cost[])[]): number[] =>
  costs[0]!.map((_, round) => costs.reduce((total, each) => total + each[round]!.cpuMs, 0));

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
