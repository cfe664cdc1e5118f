// Numbers that are mostly small, in as few bits as Rice codes take: a block is halved into ever more partitions, and each
// has the parameter that suits it (RFC 9639, section 9.2.7). Negative ones are counted in between: 0, -1, 1, -2, 2.
import type { BitWriter } from './bit-writer.ts';

export interface RicePlan {
  /** The block is in 2^order partitions. */
  order: number;
  parameters: readonly number[];
  /** What writing it takes, never less than that. */
  bits: number;
}

const orderLargest = 6;
const parameterMax = 14;
const parameterBits = 4;
/** Two for the kind of code, four for the order. */
const headBits = 6;

/** How the residual of a block, which lacks the samples that it begins with, is best written. */
export function planRice(residual: Int32Array, blockLength: number): RicePlan {
  const lead = blockLength - residual.length;
  let order = orderLargest;
  while (order > 0 && (blockLength % 2 ** order !== 0 || blockLength / 2 ** order <= lead)) order--;
  let sums = sumsOf(residual, blockLength, order);
  let best: RicePlan | undefined;
  for (; order >= 0; order--) {
    const length = blockLength / 2 ** order;
    const choices = sums.map((sum, i) => choose(sum, i === 0 ? length - lead : length));
    const bits = choices.reduce((total, choice) => total + choice.bits, headBits);
    if (!best || bits <= best.bits) best = { order, parameters: choices.map(({ parameter }) => parameter), bits };
    sums = sums.flatMap((sum, i) => (i % 2 === 0 ? [sum + (sums[i + 1] ?? 0)] : []));
  }
  return best!;
}

export function writeRice(bits: BitWriter, residual: Int32Array, { order, parameters }: RicePlan, blockLength: number) {
  bits.put(0, 2);
  bits.put(order, 4);
  const length = blockLength / parameters.length;
  let at = residual.length - blockLength;
  for (const parameter of parameters) {
    bits.put(parameter, parameterBits);
    for (let i = Math.max(at, 0); i < at + length; i++) bits.putRice(unsigned(residual[i]!), parameter);
    at += length;
  }
}

const unsigned = (value: number): number => (value << 1) ^ (value >> 31);

function sumsOf(residual: Int32Array, blockLength: number, order: number): number[] {
  const length = blockLength / 2 ** order;
  const lead = blockLength - residual.length;
  const sums: number[] = Array(2 ** order).fill(0);
  for (let i = 0; i < residual.length; i++) sums[Math.floor((i + lead) / length)]! += unsigned(residual[i]!);
  return sums;
}

/** The parameter for so many numbers with that sum. What it says of the bits is no less than they will be. */
function choose(sum: number, count: number): { parameter: number; bits: number } {
  const mean = count > 0 ? sum / count : 0;
  const parameter = Math.min(Math.max(Math.floor(Math.log2(mean * Math.LN2 + 1)), 0), parameterMax);
  return { parameter, bits: parameterBits + count * (parameter + 1) + Math.floor(sum / 2 ** parameter) };
}
