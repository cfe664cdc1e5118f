// Tests that docs/performance.md contains exactly the rendered reports. Its plots are drawn to scale, state in words
// what they show, and name missed targets.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SaxesParser } from 'saxes';
import { expect, test } from 'vitest';
import type { BenchReport } from '../bench/measuring/report.ts';
import { type Costs, spreadsOfRounds } from '../bench/measuring/rounds.ts';
import { type Bar, toSvg } from '../bench/performance/bar-chart.ts';
import { readReports } from '../bench/performance/kept-reports.ts';
import { renderPage } from '../bench/performance/page.ts';

const docs = join(import.meta.dirname, '../docs');

const machine = { processor: 'P', cores: 2, memoryGiB: 8, system: 'linux', node: 'v24', commit: 'abc' };
const columns = [
  ...[{ name: 'load' }, { name: 'server' }, { name: 'requests/s' }, { name: 'CPU us/request' }],
  ...[
    { name: 'requests/s, sonant / other', digits: 2 },
    { name: 'least', digits: 2 },
    { name: 'most', digits: 2 },
  ],
];
/** A stored report. */
const transports: BenchReport = JSON.parse(
  JSON.stringify({
    ...{ name: 'transports', about: 'one : another', startedAt: '2026-01-02T03:04:05.000Z', seconds: 60, machine },
    watch: { loadAtStart: 1, othersShare: 0.62, isDisturbed: true },
    rounds: { cpu: { count: 3, typical: 0.02, most: 0.07 } },
    tables: [
      {
        ...{ title: 'Loads', columns },
        rows: [
          ['REST <voice>', 'sonant', 500, 200],
          ['', 'node:http', 1000, 100, 0.5, 0.4, 0.6],
          ['Stored', 'sonant', 300, undefined, undefined],
        ],
      },
    ],
    goals: [{ name: 'REST <voice>: requests/s, sonant / node:http', figure: 0.5, digits: 2, min: 0.75 }],
  } satisfies BenchReport),
);

test('the performance page and its plots are what the kept reports render to', () => {
  const files = renderPage(readReports());
  for (const [path, content] of files) expect(readFileSync(join(docs, path), 'utf8'), path).toBe(content);
  const plots = readdirSync(join(docs, 'performance')).filter((name) => name.endsWith('.svg'));
  expect(plots.map((name) => `performance/${name}`).toSorted()).toEqual([...files.keys()].slice(0, -1).toSorted());
});

test('the page says who disturbed a measurement, what spread it has, and which goals are missed', () => {
  const page = renderPage(new Map([['transports', transports]])).get('performance.md')!;
  expect(page).toContain('0 of 1 goals are met. These are missed:');
  expect(page).toContain('| transports | REST <voice>: requests/s, sonant / node:http | 0.50 | ≥ 0.75 |');
  expect(page).toContain('| `transports` | 2026-01-02 03:04 UTC | abc | 60 s | 1.0 | 62 %, disturbed |');
  expect(page).toContain('Other programs used 62 % of the CPU time');
  expect(page).toContain('of CPU 2 % (median of 3 ratios), at most 7 %');
  expect(page).toContain('|  | node:http | 1000 | 100 | 0.50 | 0.40 | 0.60 |');
  expect(page).toContain('| Stored | sonant | 300 |  |  |  |  |');
  expect(page).toMatch(/Not measured yet: `neural`, `start`/);
});

test('a plot has a title, its figures in words, the spread, the goal that is missed, and no script', () => {
  const svg = renderPage(new Map([['transports', transports]])).get('performance/transports-1.svg')!;
  expect(svg).toContain('REST &lt;voice&gt;, node:http: 0.50, 0.40 to 0.60 (goal ≥ 0.75, missed).</desc>');
  expect(svg).toMatch(/aria-labelledby="transports-1-title transports-1-desc"/);
  expect(svg).toContain('prefers-color-scheme: dark');
  expect(svg).toMatch(/class="spread"[^>]*\/>\n<line class="missed"/);
  expect(svg).not.toMatch(/<script|href|url\(/);
});

test.each([0.0004, 0.5, 7, 99, 25_407])('bars are to scale and stay within the plot, up to %d', (most) => {
  const bar = (share: number): Bar => ({ group: '', label: 'a', value: share * most, shown: '1', isOurs: true });
  const svg = toSvg({ id: 'a', title: 'a', axis: 'a', bars: [bar(1), bar(0.5), bar(0)] });
  const widths: number[] = [];
  const parser = new SaxesParser();
  parser.on('opentag', ({ name, attributes }) => {
    if (name === 'rect' && attributes.class === 'ours') widths.push(Number(attributes.width));
  });
  parser.write(svg).close();
  const [whole, half, none] = widths as [number, number, number];
  expect(whole / half).toBeCloseTo(2, 1);
  expect(none).toBe(0);
  expect(whole).toBeGreaterThan(130);
  expect(whole).toBeLessThanOrEqual(300);
});

test('a plot of a column that the report does not have is refused, with the columns there are', () => {
  const table = { title: '', columns: [{ name: 'server' }, { name: 'rate' }], rows: [['sonant', 1]] };
  const render = () => renderPage(new Map([['transports', { ...transports, tables: [table] }]]));
  expect(render).toThrow('the report of transports has no column requests/s, sonant / other; it has "server", "rate"');
});

test('the spread of a ratio is that of its rounds, however fast the machine was in each', () => {
  const cost = (cpuMs: number) => ({ cpuMs, wallMs: 0 });
  const costs: Costs<string> = { first: [10, 20, 40].map(cost), second: [20, 44, 80].map(cost) };
  const spreads = spreadsOfRounds([costs])!;
  expect(spreads.wall).toBeUndefined();
  expect(spreads.cpu).toEqual({ count: 1, typical: expect.closeTo(0.1), most: expect.closeTo(0.1) });
  expect(spreadsOfRounds([])).toBeUndefined();
});
