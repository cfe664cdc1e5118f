// The round figures at the side of a chart.

const ticksWanted = 4;

/**
 * From 0 to at least the most there is, in equal steps of 1, 2, 2.5 or 5 and as many noughts as it takes.
 * @param {number} most
 */
export function ticksFor(most) {
  if (most <= 0) return [0, 1];
  const least = most / ticksWanted;
  const tens = 10 ** Math.floor(Math.log10(least));
  const step = tens * /** @type {number} */ ([1, 2, 2.5, 5, 10].find((each) => each * tens >= least));
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, i) => i * step);
}
