// Formats findings as aligned text, and stores them as JSON with a description of the machine.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Cell, type Column, type Findings, type Goal, isMet, type Table } from './bench.ts';
import type { MachineFacts, MachineWatch } from './machine.ts';
import type { RoundSpreads } from './rounds.ts';

export const resultsFolder = join(import.meta.dirname, '../results');

export interface BenchReport extends Findings {
  name: string;
  about: string;
  startedAt: string;
  seconds: number;
  machine: MachineFacts;
  watch: MachineWatch;
  /** Spread of each comparison over its rounds; absent if nothing was compared. */
  rounds?: RoundSpreads | undefined;
}

export async function keepReport(report: BenchReport): Promise<void> {
  await mkdir(resultsFolder, { recursive: true });
  await writeFile(join(resultsFolder, `${report.name}.json`), `${JSON.stringify(report, null, 2)}\n`);
}

export function reportText({ name, about, seconds, watch, tables, goals }: BenchReport): string {
  const { loadAtStart, othersShare, isDisturbed } = watch;
  const load = `load ${loadAtStart.toFixed(1)} at the start, others took ${percent(othersShare)} of the machine`;
  const warning = isDisturbed ? ' (the machine was not quiet: take these figures with care)' : '';
  return [
    `== ${name}: ${about}`,
    ...tables.map((table) => `${table.title}\n${tableText(table)}`),
    goalsText(goals),
    `${seconds.toFixed(0)} s; ${load}${warning}`,
    '',
  ].join('\n\n');
}

function goalsText(goals: readonly Goal[]): string {
  const columns = [{ name: 'goal' }, { name: 'figure' }, { name: 'wanted' }, { name: '' }];
  const rows = goals.map((goal) => [
    goal.name,
    goal.figure.toFixed(goal.digits),
    [goal.min !== undefined && `>= ${goal.min}`, goal.max !== undefined && `<= ${goal.max}`].filter(Boolean).join(', '),
    isMet(goal) ? 'ok' : goal.figure > (goal.max ?? Infinity) ? 'over' : 'under',
  ]);
  return tableText({ title: '', columns, rows });
}

/** Aligns columns of numbers to the right and columns of words to the left. */
function tableText({ columns, rows }: Omit<Table, 'title'> & { title?: string }): string {
  const printed = rows.map((row) => columns.map((column, i) => cellText(row[i], column)));
  const widths = columns.map(({ name }, i) => Math.max(name.length, ...printed.map((row) => row[i]!.length)));
  const isNumeric = columns.map((_, i) => rows.some((row) => typeof row[i] === 'number'));
  const line = (cells: readonly string[]) =>
    `  ${cells.map((cell, i) => (isNumeric[i] ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ')}`.trimEnd();
  return [columns.map(({ name }) => name), ...printed].map(line).join('\n');
}

const cellText = (cell: Cell, { digits = 0 }: Column): string =>
  cell === undefined ? '' : typeof cell === 'number' ? cell.toFixed(digits) : cell;

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
