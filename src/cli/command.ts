// What a command of the command line is, and what it is given.
import { parseArgs } from 'node:util';
import {
  type App,
  type Keys,
  openApp,
  openKeys,
  openService,
  openUsage,
  openVoiceOffice,
  type Service,
  type VoiceOffice,
} from '../app.ts';
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
  openVoiceOffice(engines?: readonly EngineDefinition[]): Promise<VoiceOffice>;
  openUsage(): ReturnType<typeof openUsage>;
  openService(options: { isSinglePort: boolean }): Promise<Service>;
  print(text: string): void;
}

export interface Command {
  name: string;
  summary: string;
  help(): string;
  /** Does it and answers the exit code. */
  run(line: CommandLine): Promise<number>;
}

/** The command was called wrongly; the message says how to call it. */
export class UsageError extends Error {}

const load = () => loadConfig({ env: process.env, folder: process.cwd(), engines: registry });

/** The command line as it really is; tests hand a command one of their own. */
export const commandLine: Omit<CommandLine, 'args' | 'signal'> = {
  loadConfig: load,
  openApp: () => openApp(load(), registry),
  openKeys: () => openKeys(load()),
  openVoiceOffice: (engines = []) => openVoiceOffice(load(), engines),
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

/** Rows in columns, two spaces apart. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
