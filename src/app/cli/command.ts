// The interface of a command, and its option table for argument parsing and help texts. Also contains
// the errors that end a command, table output, and functions that open parts of the service.
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { setImmediate } from 'node:timers/promises';
import { parseArgs, styleText } from 'node:util';
import { type EngineDefinition, registry } from '../../engines.ts';
import { Failure } from '../../platform/errors.ts';
import { didYouMean, nearestName, questionOf } from '../../platform/runtime/nearest-name.ts';
import { reasonOf } from '../../platform/runtime/system-errors.ts';
import { createLog } from '../../platform/telemetry/log.ts';
import type { App, Keys, OpenedInspection, OpenedUsage, OpenedVoiceManagement } from '../command-line.ts';
import { type Config, loadConfig } from '../config.ts';
import type { Service } from '../service.ts';

export interface CommandLine {
  args: string[];
  /** Aborts when the user interrupts the command. */
  signal: AbortSignal;
  loadConfig(): Config;
  openApp(): Promise<App>;
  openKeys(): Promise<Keys>;
  /** Opens the voice manager. Cloning needs `engines`; without engines, a broken engine cannot cause an error. */
  openVoiceManagement(engines?: readonly EngineDefinition[]): Promise<OpenedVoiceManagement>;
  openUsage(): Promise<OpenedUsage>;
  openInspection(): Promise<OpenedInspection>;
  openService(options: { isSinglePort: boolean }): Promise<Service>;
  print(text: string): void;
  /** Names the commands in a text as the user types them. */
  asTyped(text: string): string;
  /** Asks the user a question; absent if there is no terminal. */
  ask?(question: string, signal: AbortSignal): Promise<string>;
}

/** An option, with the fields for `parseArgs` and the fields for help text. */
interface Option {
  type: 'string' | 'boolean';
  /** Placeholder of the value in the help text. */
  value?: string;
  help: string;
  short?: string;
  multiple?: boolean;
}

export interface Command {
  name: string;
  summary: string;
  options: Readonly<Record<string, Option>>;
  /** Subcommands, such as `create` and `list`. */
  actions?: readonly string[];
  examples: readonly string[];
  /** Returns the usage lines and the description. In the help text, the options follow. */
  usage(): string;
  /** Returns the exit code. */
  run(line: CommandLine): Promise<number>;
}

/** An option with a value. */
export const option = <const More extends Pick<Option, 'short' | 'multiple'> = object>(
  value: string,
  help: string,
  more?: More,
) => ({ type: 'string', value, help, ...more }) as { type: 'string'; value: string; help: string } & More;

/** An option without a value. */
export const flag = (help: string, short?: string) => ({ type: 'boolean' as const, help, ...(short && { short }) });

export const jsonFlag = flag('print JSON, for programs');

export function helpOf({ usage, options, examples }: Command): string {
  const indent = Object.values(options).some(({ short }) => short) ? '    ' : '';
  const names = Object.entries(options).map(
    ([name, { short, value }]) => `${short ? `-${short}, ` : indent}--${name}${value ? ` ${value}` : ''}`,
  );
  const width = Math.max(...names.map(({ length }) => length));
  const lines = Object.values(options).map(
    ({ help }, n) => `  ${names[n]!.padEnd(width)}  ${help.replaceAll('\n', `\n${' '.repeat(width + 4)}`)}\n`,
  );
  const shown = `\nExamples:\n${examples.map((example) => `  ${example}\n`).join('')}`;
  return [usage(), ...(lines.length > 0 ? ['\n\n', ...lines] : ['\n']), shown].join('');
}

/** The command was called wrongly. The message states the correct usage. */
export class UsageError extends Error {}

/** The command failed. The message states the reason. */
export class CommandError extends Error {}

/** The folder of `.env`, `sonant.toml` and the data, if it is not the current folder. */
let settingsFolder: string | undefined;

/** Makes `folder` the current folder. The settings stay those of the former one. */
export function enterFolder(folder: string): void {
  settingsFolder = process.cwd();
  process.chdir(folder);
}

const load = () => loadConfig({ env: process.env, folder: settingsFolder ?? process.cwd(), engines: registry });

/**
 * Loads the parts of the service only when a command opens them, because most commands need few parts and `--help`
 * needs none.
 */
const loadParts = () => import('../command-line.ts');

/** Loads the settings. Fails without a database, because the command would otherwise create one and report success. */
async function loadUsed(): Promise<Config> {
  const config = load();
  const { isStoreThere } = await import('../../platform/store/open-store.ts');
  if (isStoreThere(config)) return config;
  throw new UsageError(
    `there is no database in the data folder; SONANT_DATA_DIR is ${config.dataDir}. Set it to the folder of your service, or run the command where you start the service. The first start creates the database and a key; sonant db migrate creates only the database`,
  );
}

/** Opens an engine that starts a program, so that the program and the service start at the same time. */
function openEarly(definition: EngineDefinition, { engines, dataDir }: Config): EngineDefinition {
  if (!definition.startsProgram) return definition;
  const engine = definition.open(engines[definition.name]!, dataDir);
  // The service reports the error when it opens its engines.
  engine.catch(() => {});
  return { ...definition, open: () => engine };
}

