// Random numbers that depend only on a seed and a place, so that the same request gives the same samples.

/** The next state of a generator with 32 bits (xorshift). */
function shuffle(state: number): number {
  let next = state ^ (state << 13);
  next ^= next >>> 17;
  return (next ^ (next << 5)) >>> 0;
}

/** A number of 32 bits for a seed and a place. */
export const mix = (seed: number, place: number): number =>
  shuffle(shuffle(Math.imul(seed + 1, 0x85ebca6b) ^ Math.imul(place + 1, 0xc2b2ae35)));

export function normalNumbers(state: number): () => number {
  // The generator stays at zero.
  let next = state || 1;
  const uniform = () => {
    next = shuffle(next);
    return (next + 1) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
