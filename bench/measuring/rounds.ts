// Compares contenders in rounds. In each round each contender has two turns, in opposite orders (A B C C B A), so a
// machine that slows down or speeds up affects all equally. Ratios compare only costs of the same round. CPU time
// includes all threads of this process and its exited children. Garbage is collected before each turn.
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

/** Returns one cost per round, the mean of both turns, after warm-up rounds. `measure` may measure another process. */
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

/** Like `compare`, for work that returns its CPU time, such as that of another process. `wallMs` is 0. */
export const compareCpu = <Name extends string>(
  contenders: Readonly<Record<Name, () => Promise<number>>>,
  counts: { rounds: number; warmUps: number },
): Promise<Costs<Name>> =>
  compare(contenders, { ...counts, measure: async (work) => ({ wallMs: 0, cpuMs: await work() }) });

/** Range of the rounds' ratios, as a share of their median. */
export interface Spread {
  count: number;
  /** The median of the spreads. */
  typical: number;
  most: number;
}

/** A spread is absent if it was not measured. */
export interface RoundSpreads {
  cpu?: Spread | undefined;
  wall?: Spread | undefined;
}

/** All comparisons of this process. Each bench has its own process. */
const compared: Costs<string>[] = [];

/**
 * Spreads of each contender's cost, divided by the first contender's cost in the same round. Undefined if nothing was
 * compared.
 */
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

/** Ratio of the total CPU time of `costs` to that of `over`: the median over the rounds. */
export const cpuRatio = (costs: readonly (readonly Cost[])[], over: readonly (readonly Cost[])[]): number =>
  median(sumsOf(costs).map((cpuMs, round) => cpuMs / sumsOf(over)[round]!));

const sumsOf = (costs: readonly (readonly Cost[])[]): number[] =>
  costs[0]!.map((_, round) => costs.reduce((total, each) => total + each[round]!.cpuMs, 0));

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
