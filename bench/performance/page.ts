// Renders docs/performance.md and its plots from the stored reports only, so that the page contains only measured figures
// and the same reports give the same bytes.
import { type Cell, type Column, isMet, type Table } from '../measuring/bench.ts';
import type { BenchReport } from '../measuring/report.ts';
import { toSvg } from './bar-chart.ts';
import { barsOf, boundsOf } from './bars.ts';
import { type BenchView, type Section, sections } from './sections.ts';

/** Reports by bench. A bench without a report is not shown. */
export type Reports = ReadonlyMap<string, BenchReport>;

export const shownBenches: readonly string[] = sections.flatMap(({ benches }) => benches.map(({ bench }) => bench));

/** Returns the contents of the files, by path in docs/. */
export function renderPage(kept: Reports): Map<string, string> {
  const reports = shownOf(kept);
  const files = new Map<string, string>();
  const plots = (view: BenchView, report: BenchReport) =>
    view.plots.map((plot, n) => {
      const path = `performance/${view.bench}-${n + 1}.svg`;
      const bars = barsOf(report, plot);
      files.set(path, toSvg({ id: `${view.bench}-${n + 1}`, title: plot.title, axis: plot.axis, bars }));
      return `![${plot.title}; the table has the figures](${path})`;
    });
  const shown = sections.filter(({ benches }) => benches.some(({ bench }) => reports.has(bench)));
  const missing = shownBenches.filter((bench) => !reports.has(bench));
  const parts = [
    introduction,
    missing.length > 0 ? [`Not measured yet: ${missing.map((bench) => `\`${bench}\``).join(', ')}.`] : [],
    ...shown.map((section) => sectionOf(section, reports, plots)),
    goalsOf(reports),
    conditionsOf([...reports.values()]),
  ];
  return files.set('performance.md', `${parts.flat().join('\n\n')}\n`);
}

/** The reports with only the rows that the page shows. */
function shownOf(kept: Reports): Reports {
  const views = sections.flatMap(({ benches }) => benches).filter(({ bench }) => kept.has(bench));
  return new Map(
    views.map(({ bench, rows = {} }) => {
      const report = kept.get(bench)!;
      const tables = report.tables.map((table) => ({ ...table, rows: table.rows.filter(isShown(table, rows)) }));
      return [bench, { ...report, tables }];
    }),
  );
}

const isShown =
  ({ columns }: Table, rows: Readonly<Record<string, RegExp>>) =>
  (row: readonly Cell[]): boolean =>
    columns.every(({ name }, n) => rows[name]?.test(String(row[n])) ?? true);

const introduction = [
  '# Performance',
  `CPU time, latency, rates and memory of Sonant beside comparable servers and libraries. Compare the ratios: times and rates depend on the
machine. A ratio is the median of several rounds; most benches run each program twice per round, in both orders.`,
  `\`npm run bench NAME\` measures again, best on an idle machine, and \`npm run bench report\` writes this page. A bench leaves out programs
that are not installed (nginx, Flask, FastAPI, PyAV). [Load testing](load-testing.md) shows how to measure a service on another machine.`,
];

function goalsOf(reports: Reports): string[] {
  const all = [...reports.values()].flatMap(({ name, goals }) => goals.map((goal) => ({ name, goal })));
  const missed = all.filter(({ goal }) => !isMet(goal));
  const rows = missed.map(({ name, goal }) => [name, goal.name, goal.figure.toFixed(goal.digits), boundsOf(goal)]);
  const count = `${all.length - missed.length} of ${all.length} goals are met`;
  const columns = ['bench', 'goal', 'measured', 'wanted'].map((name) => ({ name }));
  return ['## Goals', rows.length === 0 ? `${count}.` : `${count}. These are missed:`, ...tableOf({ columns, rows })];
}