/** The command line of the program. Tests pass their own command line to a command. */
export const commandLine: Omit<CommandLine, 'args' | 'signal'> = {
  loadConfig: load,
  openApp: async () => (await loadParts()).openApp(load(), registry),
  openKeys: async () => (await loadParts()).openKeys(await loadUsed()),
  openVoiceManagement: async (engines = []) => (await loadParts()).openVoiceManagement(load(), engines),
  openUsage: async () => (await loadParts()).openUsage(await loadUsed()),
  openInspection: async () => (await loadParts()).openInspection(load()),
  openService: async ({ isSinglePort }) => {
    const config = load();
    const definitions = registry.map((definition) => openEarly(definition, config));
    // The programs start before the import blocks the thread.
    await setImmediate();
    const { openService } = await import('../service.ts');
    return openService({ config, definitions, log: createLog(config.logLevel), isSinglePort });
  },
  print: (text) => void process.stdout.write(`${text}\n`),
  asTyped: (text) => text,
  ...(process.stdin.isTTY && process.stderr.isTTY && { ask }),
};

/** Returns an empty answer if the user closes the input. */
async function ask(question: string, signal: AbortSignal): Promise<string> {
  using lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
  return await Promise.race([lines.question(question, { signal }), ended]);
}

/** Explains a `parseArgs` error, whose message first quotes the faulty option or argument. */
function explainArgs({ message }: Error, known: readonly string[]): string {
  const [quoted = '', given = ''] = /'([^']*)'/.exec(message) ?? [];
  const name = given.replace(/^.*(?=--)/, '').replace(/ <value>$/, '');
  if (message.startsWith('Unknown option')) {
    const meant = given.startsWith('--') ? nearestOption(given.slice(2), known) : undefined;
    return `there is no option ${given}; ${meant ? `did you mean --${meant}?` : '--help lists the options'}`;
  }
  if (message.includes('argument missing')) return `${name} needs a value`;
  if (message.includes('ambiguous')) return `${name} needs a value; write one that begins with a dash as ${name}=VALUE`;
  if (message.includes('does not take an argument')) return `${name} does not take a value`;
  return message.startsWith('Unexpected argument') ? `unexpected argument ${quoted}` : message;
}

/** Compares option names as field names, so that field names of other services are recognised too. */
function nearestOption(given: string, known: readonly string[]): string | undefined {
  const toField = (option: string) => option.replaceAll('-', '_');
  const begun = given.length > 1 ? known.filter((option) => option.startsWith(given)) : [];
  return begun.length === 1 ? begun[0] : nearestName(toField(given), known.map(toField))?.replaceAll('_', '-');
}

/** Like `parseArgs`, but throws a UsageError. */
export const parseCommandArgs: typeof parseArgs = (config) => {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError(explainArgs(error as Error, Object.keys(config?.options ?? {})));
  }
};

export type FlagsOf<Options extends Command['options']> = ReturnType<typeof parseArgs<{ options: Options }>>['values'];

/** Returns the action that the first argument names, and the remaining arguments. */
export function findAction<A>(
  actions: Readonly<Record<string, A>>,
  [name = '', ...rest]: readonly string[],
  usage: string,
): [action: A, rest: readonly string[]] {
  if (!Object.hasOwn(actions, name)) throw new UsageError(`usage: ${usage}${didYouMean(name, Object.keys(actions))}`);
  return [actions[name]!, rest];
}

export function onlyArgument([argument, ...more]: readonly string[], usage: string): string {
  if (argument === undefined || more.length > 0) throw new UsageError(`usage: ${usage}`);
  return argument;
}

/** Reads a file that an argument names. */
export const readInput = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: Error) => {
    throw new UsageError(`cannot read ${path}: ${reasonOf(error)}`);
  });

/** Runs `work`. Invalid fields of a request are reported under the names of their flags. */
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

/** Like `withFlagNames`, but for a request for speech. */
export const withSpeechFlags = <Result>(
  flagOf: (field: string) => string,
  work: () => Promise<Result>,
): Promise<Result> =>
  withFlagNames(flagOf, work).catch((error) => {
    if (!(error instanceof Failure) || error.reason !== 'voice_not_found') throw error;
    throw new UsageError(`voice not found;${questionOf(error.facts.meant)} sonant voice list prints all voices`);
  });

/** Runs `work` with an opened resource and closes the resource afterwards. */
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

/** Colours a state if the terminal supports colours. */
function paintState(cell: string): string {
  const colour = (stateColours as Record<string, 'green' | 'red' | 'gray'>)[cell.trim()];
  return colour ? styleText(colour, cell, { stream: process.stdout }) : cell;
}

export const cutText = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, Math.max(0, charsMax - 1)).trimEnd()}…`;

/** Aligns rows in columns and colours the states in `stateColumn`. Cuts the last column to `charsMax` characters. */
export function formatTable(
  rows: readonly (readonly string[])[],
  { stateColumn, charsMax = Infinity }: { stateColumn?: number; charsMax?: number } = {},
): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? [];
  const restChars = widths.slice(0, -1).reduce((left, width) => left - width - 2, charsMax);
  widths.push(Math.min(widths.pop() ?? 0, restChars));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cutText(cell, widths[column]!).padEnd(widths[column]!))
        .map((cell, column) => (column === stateColumn ? paintState(cell) : cell))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
