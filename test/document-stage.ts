// Runs the code blocks of the documentation in a copy of the checkout, with the service that the first block starts. All
// blocks of a page share one shell, as in the terminal of a reader. Only the ports differ from the documentation, because
// the documented ports may be in use.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Block, root } from './document-blocks.ts';
import { freePort } from './free-port.ts';

export interface Stage {
  folder: string;
  /** The text with the addresses of this run. */
  toHere(text: string): string;
  /** Saves a block that has a name, and runs a block that is to be run, in the shell of a page. Throws if it fails. */
  play(block: Block, page?: string): Promise<void>;
  close(): void;
}

/** Languages that are only displayed. */
const toRead = ['json', 'toml', 'yaml', 'html', 'text', 'console'];
const written = { http: '127.0.0.1:8080', grpc: '127.0.0.1:50051', site: '127.0.0.1:3000' };
const blockMsMax = 60_000;
const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export async function openStage(): Promise<Stage> {
  const outer = mkdtempSync(join(tmpdir(), 'sonant-docs-'));
  const folder = join(outer, 'sonant');
  for (const part of ['package.json', 'src', 'gen', 'proto', 'examples', 'tsconfig.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // The clients of other vendors, which the pages tell the reader to install.
  symlinkSync(join(root, 'tools/node_modules'), join(outer, 'node_modules'));
  const here = new Map<string, string>();
  for (const address of Object.values(written)) here.set(address, `127.0.0.1:${await freePort()}`);
  const toHere = (text: string) =>
    [...here].reduce((replaced, [there, address]) => replaced.replaceAll(there, address), text);

  // Values that the pages assume to be set.
  const secret = 'a secret of a machine';
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    SONANT_HTTP_ADDR: here.get(written.http),
    SONANT_GRPC_ADDR: here.get(written.grpc),
    SONANT_CORS_ORIGINS: `http://${here.get(written.site)}`,
    SONANT_OAUTH_CLIENTS: `ci:${createHash('sha256').update(secret).digest('hex')}`,
    SECRET: secret,
    SONANT_FETCH_VOICE: 'off',
    // Programs are started so often here that their start time matters.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  };
  const services = new Map<string, ChildProcess>();
  const shells = new Map<string, ReturnType<typeof openShell>>();
  /** Opens a shell that runs commands and waits for them. It ends when a command fails. */
  const openShell = () => {
    const shell = spawn('sh', ['-e'], { cwd: folder, env, detached: true, stdio: ['pipe', 'ignore', 'pipe', 'pipe'] });
    let said = '';
    shell.stderr!.on('data', (bytes) => (said += bytes));
    const run = (commands: string) =>
      new Promise<void>((resolve, reject) => {
        said = '';
        const script = join(outer, 'block.sh');
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
        shell.stdin!.write(`. ${quote(script)} </dev/null 3>&-\necho ended >&3\n`);
      });
    return { run, end: () => shell.stdin!.end() };
  };
  const shellOf = (page: string) => {
    const shell = shells.get(page) ?? openShell();
    shells.set(page, shell);
    return shell;
  };

  const begin = async (command: readonly string[]) => {
    if (services.has(command.join(' '))) return;
    // The reader sets the key once the first service has made it.
    const key = services.size > 0 && { SONANT_API_KEY: readFileSync(join(folder, 'data/first-key'), 'utf8').trim() };
    const service = spawn(command[0]!, command.slice(1), { cwd: folder, env: { ...env, ...key }, detached: true });
    services.set(command.join(' '), service);
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

  return {
    folder,
    toHere,
    async play({ place, language, text, name, serves }, page = place) {
      const code = toHere(text);
      const file = name ?? `${place.replaceAll(/\W+/g, '-')}.${language}`;
      if (name !== undefined || language === 'ts') writeFileSync(join(folder, file), code);
      if (toRead.includes(language)) return;
      // Packages that `npm ci` would install are linked.
      const command = {
        sh: ['sh', '-e', '-c', code.replace(/^npm ci(?: && |$)/m, '')],
        python: ['python3', ...(name ? [name] : ['-c', code])],
        ts: [process.execPath, file],
        js: [process.execPath, ...(name ? [name] : ['--input-type=module', '-e', code])],
      }[language];
      if (!command) throw new Error(`${place}: ${language} cannot be run`);
      if (serves) return begin(command);
      const commands = language === 'sh' ? command.at(-1)! : command.map(quote).join(' ');
      await shellOf(page)
        .run(commands)
        .catch((error) => Promise.reject(new Error(`${place} fails: ${error.message}`)));
    },
    close() {
      for (const shell of shells.values()) shell.end();
      for (const { pid } of services.values()) if (pid) process.kill(-pid, 'SIGTERM');
      rmSync(outer, { recursive: true, maxRetries: 5 });
    },
  };
}
