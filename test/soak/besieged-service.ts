// Opens many hostile connections to the real service, with an honest caller at another address, each in its own
// process. Prints the longest wait for /healthz, the time to the first audio of short streams with and without the
// attack, and the memory at its peak and a minute later.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { freePort } from '../free-port.ts';
import { medianAndWorst, mib, openService, rssOf, type Service, watchRss } from './open-service.ts';

const { SIEGE_SECONDS = '20', RECOVERY_SECONDS = '60', CROWD_ADDRESS = '127.0.0.2', HEALTH = 'admin' } = process.env;
const usualMs = 10_000;
const rssBytesMax = 600 << 20;

export interface CrowdTask {
  kind:
    | 'watch over gRPC'
    | 'watch over Connect, HTTP/2'
    | 'watch over Connect, HTTP/1.1'
    | 'watch over gRPC-Web'
    | 'reflection over gRPC'
    | 'reflection over Connect'
    | 'StreamSpeech over gRPC'
    | 'SSE'
    | 'link, unread'
    | 'idle, HTTP/1.1'
    | 'idle after a request, HTTP/1.1'
    | 'idle, HTTP/2';
  connections: number;
  /** Streams on each HTTP/2 connection. */
  streams: number;
  httpPort: number;
  grpcPort: number;
  /** Address of the hostile connections. */
  address: string;
  key: string;
  /** Path of a link. */
  path: string;
}

export interface BesiegedService extends Service {
  healthPort: number;
}

/** Opens the service with /healthz on its own port or, with HEALTH=public, on the public port. */
export async function openBesieged(settings: Readonly<Record<string, string>> = {}): Promise<BesiegedService> {
  const adminPort = await freePort();
  const admin = HEALTH === 'admin' ? { SONANT_ADMIN_ADDR: `127.0.0.1:${adminPort}` } : {};
  const service = await openService({ settings: { SONANT_LOG_LEVEL: 'error', ...admin, ...settings } });
  return { ...service, healthPort: HEALTH === 'admin' ? adminPort : service.httpPort };
}

/** A key with the usual limits. */
export function makeUsualKey({ dataDir }: Service): string {
  const main = join(import.meta.dirname, '../../src/sonant.js');
  const env = { PATH: process.env.PATH, SONANT_DATA_DIR: dataDir };
  return JSON.parse(execFileSync(process.execPath, [main, 'key', 'create', '--json'], { cwd: dataDir, env }).toString())
    .key;
}

const startChild = (file: string, args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [join(import.meta.dirname, file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** Calls `take` with each line that the process prints. */
function eachLine<T>(child: ChildProcess, take: (line: T) => void): void {
  let rest = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) take(JSON.parse(line));
  });
}

interface Answer {
  name: 'health' | 'first sound';
  /** Milliseconds, or the reason for a failure. */
  took: number | string;
}

const format = (answers: readonly Answer[], name: Answer['name']) => {
  const all = answers.filter((answer) => answer.name === name).map(({ took }) => took);
  const times = all.filter((took) => typeof took === 'number');
  const { median, worst } = medianAndWorst(times);
  const refused = all.filter((took) => typeof took === 'string');
  const text =
    `median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms of ${times.length}` +
    (refused.length > 0 ? `, ${refused.length} refused (${[...new Set(refused)].join(', ')})` : '');
  return { median, text, refused: refused.length };
};

export async function besiege(
  service: BesiegedService,
  given: Pick<CrowdTask, 'kind' | 'connections'> & Partial<CrowdTask>,
): Promise<void> {
  const { httpPort, grpcPort, healthPort } = service;
  const task = { ...{ streams: 100, httpPort, grpcPort, address: CROWD_ADDRESS, key: '', path: '' }, ...given };
  const honest = startChild('honest-caller.ts', [String(healthPort), String(httpPort), service.key, '127.0.0.1']);
  let answers: Answer[] = [];
  eachLine<Answer>(honest, (answer) => answers.push(answer));
  const countsOf = (crowd: ChildProcess) => {
    const most = { connections: 0, streams: 0, closed: 0 };
    eachLine<typeof most>(crowd, (now) => {
      for (const name of ['connections', 'streams', 'closed'] as const) most[name] = Math.max(most[name], now[name]);
    });
    return most;
  };
  try {
    await sleep(3000);
    answers = [];
    await sleep(usualMs);
    const [usual, before, mostRss] = [answers, rssOf(service), watchRss(service)];
    answers = [];
    const crowd = startChild('crowd.ts', [JSON.stringify(task)]);
    const most = countsOf(crowd);
    await once(crowd.stdout!, 'data');
    await sleep(Number(SIEGE_SECONDS) * 1000);
    // An answer that was requested during the attack counts, however late it is.
    const during = answers.length;
    while (answers.length < during + 4 && service.isUp()) await sleep(50);
    const besieged = answers;
    await endChild(crowd);
    const peak = mostRss();
    await endChild(honest);
    await sleep(Number(RECOVERY_SECONDS) * 1000);
    const [health, sound, usualSound] = [
      format(besieged, 'health'),
      format(besieged, 'first sound'),
      format(usual, 'first sound'),
    ];
    console.log(
      `${task.connections} x ${task.kind}: at most ${most.connections} connections and ${most.streams} streams open, ` +
        `${most.closed} closed; /healthz ${health.text} (usually ${format(usual, 'health').text}); first sound ` +
        `${sound.text} (usually ${usualSound.text}): ${(sound.median / usualSound.median).toFixed(2)} times; RSS ` +
        `${mib(before)}, at most ${mib(peak)}, a minute later ${service.isUp() ? mib(rssOf(service)) : 'gone'}`,
    );
    expect(service.isUp()).toBe(true);
    expect(health.refused + sound.refused, 'honest callers are served').toBe(0);
    expect(peak).toBeLessThan(rssBytesMax);
    expect(service.said()).toBe('');
  } finally {
    await endChild(honest);
  }
}
