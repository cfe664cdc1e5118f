// Rice coding of prediction errors (RFC 9639, section 9.2.7): a block is split into 2^order partitions with a parameter
// each. Signed numbers are folded into unsigned ones: 0, -1, 1, -2, 2.
import type { BitWriter } from './bit-writer.ts';

export interface RicePlan {
  /** The block has 2^order partitions. */
  order: number;
  parameters: readonly number[];
  /** An upper bound of the bits. */
  bits: number;
}

const orderLargest = 6;
const parameterMax = 14;
const parameterBits = 4;
/** Two for the coding method, four for the order. */
const headBits = 6;

/** The best coding of the residual of a block; the residual lacks the warm-up samples. */
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
    for (let i = Math.max(at, 0); i < at + length; i++) bits.putRice(fold(residual[i]!), parameter);
    at += length;
  }
}

const fold = (value: number): number => (value << 1) ^ (value >> 31);

function sumsOf(residual: Int32Array, blockLength: number, order: number): number[] {
  const length = blockLength / 2 ** order;
  const lead = blockLength - residual.length;
  const sums: number[] = Array(2 ** order).fill(0);
  for (let i = 0; i < residual.length; i++) sums[Math.floor((i + lead) / length)]! += fold(residual[i]!);
  return sums;
}

/** The parameter for `count` numbers with that sum, and an upper bound of their bits. */
function choose(sum: number, count: number): { parameter: number; bits: number } {
  const mean = count > 0 ? sum / count : 0;
  const parameter = Math.min(Math.max(Math.floor(Math.log2(mean * Math.LN2 + 1)), 0), parameterMax);
  return { parameter, bits: parameterBits + count * (parameter + 1) + Math.floor(sum / 2 ** parameter) };
}
