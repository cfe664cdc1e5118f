// Draws a bar chart as SVG: one bar per figure on a linear axis from 0, with the spread as a whisker and the goal as a line
// across the bar. It follows the reader's light or dark scheme, has no script, and contains all figures as text.

export interface Bar {
  /** Consecutive bars of one group are drawn under its name. */
  group: string;
  label: string;
  value: number;
  /** The value as text. */
  shown: string;
  /** Whether the bar is Sonant's own. */
  isOurs: boolean;
  range?: { least: number; most: number; shown: string };
  goal?: { bound: number; shown: string; isMet: boolean };
}

export interface BarChart {
  /** Unique among the plots of a page. */
  id: string;
  title: string;
  axis: string;
  bars: readonly Bar[];
}

const width = 760;
const left = 250;
/** Space for the figure after the longest bar. */
const right = 210;
const plotWidth = width - left - right;
const rowHeight = 22;
const groupHeight = 26;
const top = 34;
const ticksMax = 6;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 15px; font-weight: 600; }
  .group { font-weight: 600; }
  .axis, .axis text { fill: #59636e; }
  .grid { stroke: #d1d9e0; }
  .ours { fill: #0969da; }
  .other { fill: #8c959f; }
  .spread { stroke: #1f2328; }
  .met { stroke: #1a7f37; stroke-width: 2; }
  .missed { stroke: #cf222e; stroke-width: 2; }
  .back { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .axis, .axis text { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .ours { fill: #4493f8; }
    .other { fill: #656c76; }
    .spread { stroke: #f0f6fc; }
    .met { stroke: #3fb950; }
    .missed { stroke: #f85149; }
    .back { fill: #0d1117; }
  }`;

export function toSvg({ id, title, axis, bars }: BarChart): string {
  const step = stepOf(
    Math.max(...bars.map(({ value, range, goal }) => Math.max(value, range?.most ?? 0, goal?.bound ?? 0))),
  );
  const end = step.size * step.count;
  const x = (value: number) => round(left + (plotWidth * Math.max(0, value)) / end);
  const { rows, bottom } = rowsOf(bars, x);
  const ticks = Array.from({ length: step.count + 1 }, (_, n) => step.size * n);
  const height = bottom + 44;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${id}-title ${id}-desc">`,
    `<title id="${id}-title">${escapeXml(title)}</title>`,
    `<desc id="${id}-desc">${escapeXml(wordsOf(bars, axis))}</desc>`,
    `<style>${style}\n</style>`,
    `<rect class="back" width="${width}" height="${height}"/>`,
    `<text class="title" x="10" y="20">${escapeXml(title)}</text>`,
    ...ticks.map((tick) => `<line class="grid" x1="${x(tick)}" x2="${x(tick)}" y1="${top}" y2="${bottom}"/>`),
    ...rows,
    '<g class="axis" text-anchor="middle">',
    ...ticks.map((tick) => `<text x="${x(tick)}" y="${bottom + 16}">${tick.toFixed(step.digits)}</text>`),
    `<text x="${left + plotWidth / 2}" y="${bottom + 34}">${escapeXml(axis)}</text>`,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

function rowsOf(bars: readonly Bar[], x: (value: number) => number): { rows: string[]; bottom: number } {
  const rows: string[] = [];
  let y = top;
  let group = '';
  for (const bar of bars) {
    if (bar.group !== group) {
      group = bar.group;
      rows.push(`<text class="group" x="10" y="${y + 18}">${escapeXml(group)}</text>`);
      y += groupHeight;
    }
    rows.push(...rowOf(bar, y, x));
    y += rowHeight;
  }
  return { rows, bottom: y + 4 };
}

function rowOf({ label, value, shown, isOurs, range, goal }: Bar, y: number, x: (value: number) => number): string[] {
  const middle = y + rowHeight / 2;
  const after = Math.max(x(value), x(range?.most ?? 0), x(goal?.bound ?? 0)) + 8;
  const barWidth = round(x(value) - left);
  const rows = [
    `<text x="${left - 8}" y="${middle + 4}" text-anchor="end">${escapeXml(label)}</text>`,
    `<rect class="${isOurs ? 'ours' : 'other'}" x="${left}" y="${y + 3}" width="${barWidth}" height="${rowHeight - 6}"/>`,
  ];
  if (range)
    rows.push(`<line class="spread" x1="${x(range.least)}" x2="${x(range.most)}" y1="${middle}" y2="${middle}"/>`);
  if (goal) {
    const at = x(goal.bound);
    rows.push(`<line class="${goal.isMet ? 'met' : 'missed'}" x1="${at}" x2="${at}" y1="${y}" y2="${y + rowHeight}"/>`);
  }
  rows.push(`<text x="${after}" y="${middle + 4}">${escapeXml(shown + goalWords(goal))}</text>`);
  return rows;
}

const goalWords = (goal: Bar['goal']): string => (goal ? ` (goal ${goal.shown}${goal.isMet ? '' : ', missed'})` : '');

function wordsOf(bars: readonly Bar[], axis: string): string {
  const words = bars.map(({ group, label, shown, range, goal }) => {
    const name = [group, label].filter((part) => part !== '').join(', ');
    return `${name}: ${shown}${range ? `, ${range.shown}` : ''}${goalWords(goal)}`;
  });
  return `${axis}. ${words.join('; ')}.`;
}

/** Returns a round step size for the axis. The axis ends at a multiple of this step. */
function stepOf(most: number): { size: number; count: number; digits: number } {
  const least = most > 0 ? most / ticksMax : 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const size = [1, 2, 5, 10].map((n) => n * power).find((each) => each >= least * 0.999)!;
  const digits = Math.max(0, -Math.floor(Math.log10(size) + 1e-9));
  return { size, count: Math.max(1, Math.ceil(most / size - 1e-9)), digits };
}

const round = (value: number): number => Math.round(value * 10) / 10;

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