function conditionsOf(reports: readonly BenchReport[]): string[] {
  const rows = reports.map(({ name, startedAt, seconds, machine, watch }) => [
    `\`${name}\``,
    `${startedAt.slice(0, 16).replace('T', ' ')} UTC`,
    machine.commit,
    `${seconds.toFixed(0)} s`,
    watch.loadAtStart.toFixed(1),
    `${percent(watch.othersShare)}${watch.isDisturbed ? ', disturbed' : ''}`,
  ]);
  const machines = Map.groupBy(reports, ({ machine }) =>
    [
      `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB`,
      `${machine.system}, Node ${machine.node}`,
    ].join('; '),
  );
  const lines = [...machines].map(([facts, on]) =>
    machines.size === 1 ? facts : `${facts}: ${on.map(({ name }) => `\`${name}\``).join(', ')}`,
  );
  const columns = ['bench', 'started', 'commit', 'took', 'load at the start', 'used by others'].map((name) => ({
    name,
  }));
  return [
    '## Conditions',
    lines.map((line) => `- ${line}`).join('\n'),
    `"Used by others" is the CPU time of other programs; above 10 %, a measurement is disturbed. A plus means that files differed from the commit.`,
    ...tableOf({ columns, rows }),
  ];
}

function sectionOf(
  { title, text, benches }: Section,
  reports: Reports,
  plots: (view: BenchView, report: BenchReport) => string[],
): string[] {
  const views = benches.flatMap((view) => {
    const report = reports.get(view.bench);
    return report ? viewOf(view, report, plots(view, report)) : [];
  });
  return [`## ${title}`, text, ...views];
}

function viewOf({ bench, across }: BenchView, report: BenchReport, plots: readonly string[]): string[] {
  const { about, watch, rounds } = report;
  const tables = report.tables.map((table, n) => (n === 0 && across ? spreadAcross(table, across) : table));
  const { othersShare, isDisturbed } = watch;
  const notes = [
    rounds ? spreadOf(rounds) : '',
    isDisturbed ? `Other programs used ${percent(othersShare)} of the CPU time, so the ratios are rough.` : '',
  ].filter(Boolean);
  const [first, ...others] = tables;
  return [
    [`### \`npm run bench ${bench}\``, plots.join(' '), `*${about}*. ${first!.title}:`].join('\n'),
    ...tableOf(first!),
    ...others.flatMap((table) => [`${table.title}:`, ...tableOf(table)]),
    ...(notes.length > 0 ? [notes.join(' ')] : []),
  ];
}

function spreadOf({ cpu, wall }: NonNullable<BenchReport['rounds']>): string {
  const words = [
    cpu && `ratios of CPU ${percent(cpu.typical)} (median of ${cpu.count} ratios), at most ${percent(cpu.most)}`,
    wall && `ratios of time ${percent(wall.typical)}, at most ${percent(wall.most)}`,
  ];
  return `Variation between rounds: ${words.filter(Boolean).join('; ')}.`;
}

/**
 * Gives each value of the column `name` its own columns, so that rows that differ only in that column become one row.
 */
function spreadAcross({ title, columns, rows }: Table, name: string): Table {
  const at = columns.findIndex((column) => column.name === name);
  const isFigure = columns.map((_, n) => n !== at && rows.some((row) => typeof row[n] === 'number' && n > at));
  const keys = columns.flatMap((_, n) => (n === at || isFigure[n] ? [] : [n]));
  const figures = columns.flatMap((_, n) => (isFigure[n] ? [n] : []));
  const groups = Map.groupBy(rows, (row) => JSON.stringify(keys.map((n) => row[n])));
  const values = [...new Set(rows.map((row) => row[at]))];
  return {
    title,
    columns: [
      ...keys.map((n) => columns[n]!),
      ...values.flatMap((value) => figures.map((n) => ({ ...columns[n]!, name: `${value}, ${columns[n]!.name}` }))),
    ],
    rows: [...groups.values()].map((group) => {
      const rowOf = (value: Cell | undefined) => group.find((row) => row[at] === value);
      return [...keys.map((n) => group[0]![n]!), ...values.flatMap((value) => figures.map((n) => rowOf(value)?.[n]))];
    }),
  };
}

/** Returns no lines if there are no rows. */
function tableOf({ columns, rows }: Omit<Table, 'title'>): string[] {
  if (rows.length === 0) return [];
  const isNumeric = columns.map((_, n) => rows.some((row) => typeof row[n] === 'number'));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    [
      line(columns.map(({ name }) => cellText(name))),
      `|${isNumeric.map((numeric) => (numeric ? '---:' : '---')).join('|')}|`,
      ...rows.map((row) => line(columns.map((column, n) => cellText(row[n], column)))),
    ].join('\n'),
  ];
}

/** A missing figure is null in JSON. */
const cellText = (cell: Cell | null, { digits = 0 }: Partial<Column> = {}): string =>
  typeof cell === 'number' ? cell.toFixed(digits) : (cell ?? '').replaceAll('|', '\\|');

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
