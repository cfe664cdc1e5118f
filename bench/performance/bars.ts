// Extracts the bars of a plot from the tables and goals of a stored report: the columns that label a row, the column of the
// figure and, if the next two columns are named "least" and "most", the range of the figure.
import { type Cell, type Column, type Goal, isMet, type Table } from '../measuring/bench.ts';
import type { BenchReport } from '../measuring/report.ts';
import type { Bar } from './bar-chart.ts';
import type { Plot } from './sections.ts';

export function barsOf(report: BenchReport, plot: Plot): Bar[] {
  const table = report.tables[plot.table];
  if (!table) throw new Error(`the report of ${report.name} has no table ${plot.table}`);
  const values = columnsOf(report.name, table, plot.values);
  const labels = plot.labels
    ? plot.labels.flatMap((name) => columnsOf(report.name, table, name))
    : table.columns.flatMap((_, n) => (table.rows.some((row) => typeof row[n] === 'string') ? [n] : []));
  const named = table.rows.map(() => '');
  const isOurs = (name: readonly string[]) => plot.ours.test(name.join(', '));
  return table.rows.flatMap((row, n) => {
    const words = labels.map((at) => labelOf(row[at], table.columns[at]!));
    if (words.length > 1 && words[0] === '') words[0] = named[n - 1] ?? '';
    named[n] = words[0]!;
    return values.flatMap((at): Bar[] => {
      const value = row[at];
      if (typeof value !== 'number') return [];
      const { name, digits = 0 } = table.columns[at]!;
      const parts = typeof plot.values === 'string' ? words : [words.join(', '), name];
      const [group, label] = parts.length > 1 ? [parts[0]!, parts.slice(1).join(', ')] : ['', parts[0]!];
      const bar: Bar = { group, label, value, shown: value.toFixed(digits), isOurs: isOurs(parts) };
      const range = rangeOf(table, row, at);
      const goal = goalOf(report.goals, plot.goalOf?.({ group, label }));
      return [{ ...bar, ...(range && { range }), ...(goal && { goal }) }];
    });
  });
}

function columnsOf(bench: string, { columns }: Table, wanted: string | RegExp): number[] {
  const isWanted = ({ name }: Column) => (typeof wanted === 'string' ? name === wanted : wanted.test(name));
  const found = columns.flatMap((column, n) => (isWanted(column) ? [n] : []));
  if (found.length > 0) return found;
  const names = columns.map(({ name }) => `"${name}"`).join(', ');
  throw new Error(`the report of ${bench} has no column ${wanted}; it has ${names}: see bench/performance/sections.ts`);
}

/** A number labels a row together with the column's name, such as "60 chars" or "from 24000 Hz". */
function labelOf(cell: Cell, { name }: Column): string {
  if (typeof cell === 'number') return name.replace(/Hz$/, `${cell} Hz`);
  return /^\d+$/.test(cell ?? '') ? `${cell} ${name}` : (cell ?? '');
}

function rangeOf({ columns }: Table, row: readonly Cell[], at: number): Bar['range'] {
  const [least, most] = [row[at + 1], row[at + 2]];
  const isThere = columns[at + 1]?.name === 'least' && columns[at + 2]?.name === 'most';
  if (!isThere || typeof least !== 'number' || typeof most !== 'number') return undefined;
  const { digits = 0 } = columns[at]!;
  return { least, most, shown: `${least.toFixed(digits)} to ${most.toFixed(digits)}` };
}

function goalOf(goals: readonly Goal[], name: string | undefined): Bar['goal'] {
  const goal = goals.find((each) => each.name === name);
  const bound = goal?.max ?? goal?.min;
  return goal && bound !== undefined ? { bound, shown: boundsOf(goal), isMet: isMet(goal) } : undefined;
}

export const boundsOf = ({ min, max }: Goal): string =>
  [min !== undefined && `≥ ${min}`, max !== undefined && `≤ ${max}`].filter(Boolean).join(', ');
