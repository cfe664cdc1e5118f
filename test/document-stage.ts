// Runs the code blocks of the documentation as a reader does: with a clone in ~/sonant of a new home folder, and one shell
// for each page, which starts in an empty folder. Only the ports differ from the documentation, because the documented
// ports may be in use.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Block, root } from './document-blocks.ts';
import { freePort } from './free-port.ts';

export interface Stage {
  /** The home folder, which has the clone in `sonant`. */
  home: string;
  /** The text with the addresses of this run. */
  toHere(text: string): string;
  /** Saves a block that has a name, and runs a block that is to be run, in the shell of a page. Throws if it fails. */
  play(block: Block, page?: string): Promise<void>;
  close(): void;
}

/** Programs that run saved blocks. Blocks in other languages are only displayed. */
const programs: Readonly<Record<string, string>> = { python: 'python3', ts: 'node', js: 'node' };
const written = { http: '127.0.0.1:8080', grpc: '127.0.0.1:50051', site: '127.0.0.1:3000' };
const blockMsMax = 60_000;

export async function openStage(): Promise<Stage> {
  const home = mkdtempSync(join(tmpdir(), 'sonant-docs-'));
  const clone = join(home, 'sonant');
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  for (const file of execFileSync('git', list, { cwd: root, encoding: 'utf8' }).split('\0')) {
    if (file === '' || file.startsWith('test/') || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    cpSync(join(root, file), join(clone, file));
  }
  for (const args of [
    ['init', '--quiet'],
    ['add', '.'],
  ])
    execFileSync('git', args, { cwd: clone });
  const here = new Map<string, string>();
  for (const address of Object.values(written)) here.set(address, `127.0.0.1:${await freePort()}`);
  const toHere = (text: string) =>
    [...here].reduce((replaced, [there, address]) => replaced.replaceAll(there, address), text);

  const env: NodeJS.ProcessEnv = {
    ...process.env,
    HOME: home,
    SONANT_HTTP_ADDR: here.get(written.http),
    SONANT_GRPC_ADDR: here.get(written.grpc),
    SONANT_CORS_ORIGINS: `http://${here.get(written.site)}`,
    SONANT_FETCH_VOICE: 'off',
    // Programs are started so often here that their start time matters.
    NODE_COMPILE_CACHE: join(home, '.compiled'),
  };
  const emptyFolder = () => mkdtempSync(join(home, 'empty-'));
  const services: ChildProcess[] = [];
  const shells = new Map<string, ReturnType<typeof openShell>>();
  /** Opens a shell that runs commands and waits for them. It ends when a command fails. */
  const openShell = () => {
    const stdio = ['pipe', 'ignore', 'pipe', 'pipe'] as const;
    const shell = spawn('bash', ['-e'], { cwd: emptyFolder(), env, detached: true, stdio: [...stdio] });
    let said = '';
    shell.stderr!.on('data', (bytes) => (said += bytes));
    const run = (commands: string) =>
      new Promise<void>((resolve, reject) => {
        said = '';
        const script = join(home, '.block.sh');
        writeFileSync(script, commands);
        const timer = setTimeout(() => process.kill(-shell.pid!, 'SIGKILL'), blockMsMax);
        const fail = () => {
          clearTimeout(timer);
          reject(new Error(said || 'the shell has ended'));
        };
        shell.once('close', fail);
        // The script says on descriptor 3 that it has ended.
        shell.stdio[3]!.once('data', () => {
          clearTimeout(timer);
          shell.off('close', fail);
          resolve();
        });
        shell.stdin!.write(`. ~/.block.sh </dev/null 3>&-\necho ended >&3\n`);
      });
    return { run, end: () => shell.stdin!.end() };
  };
  const shellOf = (page: string) => {
    const shell = shells.get(page) ?? openShell();
    shells.set(page, shell);
    return shell;
  };

  /** Runs a service in another shell, until it says that it serves. */
  const serve = async (commands: string) => {
    const service = spawn('bash', ['-e', '-c', commands], { cwd: emptyFolder(), env, detached: true });
    services.push(service);
    await new Promise<void>((resolve, reject) => {
      let said = '';
      service.stderr.on('data', (bytes) => (said += bytes));
      service.stdout.on('data', (bytes) => {
        said += bytes;
        if (said.includes('serves')) resolve();
      });
      service.once('exit', () => reject(new Error(`it ended: ${said}`)));
    });
  };
  let isServing = false;

  return {
    home,
    toHere,
    async play({ place, language, text, name, serves }, page = place) {
      const code = toHere(text);
      if (serves === 'site') return serve(code);
      if (serves !== undefined) {
        if (serves === 'serve' && isServing) return;
        for (const { pid } of services) if (pid) process.kill(-pid, 'SIGTERM');
        await Promise.all(services.splice(0).map((service) => once(service, 'exit')));
        isServing = true;
        return serve(code);
      }
      const saving = name === undefined ? '' : `cat > ${name} <<'END OF BLOCK'\n${code}\nEND OF BLOCK\n`;
      const commands =
        language === 'sh' ? code : saving + (name && programs[language] ? `${programs[language]} ${name}` : '');
      if (commands === '') return;
      await shellOf(page)
        .run(commands)
        .catch((error) => Promise.reject(new Error(`${place} fails: ${error.message}`)));
    },
    close() {
      for (const shell of shells.values()) shell.end();
      for (const { pid } of services) if (pid) process.kill(-pid, 'SIGTERM');
      rmSync(home, { recursive: true, maxRetries: 5 });
    },
  };
}
