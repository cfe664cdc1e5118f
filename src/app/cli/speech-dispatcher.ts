// `sonant speech-dispatcher`: makes Sonant's voices available to the desktop. `install` writes one program into the
// user's module folder, where Speech Dispatcher finds it and starts it as `sonant speech-dispatcher module`.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type Command, CommandError, parseCommandArgs, UsageError, withOpened } from './command.ts';

const mark = '# Written by sonant speech-dispatcher install.';

export const speechDispatcherCommand: Command = {
  name: 'speech-dispatcher',
  summary: 'speak for screen readers and spd-say',
  options: {},
  actions: ['install', 'uninstall', 'module'],
  examples: ['sonant speech-dispatcher install', 'spd-say -o sonant "Hello."'],
  usage: () => `Usage: sonant speech-dispatcher install | uninstall

install makes the voices available to Speech Dispatcher for this user: spd-say -o sonant "Hello." It writes the file
${modulePath()}
and nothing else. uninstall removes it. Speech Dispatcher starts this file, which runs "speech-dispatcher module".`,
  async run({ args, loadConfig, openApp, print }) {
    const { positionals } = parseCommandArgs({ args, options: {}, allowPositionals: true });
    const path = modulePath();
    const isOurs = existsSync(path) && readFileSync(path, 'utf8').includes(mark);
    if (existsSync(path) && !isOurs && /^(un)?install$/.test(positionals[0] ?? ''))
      throw new CommandError(`${path} is not Sonant's; move it away first`);
    switch (positionals[0]) {
      case 'install':
        await mkdir(dirname(path), { recursive: true });
        // Speech Dispatcher reaches the modules through this folder, so it must exist.
        await mkdir(dataHome(), { recursive: true });
        await writeFile(path, toProgram(loadConfig().dataDir), { mode: 0o755 });
        print(`wrote ${path}\nEnd a running speech-dispatcher, which looks for modules when it starts; then try:`);
        print(`  spd-say -o sonant "Hello."${explainModules()}`);
        return 0;
      case 'uninstall':
        await rm(path, { force: true });
        print(isOurs ? `removed ${path}` : 'nothing was installed');
        return 0;
      case 'module': {
        const { serveSpeechDispatcher } = await import('./speech-dispatcher-module.ts');
        const write = (data: string | Uint8Array) => void process.stdout.write(data);
        await withOpened(await openApp(), (app) => serveSpeechDispatcher(app, process.stdin, write));
        return 0;
      }
      default:
        throw new UsageError('name an action: sonant speech-dispatcher install or uninstall');
    }
  },
};

const dataHome = (): string => process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share');

/** Speech Dispatcher looks for the modules of a user beside the user's data folder. */
function modulePath(): string {
  return resolve(dataHome(), '..', 'libexec', 'speech-dispatcher-modules', 'sd_sonant');
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The program changes to the current folder, because Speech Dispatcher starts modules in its own folder. */
function toProgram(dataDir: string): string {
  const program = [process.execPath, resolve(process.argv[1]!)].map(quote).join(' ');
  const place = `cd ${quote(process.cwd())} && SONANT_DATA_DIR=${quote(dataDir)}`;
  return `#!/bin/sh\n${mark}\n${place} exec ${program} speech-dispatcher module\n`;
}

/** Explains that a configuration that lists modules must also list this module. */
function explainModules(): string {
  const { XDG_CONFIG_HOME: folder = join(homedir(), '.config') } = process.env;
  const files = [join(folder, 'speech-dispatcher', 'speechd.conf'), '/etc/speech-dispatcher/speechd.conf'];
  const file = files.find((each) => existsSync(each));
  if (!file || !/^\s*AddModule/m.test(readFileSync(file, 'utf8'))) return '';
  return `\n${file} lists its modules. Add this line to it:\n  AddModule "sonant" "sd_sonant" ""`;
}
