// Creates inputs for fuzzing: valid inputs, changed at random from a seed, so that each can be reproduced.
import { createRandom } from '../text/random-text.ts';

export interface Dice {
  /** A random integer from 0 to below `max`. */
  below(max: number): number;
  pick<T>(items: readonly T[]): T;
}

/** The same seed gives the same numbers. */
export function createDice(seed: number): Dice {
  const random = createRandom(seed);
  const below = (max: number) => Math.floor(random() * max);
  return { below, pick: (items) => items[below(items.length)]! };
}

/** Numbers at which length fields, indices and signs go wrong. */
const oddNumbers = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff];
const bytesMax = 65_536;
const timesMax = [10, 100, 1_000, 20_000];
const changesMax = 8;

type Change = (bytes: Buffer, dice: Dice, words: readonly string[], others: readonly Buffer[]) => Buffer;

const splice = (bytes: Buffer, at: number, removed: number, added: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + removed)]);

const changes: readonly Change[] = [
  (bytes, dice) => {
    if (bytes.length > 0) bytes[dice.below(bytes.length)]! ^= 1 << dice.below(8);
    return bytes;
  },
  (bytes, dice) => {
    if (bytes.length > 0) bytes[dice.below(bytes.length)] = dice.below(256);
    return bytes;
  },
  (bytes, dice) => {
    const number = dice.pick(oddNumbers);
    if (bytes.length < 4) return bytes;
    const at = dice.below(bytes.length - 3);
    if (dice.below(2) === 0) bytes.writeUInt32LE(number, at);
    else bytes.writeUInt16BE(number & 0xffff, at);
    return bytes;
  },
  (bytes, dice) => splice(bytes, dice.below(bytes.length + 1), 1 + dice.below(16), Buffer.alloc(0)),
  (bytes, dice) => bytes.subarray(0, dice.below(bytes.length + 1)),
  (bytes, dice) => {
    const from = dice.below(bytes.length + 1);
    const copied = bytes.subarray(from, from + 1 + dice.below(64));
    return splice(bytes, dice.below(bytes.length + 1), 0, copied);
  },
  (bytes, dice, words) => splice(bytes, dice.below(bytes.length + 1), 0, Buffer.from(dice.pick(words))),
  (bytes, dice, words) => {
    const word = Buffer.from(dice.pick(words));
    return splice(bytes, dice.below(bytes.length + 1), word.length, word);
  },
  (bytes, dice, _words, others) => {
    const other = dice.pick(others);
    const at = dice.below(other.length + 1);
    return Buffer.concat([bytes.subarray(0, dice.below(bytes.length + 1)), other.subarray(at)]);
  },
  // Repeats a part: quadratic work shows only with long inputs.
  (bytes, dice, words) => {
    const at = dice.below(bytes.length + 1);
    const piece = dice.below(2) === 0 ? Buffer.from(dice.pick(words)) : bytes.subarray(at, at + 1 + dice.below(8));
    const times = 1 + dice.below(dice.pick(timesMax));
    return splice(bytes, at, 0, Buffer.concat(Array.from({ length: times }, () => piece)));
  },
];

/** A valid input with a few changes; sometimes unchanged. */
export function mutate(seeds: readonly Buffer[], words: readonly string[], dice: Dice): Buffer {
  let bytes: Buffer = Buffer.from(dice.pick(seeds));
  for (let left = dice.below(changesMax); left > 0; left--) bytes = dice.pick(changes)(bytes, dice, words, seeds);
  return Buffer.from(bytes.subarray(0, bytesMax));
}
