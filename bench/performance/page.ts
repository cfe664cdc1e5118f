// Renders docs/performance.md and its plots from the stored reports only, so that the page contains only measured figures
// and equal reports give equal bytes.
import { type Cell, type Column, isMet, type Table } from '../measuring/bench.ts';
import type { BenchReport } from '../measuring/report.ts';
import { toSvg } from './bar-chart.ts';
import { barsOf, boundsOf } from './bars.ts';
import { type BenchView, type Section, sections } from './sections.ts';

/** Reports by bench. A bench without a report is not shown. */
export type Reports = ReadonlyMap<string, BenchReport>;

export const shownBenches: readonly string[] = sections.flatMap(({ benches }) => benches.map(({ bench }) => bench));

/** Returns the contents of the files, by path in docs/. */
export function renderPage(reports: Reports): Map<string, string> {
  const files = new Map<string, string>();
  const plots = (view: BenchView, report: BenchReport) =>
    view.plots.map((plot, n) => {
      const path = `performance/${view.bench}-${n + 1}.svg`;
      const bars = barsOf(report, plot);
      files.set(path, toSvg({ id: `${view.bench}-${n + 1}`, title: plot.title, axis: plot.axis, bars }));
      return `![${plot.title}: the figures are in the table below](${path})`;
    });
  const shown = sections.filter(({ benches }) => benches.some(({ bench }) => reports.has(bench)));
  const missing = shownBenches.filter((bench) => !reports.has(bench));
  const parts = [
    introduction,
    missing.length > 0 ? [`Not measured yet: ${missing.map((bench) => `\`${bench}\``).join(', ')}.`] : [],
    goalsOf(reports),
    conditionsOf([...reports.values()]),
    ...shown.map((section) => sectionOf(section, reports, plots)),
  ];
  return files.set('performance.md', `${parts.flat().join('\n\n')}\n`);
}

const introduction = [
  '# Performance',
  `What Sonant costs beside the servers and libraries that it can be compared with, and which goals it misses. All that is compared in one
table was measured in one run. In most benches each has its turn twice in every round, in one order and then in the other, and a ratio is
the median of the rounds' own ratios, since the speed of a machine changes from minute to minute. In \`start\` each has one turn a round;
\`service-cost\` and the rates with 64 clients are measured one after the other; \`encoders\` divides medians. Compare ratios; times and
rates are this machine's.`,
  `This page is written by \`npm run bench report\` from the reports in \`docs/performance/\`, and a test renders it again and compares. To
repeat it, on a machine that does nothing else (what is shown here takes half an hour):`,
  `\`\`\`sh not-run: takes minutes
npm run bench transports # one bench, or several; without a name all, also those that are not shown here
npm run bench report     # writes this page and its plots from the newest reports
\`\`\``,
  `Contenders whose program is missing (nginx, ffmpeg, Flask, FastAPI, PyAV) are left out. \`espeak\` and \`served-espeak\` need eSpeak NG's
library and koffi, \`replicas\` needs PostgreSQL and Redis: without them these fail, and the others run. [Load testing](load-testing.md)
shows how to load a service that runs elsewhere.`,
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
  const columns = ['bench', 'begun', 'commit', 'took', 'load at the start', 'taken by others'].map((name) => ({
    name,
  }));
  return [
    '## Conditions',
    lines.map((line) => `- ${line}`).join('\n'),
    `"Taken by others" is the share of all cores' time that went to what was not measured; above 10 % the bench counts as disturbed.
A plus means that files differed from the commit.`,
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
    return report ? [`### \`npm run bench ${view.bench}\``, ...viewOf(report, plots(view, report))] : [];
  });
  return [`## ${title}`, text, ...views];
}

function viewOf({ about, watch, rounds, tables, goals }: BenchReport, plots: readonly string[]): string[] {
  const columns = ['goal', 'measured', 'wanted', ''].map((name) => ({ name }));
  const rows = goals.map((goal) => [
    goal.name,
    goal.figure.toFixed(goal.digits),
    boundsOf(goal),
    isMet(goal) ? 'met' : '**missed**',
  ]);
  const { othersShare, isDisturbed } = watch;
  return [
    `*${about}*`,
    ...(isDisturbed
      ? [
          `Other work took ${percent(othersShare)} of the machine meanwhile: take times and rates with care, and ratios as rough.`,
        ]
      : []),
    ...plots,
    ...tables.flatMap((table) => [`${table.title}:`, ...tableOf(table)]),
    ...tableOf({ columns, rows }),
    ...(rounds ? [spreadOf(rounds)] : []),
  ];
}

function spreadOf({ cpu, wall }: NonNullable<BenchReport['rounds']>): string {
  const words = [
    cpu && `of CPU ${percent(cpu.typical)} (median of ${cpu.count} ratios), at most ${percent(cpu.most)}`,
    wall && `of time ${percent(wall.typical)}, at most ${percent(wall.most)}`,
  ];
  return `Spread between rounds, from the least to the most of a ratio: ${words.filter(Boolean).join('; ')}.`;
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
