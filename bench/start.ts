// Measures the time from the launch of the service to the first `/readyz` with status 200: with nothing compiled, as
// after `npm ci --ignore-scripts`; at the first start after `npm ci`, with a new data folder; or at later starts.
// Starts with npm and with node alone. Also measures the memory of the idle service. The baselines are an empty Node
// program and a Fastify with one route.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './measuring/bench.ts';
import { freePort } from './measuring/free-port.ts';
import { childrenOf } from './measuring/machine.ts';
import { median } from './measuring/rounds.ts';

const rounds = 5;
const pollEveryMs = 5;
/** Longer than the service needs to release the memory that only startup needed. */
const settleMs = 5000;
const goalsMax = { firstMs: 1000, warmMs: 500, residentMiB: 120 };
const root = join(import.meta.dirname, '..');

const starts = {
  'npm start': ['npm', 'start'],
  'node src/sonant.js serve': [process.execPath, 'src/sonant.js', 'serve'],
} as const satisfies Record<string, readonly [string, ...string[]]>;

export const bench: Bench = {
  about: 'time from the start until /readyz returns 200, and resident memory when idle',
  async run() {
    const names = Object.keys(starts) as (keyof typeof starts)[];
    const found = new Map<string, Start[]>(names.map((name) => [name, []]));
    const bare: number[] = [];
    const fastify: number[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const name of round % 2 === 0 ? names : names.toReversed()) found.get(name)!.push(await measureStart(name));
      bare.push(await measureBareNode());
      fastify.push(await measureFastify());
    }
    const rows = [...found].map(([name, all]) => {
      const of = (key: keyof Start) => median(all.map((each) => each[key]));
      return [name, of('uncompiledMs'), of('firstMs'), of('warmMs'), of('residentMiB')] as const;
    });
    const [, , firstMs, warmMs, residentMiB] = rows[1]!;
    return {
      tables: [
        {
          title: `Median of ${rounds}`,
          columns: [
            { name: 'start' },
            { name: 'nothing compiled ms' },
            { name: 'first ms' },
            { name: 'warm ms' },
            { name: 'idle resident MiB', digits: 1 },
          ],
          rows: [
            ...rows,
            ['Fastify with one route', undefined, undefined, median(fastify)],
            ['a Node that does nothing', undefined, undefined, median(bare)],
          ],
        },
      ],
      goals: [
        { name: 'first ms', figure: firstMs, digits: 0, max: goalsMax.firstMs },
        { name: 'warm ms', figure: warmMs, digits: 0, max: goalsMax.warmMs },
        { name: 'idle resident MiB', figure: residentMiB, digits: 1, max: goalsMax.residentMiB },
      ],
    };
  },
};

interface Start {
  uncompiledMs: number;
  firstMs: number;
  warmMs: number;
  residentMiB: number;
}

async function measureStart(name: keyof typeof starts): Promise<Start> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sonant-bench-start-'));
  const uncompiled = await startOnce(name, { data: join(dataDir, 'data'), compiled: join(dataDir, 'none') });
  const compiled = join(dataDir, 'compiled');
  await precompile(compiled);
  const first = await startOnce(name, { data: join(dataDir, 'first'), compiled });
  const again = await startOnce(name, { data: join(dataDir, 'first'), compiled, idleMs: settleMs });
  await rm(dataDir, { recursive: true });
  const { readyMs: warmMs, residentMiB } = again;
  return { uncompiledMs: uncompiled.readyMs, firstMs: first.readyMs, warmMs, residentMiB };
}

/** Fills a compile cache with src/precompile.js, which npm also runs as the postinstall script. */
async function precompile(compiled: string): Promise<void> {
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  const [code] = await once(
    spawn(process.execPath, ['src/precompile.js'], { cwd: root, env, stdio: 'ignore' }),
    'exit',
  );
  if (code !== 0) throw new Error(`src/precompile.js ended with ${code}`);
}

interface Place {
  data: string;
  compiled: string;
  idleMs?: number;
}

async function startOnce(name: keyof typeof starts, { data, compiled, idleMs = 0 }: Place) {
  const [httpPort, grpcPort] = [await freePort(), await freePort()];
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: compiled,
    SONANT_DATA_DIR: data,
    SONANT_FETCH_VOICE: 'off',
    SONANT_HTTP_ADDR: `127.0.0.1:${httpPort}`,
    SONANT_GRPC_ADDR: `127.0.0.1:${grpcPort}`,
  };
  const [command, ...args] = starts[name];
  const start = performance.now();
  const child = spawn(command, args, { cwd: root, env, stdio: 'ignore' });
  while (!(await isReady(httpPort))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    await sleep(pollEveryMs);
  }
  const readyMs = performance.now() - start;
  await sleep(idleMs);
  const pid = await serviceOf(child.pid!);
  const residentMiB = await residentMiBOf(pid);
  await end(child, pid);
  return { readyMs, residentMiB };
}

async function measureBareNode(): Promise<number> {
  const start = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - start;
}

/** Time from the launch of Fastify to its first reply. */
async function measureFastify(): Promise<number> {
  const port = await freePort();
  const script = `require('fastify')().get('/readyz', async () => 'ok').listen({ port: ${port} })`;
  const start = performance.now();
  const child = spawn(process.execPath, ['-e', script], { cwd: root, stdio: 'ignore' });
  while (!(await isReady(port))) await sleep(pollEveryMs);
  const readyMs = performance.now() - start;
  await end(child, child.pid!);
  return readyMs;
}

const isReady = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );

/** Finds the process of the service, which npm starts through a shell and which may have children of its own. */
async function serviceOf(pid: number): Promise<number> {
  const [program = '', ...args] = (await readFile(`/proc/${pid}/cmdline`, 'latin1')).split('\0');
  if (basename(program) === 'node' && args.some((arg) => arg.endsWith('src/sonant.js'))) return pid;
  const [child] = childrenOf(pid);
  return child ? serviceOf(Number(child)) : pid;
}

async function residentMiBOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}

async function end(child: ChildProcess, pid: number): Promise<void> {
  const exited = once(child, 'exit');
  process.kill(pid);
  await exited;
}
