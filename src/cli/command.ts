// The interface of a command, and what commands share: parsing of arguments, tables, exit errors.
import { createInterface } from 'node:readline/promises';
import { type ParseArgsOptionsConfig, parseArgs, styleText } from 'node:util';
import type { Service } from '../app/app.ts';
import type { App, Keys, OpenedUsage, OpenedVoiceManagement } from '../app/command-line.ts';
import { type Config, loadConfig } from '../app/config.ts';
import type { EngineDefinition } from '../engines/engine.ts';
import { registry } from '../engines/registry.ts';
import { Failure } from '../errors.ts';
import { didYouMean, nearestName, questionOf } from '../runtime/nearest-name.ts';
import { createLog } from '../telemetry/log.ts';

export interface CommandLine {
  args: string[];
  /** Aborted when the user interrupts. */
  signal: AbortSignal;
  loadConfig(): Config;
  openApp(): Promise<App>;
  openKeys(): Promise<Keys>;
  /** Without engines, everything but cloning works, even if an engine is broken. */
  openVoiceManagement(engines?: readonly EngineDefinition[]): Promise<OpenedVoiceManagement>;
  openUsage(): Promise<OpenedUsage>;
  openService(options: { isSinglePort: boolean }): Promise<Service>;
  print(text: string): void;
  /** Asks the person at the terminal; absent where there is none. */
  ask?(question: string, signal: AbortSignal): Promise<string>;
}

export interface Command {
  name: string;
  summary: string;
  /** Its flags, in the form of parseArgs. */
  options: ParseArgsOptionsConfig;
  /** Its subcommands, such as `create` and `list`. */
  actions?: readonly string[];
  /** The allowed values of a flag, if they are a list. */
  choices?: Readonly<Record<string, readonly string[]>>;
  help(): string;
  /** Returns the exit code. */
  run(line: CommandLine): Promise<number>;
}

/** Wrong usage; the message says how to call the command. */
export class UsageError extends Error {}

/** The command failed; the message says why. */
export class CommandError extends Error {}

const load = () => loadConfig({ env: process.env, folder: process.cwd(), engines: registry });

/** The parts of the service are loaded when a command opens them: most commands need few, and `--help` needs none. */
const loadParts = () => import('../app/command-line.ts');

/** The real command line; tests pass their own to a command. */
export const commandLine: Omit<CommandLine, 'args' | 'signal'> = {
  loadConfig: load,
  openApp: async () => (await loadParts()).openApp(load(), registry),
  openKeys: async () => (await loadParts()).openKeys(load()),
  openVoiceManagement: async (engines = []) => (await loadParts()).openVoiceManagement(load(), engines),
  openUsage: async () => (await loadParts()).openUsage(load()),
  openService: async ({ isSinglePort }) => {
    const config = load();
    const { openService } = await import('../app/app.ts');
    return openService({ config, definitions: registry, log: createLog(config.logLevel), isSinglePort });
  },
  print: (text) => void process.stdout.write(`${text}\n`),
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
};

/** Empty where the person ends the input. */
async function ask(question: string, signal: AbortSignal): Promise<string> {
  using lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  return await Promise.race([lines.question(question, { signal }), ended]);
}

/** `parseArgs` that throws a UsageError. */
export const parseCommandArgs: typeof parseArgs = (config) => {
  try {
    return parseArgs(config);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, given] = (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && /'--([^']+)'/.exec(message)) || [];
    const meant = given && nearestName(given, Object.keys(config?.options ?? {}));
    throw new UsageError(meant ? `there is no option --${given}; did you mean --${meant}?` : message);
  }
};

/** What is given for the flags of a command. */
export type FlagsOf<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options }>
>['values'];

/** The action that the first argument names, and the arguments after it. */
export function findAction<A>(
  actions: Readonly<Record<string, A>>,
  [name = '', ...rest]: readonly string[],
  usage: string,
): [action: A, rest: readonly string[]] {
  if (!Object.hasOwn(actions, name))
    throw new UsageError(`the command is ${usage}${didYouMean(name, Object.keys(actions))}`);
  return [actions[name]!, rest];
}

/** The only argument of an action. */
export function onlyArgument([argument, ...more]: readonly string[], usage: string): string {
  if (argument === undefined || more.length > 0) throw new UsageError(`the command is ${usage}`);
  return argument;
}

/** Runs `work`; invalid fields of a request are reported under the names of the flags that they were made from. */
export async function withFlagNames<Result>(
  flagOf: (field: string) => string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const details = error instanceof Failure && error.reason === 'invalid_request' ? error.facts.details : undefined;
    if (!details) throw error;
    throw new UsageError(details.map(({ field, message }) => `${flagOf(field)}: ${message}`).join('\n  '));
  }
}

/** The same for a request for speech. */
export const withSpeechFlags = <Result>(
  flagOf: (field: string) => string,
  work: () => Promise<Result>,
): Promise<Result> =>
  withFlagNames(flagOf, work).catch((error) => {
    if (!(error instanceof Failure) || error.reason !== 'voice_not_found') throw error;
    throw new UsageError(`there is no such voice;${questionOf(error.facts.meant)} sonant voice list prints all voices`);
  });

/** Runs `work` with what was opened, and closes it afterwards. */
export async function withOpened<T extends { close(): Promise<void> }, Result>(
  opened: T,
  work: (opened: T) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

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

/** Colours a state, on a terminal that supports colours. */
function paintState(cell: string): string {
  const colour = (stateColours as Record<string, 'green' | 'red' | 'gray'>)[cell.trim()];
  return colour ? styleText(colour, cell, { stream: process.stdout }) : cell;
}

/** Aligns rows in columns, two spaces apart; the states in `stateColumn` are coloured. */
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
