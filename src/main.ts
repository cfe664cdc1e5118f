#!/usr/bin/env node
// The command line: `sonant COMMAND ...`. Finds and runs a command; the folder cli has one file per command. Converts a
// failure to a message on standard error and an exit code: 0 success, 1 failure, 2 wrong usage or configuration, 130
// interrupted, 141 standard output closed.
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { type Command, CommandError, commandLine, enterFolder, helpOf, UsageError } from './app/cli/command.ts';
import { type Reason, toFailure } from './platform/errors.ts';
import { ConfigError } from './platform/runtime/config-mistakes.ts';
import { packageRoot, versionText } from './platform/runtime/installation.ts';
import { didYouMean } from './platform/runtime/nearest-name.ts';
import { reasonOf } from './platform/runtime/system-errors.ts';

/** A command and its imports are loaded only when the command runs. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./app/cli/serve.ts')).serveCommand,
  say: async () => (await import('./app/cli/say.ts')).sayCommand,
  book: async () => (await import('./app/cli/book.ts')).bookCommand,
  check: async () => (await import('./app/cli/check.ts')).checkCommand,
  inspect: async () => (await import('./app/cli/inspect.ts')).inspectCommand,
  voice: async () => (await import('./app/cli/voice.ts')).voiceCommand,
  lexicon: async () => (await import('./app/cli/lexicon.ts')).lexiconCommand,
  key: async () => (await import('./app/cli/key.ts')).keyCommand,
  webhook: async () => (await import('./app/cli/webhook.ts')).webhookCommand,
  provenance: async () => (await import('./app/cli/provenance.ts')).provenanceCommand,
  usage: async () => (await import('./app/cli/usage.ts')).usageCommand,
  'speech-dispatcher': async () => (await import('./app/cli/speech-dispatcher.ts')).speechDispatcherCommand,
  db: async () => (await import('./app/cli/db.ts')).dbCommand,
  doctor: async () => (await import('./app/cli/doctor.ts')).doctorCommand,
  config: async () => (await import('./app/cli/config.ts')).configCommand,
};

const allCommands = () => Promise.all(Object.values(commands).map((load) => load()));

const help = async () => `Sonant turns text into speech.

Usage: sonant COMMAND [options]

${(await allCommands()).map(({ name, summary }) => `  ${name.padEnd(19)}${summary}`).join('\n')}

sonant help COMMAND describes a command; sonant version prints the version.
`;

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
// Writing to standard output fails if the reader, such as `head`, has closed the pipe, or if the disk is full.
let outputFault: NodeJS.ErrnoException | undefined;
process.stdout.on('error', (error) => {
  outputFault = error;
  interrupted.abort();
});

/** Takes the option `--config FILE` of all commands, which names the file with the settings. */
function takeConfig(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const at = args.findIndex((arg, i) => i < end && /^--config(=|$)/.test(arg));
  if (at === -1) return [...args];
  const [own = '', next] = args.slice(at);
  const isJoined = own.includes('=');
  const file = isJoined ? own.slice('--config='.length) : next;
  if (!file) throw new UsageError('--config needs the name of a file');
  process.env.SONANT_CONFIG = resolve(file);
  return args.toSpliced(at, isJoined ? 1 : 2);
}

const { INIT_CWD, npm_lifecycle_event: script } = process.env;
const isRunByNpm = INIT_CWD !== undefined && /^(sonant|start)$/.test(`${script}`) && process.cwd() === packageRoot;
// npm changes to the clone. Files on the command line are in the folder of the user; `npm start` has none.
if (isRunByNpm && script === 'sonant') enterFolder(INIT_CWD);

/** Names commands as the user types them: in a clone there is no program `sonant`. */
function asTyped(text: string): string {
  const isCommand = (word: string) =>
    word === 'COMMAND' || word === 'help' || word === 'version' || Object.hasOwn(commands, word);
  const typed = (whole: string, word: string) => (isCommand(word) ? 'npm run -s sonant -- ' : whole);
  return isRunByNpm ? text.replaceAll(/\bsonant (?=([A-Za-z-]+))/g, typed) : text;
}

async function run([name, ...args]: string[]): Promise<number> {
  if (name === 'help' && args[0] !== undefined) return run([args[0], '--help']);
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(asTyped(await help()));
    return 0;
  }
  if (name === 'version' || name === '--version' || name === '-v') {
    process.stdout.write(`${versionText()}\n`);
    return 0;
  }
  if (!Object.hasOwn(commands, name)) {
    const owners = (await allCommands()).filter(({ actions }) => actions?.includes(name));
    const meant =
      owners.length > 0
        ? `; did you mean ${owners.map((owner) => `sonant ${owner.name} ${name}`).join(' or ')}?`
        : didYouMean(name, [...Object.keys(commands), 'help', 'version']) || ';';
    throw new UsageError(`there is no command ${name}${meant} sonant --help lists the commands`);
  }
  const command = await commands[name]!();
  const flags = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined);
  if (flags.includes('--help') || flags.includes('-h')) {
    process.stdout.write(asTyped(helpOf(command)));
    return 0;
  }
  return command.run({ ...commandLine, asTyped, args, signal: interrupted.signal });
}

/** Whether the error comes from the operating system, such as a full disk. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'errno' in error;

/** Returns the text to print for a cause: the stack for an internal error, and otherwise the error's message. */
function explainCause(reason: Reason, cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  return reason === 'internal_error' ? cause.stack : reasonOf(cause);
}

function explain(error: unknown): number {
  const sonant = styleText('red', 'sonant:', { stream: process.stderr });
  const say = (text: string) => process.stderr.write(`${sonant} ${asTyped(text)}\n`);
  if (outputFault?.code === 'EPIPE' || (error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE') return 141;
  if (outputFault) {
    say(`cannot write to standard output: ${reasonOf(outputFault)}`);
    return 1;
  }
  if (interrupted.signal.aborted) return 130;
  if (isSystemError(error)) {
    say(error.path === undefined ? reasonOf(error) : `cannot use ${error.path}: ${reasonOf(error)}`);
    return 1;
  }
  if (error instanceof CommandError) {
    say(error.message);
    return 1;
  }
  if (error instanceof UsageError || error instanceof ConfigError) {
    say(error.message);
    return 2;
  }
  const { reason, facts, message, cause } = toFailure(error);
  say(message);
  for (const { field, message } of facts.details ?? []) say(`  ${field}: ${message}`);
  if (cause !== undefined) say(`  because: ${explainCause(reason, cause)}`);
  return 1;
}

process.exitCode = await Promise.resolve(process.argv.slice(2)).then(takeConfig).then(run).catch(explain);
// The last write may fail after the command has ended.
process.once('exit', () => {
  if (outputFault && process.exitCode === 0) process.exitCode = explain(outputFault);
});
