// What a command of the command line is, and what it is given.
import { type ParseArgsOptionsConfig, parseArgs, styleText } from 'node:util';
import {
  type App,
  type Keys,
  type OpenedVoiceManagement,
  openApp,
  openKeys,
  openUsage,
  openVoiceManagement,
} from '../app/command-line.ts';
import { openService, type Service } from '../app.ts';
import { type Config, loadConfig } from '../config.ts';
import type { EngineDefinition } from '../engines/engine.ts';
import { registry } from '../engines/registry.ts';
import { createLog } from '../telemetry/log.ts';

export interface CommandLine {
  args: string[];
  /** Aborts when the user interrupts. */
  signal: AbortSignal;
  loadConfig(): Config;
  openApp(): Promise<App>;
  openKeys(): Promise<Keys>;
  /** Without engines nobody can be cloned there, and all else be done, whatever is wrong with an engine. */
  openVoiceManagement(engines?: readonly EngineDefinition[]): Promise<OpenedVoiceManagement>;
  openUsage(): ReturnType<typeof openUsage>;
  openService(options: { isSinglePort: boolean }): Promise<Service>;
  print(text: string): void;
}

export interface Command {
  name: string;
  summary: string;
  /** Its flags, as parseArgs takes them. */
  options: ParseArgsOptionsConfig;
  /** What may come first, such as `create` and `list`. */
  actions?: readonly string[];
  /** What a flag may be, where that is a list. */
  choices?: Readonly<Record<string, readonly string[]>>;
  help(): string;
  /** Does it and answers the exit code. */
  run(line: CommandLine): Promise<number>;
}

/** The command was called wrongly; the message says how to call it. */
export class UsageError extends Error {}

/** The command was understood and could not be done; the message says why. */
export class CommandError extends Error {}

const load = () => loadConfig({ env: process.env, folder: process.cwd(), engines: registry });

/** The command line as it really is; tests hand a command one of their own. */
export const commandLine: Omit<CommandLine, 'args' | 'signal'> = {
  loadConfig: load,
  openApp: () => openApp(load(), registry),
  openKeys: () => openKeys(load()),
  openVoiceManagement: (engines = []) => openVoiceManagement(load(), engines),
  openUsage: () => openUsage(load()),
  openService: ({ isSinglePort }) => {
    const config = load();
    return openService({ config, definitions: registry, log: createLog(config.logLevel), isSinglePort });
  },
  print: (text) => void process.stdout.write(`${text}\n`),
};

/** `parseArgs` whose complaints are UsageErrors. */
export const parseCommandArgs: typeof parseArgs = (config) => {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
};

const stateColours = {
  ready: 'green',
  active: 'green',
  broken: 'red',
  failed: 'red',
  revoked: 'gray',
  expired: 'gray',
  disabled: 'gray',
  absent: 'gray',
} as const;

/** In its colour, on a terminal that shows colours. */
function paintState(cell: string): string {
  const colour = (stateColours as Record<string, 'green' | 'red' | 'gray'>)[cell.trim()];
  return colour ? styleText(colour, cell, { stream: process.stdout }) : cell;
}

/** Rows in columns, two spaces apart; one of the columns may tell how things stand. */
export function formatTable(
  rows: readonly (readonly string[])[],
  { stateColumn }: { stateColumn?: number } = {},
): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .map((cell, column) => (column === stateColumn ? paintState(cell) : cell))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
