// Starts the real service in its own process, as `npm start` does, with a data folder in /tmp and only the embedded
// engine; it can be killed and restarted on the same data. Also measures its CPU time and memory.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Prefix of public URLs, wherever the service is. */
export const baseUrl = 'http://sonant.test';

export interface Service {
  pid: number;
  key: string;
  dataDir: string;
  url: string;
  httpPort: number;
  grpcPort: number;
  /** All standard error output of the service. */
  said(): string;
  isUp(): boolean;
  /** A request with the key; a body is sent as JSON. */
  ask(path: string, init?: Omit<RequestInit, 'body'> & { body?: unknown }): Promise<Response>;
  /** Requests speech over REST with these fields. */
  speak(fields: object, init?: Omit<RequestInit, 'body'>): Promise<Response>;
  /** Kills the service at once. */
  kill(): Promise<void>;
  /** Stops the service gracefully. */
  stop(): Promise<void>;
  /** Stops the service gracefully, and deletes its folder. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  settings?: Readonly<Record<string, string>>;
  /** Starts on the data of another service. */
  left?: Pick<Service, 'dataDir' | 'key'>;
  /** A folder that does not exist yet, to use instead of a temporary folder. */
  dataDir?: string;
  args?: readonly string[];
  /** The program of another version. */
  main?: string;
}

const main = join(import.meta.dirname, '../../src/sonant.js');

export async function openService({
  settings = {},
  left,
  args = [],
  main: program = main,
  ...options
}: ServiceOptions = {}): Promise<Service> {
  const dataDir = left?.dataDir ?? options.dataDir ?? mkdtempSync(join(tmpdir(), 'sonant-soak-'));
  if (options.dataDir) mkdirSync(options.dataDir);
  const key = left?.key ?? makeKey(dataDir, [], program);
  const child = spawn(process.execPath, [program, 'serve', ...args], {
    cwd: dataDir,
    env: {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(PATH|MALLOC_)/.test(name))),
      SONANT_DATA_DIR: dataDir,
      SONANT_HTTP_ADDR: '127.0.0.1:0',
      SONANT_GRPC_ADDR: '127.0.0.1:0',
      SONANT_BASE_URL: baseUrl,
      SONANT_ESPEAK_LIBRARY: '',
      SONANT_LOG_LEVEL: 'warn',
      // Earlier releases do not know this setting.
      ...(program === main && { SONANT_FETCH_VOICE: 'off' }),
      SONANT_BAD_KEYS_PER_MINUTE: '1000000',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const [httpPort, grpcPort] = await portsOf(child, () => said);
  const url = `http://127.0.0.1:${httpPort}`;
  const ask: Service['ask'] = (path, { body, headers, ...init } = {}) =>
    fetch(path.startsWith('/') ? url + path : path.replace(baseUrl, url), {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      ...init,
      headers: { 'X-API-Key': key, ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    });
  const isUp = () => child.exitCode === null && child.signalCode === null;
  const end = async (signal: NodeJS.Signals) => {
    if (isUp() && child.kill(signal)) await once(child, 'exit');
  };
  return {
    pid: child.pid!,
    ...{ key, dataDir, url, httpPort, grpcPort, ask, isUp },
    said: () => said,
    speak: (fields, init) => ask('/api/audio/speech', { body: { voice_id: 'arthur', ...fields }, ...init }),
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async close() {
      await end('SIGTERM');
      rmSync(dataDir, { recursive: true });
    },
  };
}

/** A key without limits that a soak could reach. */
export function makeKey(dataDir: string, more: readonly string[] = [], program = main): string {
  const limits = ['--requests-per-minute', '1000000', '--concurrency', '10000', ...more];
  const env = { PATH: process.env.PATH, SONANT_DATA_DIR: dataDir };
  execFileSync(process.execPath, [program, 'db', 'migrate'], { cwd: dataDir, env });
  const made = execFileSync(process.execPath, [program, 'key', 'create', '--json', ...limits], { cwd: dataDir, env });
  return JSON.parse(made.toString()).key;
}

/** Resolves with the ports when the service reports that it serves. */
function portsOf(child: ChildProcess, said: () => string): Promise<[number, number]> {
  return new Promise((resolve, reject) => {
    let greeting = '';
    child.stdout!.setEncoding('utf8').on('data', (text) => {
      greeting += text;
      const [, http, grpc] = /serves HTTP on \S+:(\d+) and gRPC on \S+:(\d+)\./.exec(greeting) ?? [];
      if (grpc) resolve([Number(http), Number(grpc)]);
    });
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${said()}`)));
  });
}

/** proc(5) counts pages and ticks; these sizes are the same on all Linux systems, except pages on some ARM systems. */
const pageBytes = 4096;
const tickMs = 10;

export const rssOf = ({ pid }: Pick<Service, 'pid'>): number =>
  Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * pageBytes;

/** CPU time of all the service's threads so far, including finished threads. */
export function cpuMsOf({ pid }: Pick<Service, 'pid'>): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** CPU time of the engine's living threads so far. An idle thread uses almost none. */
export function engineMsOf({ pid }: Service): number {
  const folder = `/proc/${pid}/task`;
  const read = (id: string, file: string) => readFileSync(join(folder, id, file), 'latin1').trim();
  return readdirSync(folder)
    .filter((id) => read(id, 'comm') === 'WorkerThread')
    .reduce((sum, id) => sum + Number(read(id, 'schedstat').split(' ')[0]) / 1e6, 0);
}

/** Less CPU time than any segment takes to speak. */
export const engineMsMin = 10;

/** Watches the memory; the returned function returns its maximum. */
export function watchRss(service: Service): () => number {
  let most = rssOf(service);
  const timer = setInterval(() => {
    if (service.isUp()) most = Math.max(most, rssOf(service));
  }, 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

/** Unread bytes that the kernel holds for the connections of a port. */
export function bytesUnread(port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let sum = 0;
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1)) {
    const [, from, to, , queues = ''] = line.trim().split(/\s+/);
    const [sent, received] = queues.split(':').map((count) => Number.parseInt(count, 16));
    if (from?.endsWith(end)) sum += sent!;
    else if (to?.endsWith(end)) sum += received!;
  }
  return sum;
}

/** Waits until a value stays unchanged for `stillMs`. Returns it, or undefined if it never does. */
export async function settled<T>(read: () => T, stillMs: number, atMostMs: number): Promise<T | undefined> {
  let last = read();
  let since = performance.now();
  for (const start = since; performance.now() - start < atMostMs; ) {
    await sleep(100);
    const now = read();
    if (now !== last) since = performance.now();
    last = now;
    if (performance.now() - since >= stillMs) return last;
  }
  return undefined;
}

export const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

export function medianAndWorst(figures: readonly number[]): { median: number; worst: number } {
  const sorted = figures.toSorted((a, b) => a - b);
  return { median: sorted[sorted.length >> 1] ?? Number.NaN, worst: sorted.at(-1) ?? Number.NaN };
}
