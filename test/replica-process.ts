// Starts a replica as in production: `sonant serve` in its own process with its own data folder, on ports that stay the
// same across restarts.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { main } from './app/cli/sonant-program.ts';
import { freePort } from './free-port.ts';

export interface ReplicaProcess {
  httpPort: number;
  grpcPort: number;
  /** Port for health and metrics. */
  adminPort: number;
  /** Id of the latest process. */
  pid(): number;
  /** All standard error output of the replica since it was created. */
  said(): string;
  isUp(): boolean;
  /** Starts the replica. Resolves when it serves. */
  start(more?: Readonly<Record<string, string>>): Promise<void>;
  /** Sends the signal. Resolves when the replica has exited, with its exit code, or null if the signal killed it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/**
 * `settings` are shared with other replicas. `program` is called at each start and may return another version's
 * program. Does not start the replica.
 */
export async function createReplica(
  folder: string,
  settings: Readonly<Record<string, string>>,
  program = () => main,
): Promise<ReplicaProcess> {
  const [httpPort, grpcPort, adminPort] = [await freePort(), await freePort(), await freePort()];
  mkdirSync(folder, { recursive: true });
  let child: ChildProcess | undefined;
  let said = '';
  let isEnding = false;
  const isUp = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    httpPort,
    grpcPort,
    adminPort,
    pid: () => child!.pid!,
    said: () => said,
    isUp,
    async start(more = {}) {
      const env = {
        PATH: process.env.PATH,
        ...{ SONANT_HTTP_ADDR: `127.0.0.1:${httpPort}`, SONANT_GRPC_ADDR: `127.0.0.1:${grpcPort}` },
        SONANT_ADMIN_ADDR: `127.0.0.1:${adminPort}`,
        // Earlier releases do not know this setting.
        ...(program() === main && { SONANT_FETCH_VOICE: 'off' }),
        ...{ SONANT_DATA_DIR: folder, SONANT_BEHIND_PROXY: '1', SONANT_LOG_LEVEL: 'warn' },
        ...settings,
        ...more,
      };
      const started = spawn(process.execPath, [program(), 'serve'], {
        cwd: folder,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      child = started;
      started.once('exit', (code, signal) => {
        if (!isEnding) said += `\nthe process ended by itself, with ${code ?? signal}\n`;
      });
      isEnding = false;
      started.stderr.setEncoding('utf8').on('data', (text) => {
        said += text;
      });
      await new Promise<void>((resolve, reject) => {
        started.stdout.setEncoding('utf8').on('data', (text: string) => {
          if (text.includes('Sonant serves')) resolve();
        });
        started.once('exit', (code) => reject(new Error(`a replica ended with ${code}: ${said}`)));
      });
    },
    async end(signal) {
      if (!isUp()) return child?.exitCode ?? null;
      const ended = once(child!, 'exit');
      isEnding = true;
      child!.kill(signal);
      return (await ended)[0] as number | null;
    },
  };
}
