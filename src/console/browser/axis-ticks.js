// Round tick values for the axis of a chart.

const tickCount = 4;

/**
 * Ticks from 0 to at least `max`, in equal steps of 1, 2, 2.5 or 5 times a power of ten.
 * @param {number} max
 */
export function toAxisTicks(max) {
  if (max <= 0) return [0, 1];
  const stepMin = max / tickCount;
  const magnitude = 10 ** Math.floor(Math.log10(stepMin));
  const step = magnitude * /** @type {number} */ ([1, 2, 2.5, 5, 10].find((each) => each * magnitude >= stepMin));
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, i) => i * step);
}
