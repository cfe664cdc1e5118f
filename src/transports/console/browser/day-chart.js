// A bar chart with one bar per day, drawn as SVG to fit the available width. Hovering over or focusing a bar shows its
// value; arrow keys move the focus. A table lists the same data.
import { element, fill } from './element.js';
import { createRoving } from './roving.js';

const height = 200;
const [top, bottom, side] = [12, 26, 44];
const labelWidth = 66;
const namespace = 'http://www.w3.org/2000/svg';

/**
 * @typedef {object} DayValue
 * @property {string} day A UTC day, such as "2026-11-21".
 * @property {number} value
 *
 * @typedef {object} DayChartOptions
 * @property {string} title
 * @property {readonly DayValue[]} days
 * @property {(value: number) => string} toText Formats the full value with its unit.
 * @property {{ divisor: number, name: string }} unit The unit of the axis, named in the caption.
 */

/** @param {DayChartOptions} options */
export function dayChart(options) {
  const { title, days, toText } = options;
  const tip = element('p', { class: 'tip', 'aria-hidden': 'true', hidden: true });
  const plot = element('div', { class: 'plot' });
  const letFocus = createRoving(plot, '.day');
  let current = days.length - 1;

  const draw = () => {
    const width = plot.clientWidth;
    if (width === 0) return;
    const { drawing, bars } = toDrawing(options, width);
    const hadFocus = plot.contains(document.activeElement);
    const show = (/** @type {number} */ at) => {
      const { day, value } = /** @type {DayValue} */ (days[at]);
      fill(tip, element('strong', {}, toText(value)), element('span', {}, toDayName(day)));
      tip.hidden = false;
      const middle = side + ((at + 0.5) / days.length) * (width - side);
      const half = tip.offsetWidth / 2;
      tip.style.left = `${Math.max(half, Math.min(width - half, middle))}px`;
    };
    const hide = () => {
      tip.hidden = true;
    };
    for (const [at, bar] of bars.entries()) {
      bar.addEventListener('pointerenter', () => show(at));
      bar.addEventListener('pointerleave', hide);
      bar.addEventListener('focus', () => {
        current = at;
        show(at);
      });
      bar.addEventListener('blur', hide);
    }
    fill(plot, drawing, tip);
    letFocus(current);
    if (hadFocus) bars[current]?.focus();
  };
  new ResizeObserver(draw).observe(plot);
  return element(
    'figure',
    { class: 'chart' },
    element('figcaption', {}, title, ' ', element('small', {}, options.unit.name)),
    plot,
    toTable(options),
  );
}

/**
 * @param {DayChartOptions} options
 * @param {number} width
 */
function toDrawing({ title, days, toText, unit }, width) {
  const max = Math.max(...days.map(({ value }) => value), 0) / unit.divisor;
  const ticks = toAxisTicks(max);
  const scale = (height - top - bottom) / /** @type {number} */ (ticks.at(-1));
  const floor = height - bottom;
  const step = (width - side) / days.length;
  const lines = ticks.flatMap((tick) => {
    const y = Math.round(floor - tick * scale) + 0.5;
    return [
      shape('path', { class: 'line', d: `M${side} ${y}H${width}` }),
      shape('text', { x: side - 8, y: y + 4, 'text-anchor': 'end' }, toTickText(tick)),
    ];
  });
  const every = Math.ceil(labelWidth / step);
  const names = days.flatMap(({ day }, at) => {
    if ((days.length - 1 - at) % every !== 0) return [];
    const middle = side + (at + 0.5) * step;
    const isLast = width - middle < labelWidth / 2;
    const position = { x: isLast ? width : middle, y: height - 6, 'text-anchor': isLast ? 'end' : 'middle' };
    return shape('text', position, toDayName(day, true));
  });
  const bars = days.map(({ day, value }, at) => {
    const bar = shape('g', {
      class: 'day',
      tabindex: -1,
      role: 'img',
      'aria-label': `${toDayName(day)}: ${toText(value)}`,
    });
    const x = side + at * step;
    const wide = Math.min(28, Math.max(2, step * 0.72));
    const tall = value > 0 ? Math.max(2, (value / unit.divisor) * scale) : 0;
    bar.append(
      shape('rect', { class: 'hit', x, y: top, width: step, height: floor - top }),
      shape('path', { class: 'bar', d: barPath(x + (step - wide) / 2, floor, wide, tall) }),
    );
    return bar;
  });
  const drawing = shape('svg', { viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `${title}, by day` });
  const grid = shape('g', { 'aria-hidden': 'true' });
  grid.append(...lines, ...names);
  const description = shape('desc', {}, 'One bar per day. The arrow keys move from day to day.');
  drawing.append(description, grid, ...bars);
  return { drawing, bars };
}

/**
 * A bar that stands on the axis, with rounded upper corners.
 * @param {number} x
 * @param {number} floor
 * @param {number} wide
 * @param {number} tall
 */
function barPath(x, floor, wide, tall) {
  const round = Math.min(4, wide / 2, tall);
  return `M${x} ${floor}v${round - tall}q0 ${-round} ${round} ${-round}h${wide - 2 * round}q${round} 0 ${round} ${round}v${tall - round}z`;
}

/** @param {DayChartOptions} options */
const toTable = ({ title, days, toText }) =>
  element(
    'details',
    {},
    element('summary', {}, 'As a table'),
    element(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${title}, as a table` },
      element(
        'table',
        {},
        element(
          'thead',
          {},
          element(
            'tr',
            {},
            element('th', { scope: 'col' }, 'Day'),
            element('th', { scope: 'col', class: 'figure' }, title),
          ),
        ),
        element(
          'tbody',
          {},
          ...days
            .toReversed()
            .map(({ day, value }) =>
              element(
                'tr',
                {},
                element('th', { scope: 'row' }, toDayName(day)),
                element('td', { class: 'figure' }, toText(value)),
              ),
            ),
        ),
      ),
    ),
  );

/** @param {number} tick */
const toTickText = (tick) => tick.toLocaleString(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/**
 * Formats a UTC day.
 * @param {string} day
 */
const toDayName = (day, isShort = false) =>
  new Date(day).toLocaleDateString(undefined, {
    timeZone: 'UTC',
    day: 'numeric',
    month: 'short',
    ...(!isShort && { weekday: 'short' }),
  });

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
function shape(name, attributes, text) {
  const target = /** @type {SVGElement} */ (document.createElementNS(namespace, name));
  for (const [attribute, value] of Object.entries(attributes)) target.setAttribute(attribute, String(value));
  if (text !== undefined) target.textContent = text;
  return target;
}

const tickCount = 4;

/**
 * Ticks from 0 to at least `max`, in equal steps of 1, 2, 2.5 or 5 times a power of ten.
 * @param {number} max
 */
function toAxisTicks(max) {
  if (max <= 0) return [0, 1];
  const stepMin = max / tickCount;
  const magnitude = 10 ** Math.floor(Math.log10(stepMin));
  const step = magnitude * /** @type {number} */ ([1, 2, 2.5, 5, 10].find((each) => each * magnitude >= stepMin));
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, i) => i * step);
}
