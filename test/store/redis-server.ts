// Starts a real Redis or Valkey for tests: the server of TEST_REDIS_URL, or else a program in PATH, on a socket in a
// new folder, without persistence. It exits with the process that opened it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from '../programs.ts';

export interface RedisServer {
  url: string;
  close(): Promise<void>;
}

/** A server that tests may disturb. */
export interface OwnRedisServer extends RedisServer {
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Starts the server again, without data. */
  start(): Promise<void>;
}

const program = (['valkey-server', 'redis-server'] as const).find(isInstalled);
export const hasOwnRedis = program !== undefined;
export const hasRedis = hasOwnRedis || process.env.TEST_REDIS_URL !== undefined;

export async function openRedisServer(): Promise<RedisServer> {
  const url = process.env.TEST_REDIS_URL;
  return url === undefined ? openOwnRedisServer() : { url, close: async () => {} };
}

export async function openOwnRedisServer(args: readonly string[] = []): Promise<OwnRedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-redis-'));
  const path = join(folder, 'redis.sock');
  const all = ['--unixsocket', path, '--save', '', '--appendonly', 'no', '--dir', folder, '--logfile', 'log'];
  const options = [...all, ...(args.includes('--port') ? [] : ['--port', '0']), ...args];
  let child: ChildProcess;
  const end = () => child.kill('SIGKILL');
  const server: OwnRedisServer = {
    url: `unix://${path}`,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    async kill() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async start() {
      child = spawn(program!, options, { stdio: 'ignore' });
      await answering(path);
    },
    async close() {
      process.off('exit', end);
      if (child.exitCode === null && child.signalCode === null) await server.kill();
      rmSync(folder, { recursive: true });
    },
  };
  await server.start();
  process.on('exit', end);
  return server;
}

/** One node in cluster mode, which refuses commands that span slots. */
export async function openRedisCluster(): Promise<OwnRedisServer> {
  const [port, busPort] = [await freePort(), await freePort()];
  const server = await openOwnRedisServer([
    ...['--port', String(port), '--bind', '127.0.0.1', '--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
  ]);
  const path = server.url.slice('unix://'.length);
  await say(path, 'CLUSTER ADDSLOTSRANGE 0 16383');
  await answering(path, 'SET any 1', '+OK');
  return server;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function answering(path: string, line = 'PING', answer = '+PONG'): Promise<void> {
  while (!(await say(path, line).catch(() => '')).startsWith(answer))
    await new Promise((resolve) => setTimeout(resolve, 5));
}

async function say(path: string, line: string): Promise<string> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    socket.write(`${line}\r\n`);
    const [bytes] = await once(socket, 'data');
    return String(bytes);
  } finally {
    socket.destroy();
  }
}
