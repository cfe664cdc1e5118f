// Attacks the real service in several ways, one after the other, beside an honest caller on both HTTP and gRPC. Each
// attack becomes a row of a table, with the waits of honest callers and the memory at its peak and a minute later.
// ATTACK_SECONDS and RECOVERY_SECONDS set the duration of an attack and the time until memory is measured again.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { synthesizePath } from '../transports/rpc/raw-grpc.ts';
import { cpuMsOf, makeKey, medianAndWorst, mib, openService, rssOf, type Service, watchRss } from './open-service.ts';
import type { Raw } from './raw-connection.ts';

const { ATTACK_SECONDS = '8', RECOVERY_SECONDS = '60' } = process.env;
export const attackMs = Number(ATTACK_SECONDS) * 1000;
const recoveryMs = Number(RECOVERY_SECONDS) * 1000;
/** Memory growth that an attack may cause, if it states no limit of its own. */
const grownBytesMaxUsual = 256 << 20;
/** A busy machine takes this long to start and to stop the service. */
export const openingMs = 5 * 60_000;
/** Attackers have this address; honest callers have 127.0.0.1. */
export const attackerAddress = '127.0.0.2';

/** Runs until `isOver` returns true. Returns a description of the result. */
export type Attack = (isOver: () => boolean) => Promise<string>;

export interface Attacked {
  service: Service;
  /** A key of its own account, without limits and with all required scopes. */
  attackersKey: string;
  /** A key of another account, with the usual limits and scopes. */
  usualKey: string;
  /** At most `refusedMax` honest requests may be refused. */
  attack(name: string, act: Attack, grownBytesMax?: number, refusedMax?: number): Promise<void>;
  /** Requires that every honest request was finally served; prints the table. */
  end(): Promise<void>;
}

export async function openAttacked(settings: Readonly<Record<string, string>> = {}): Promise<Attacked> {
  const service = await openService({ settings: { SONANT_LOG_LEVEL: 'error', ...settings } });
  const scopes = 'speech:synthesize,speech:stream,voices:read,voices:write,jobs:read,jobs:write,keys:read,keys:write';
  const attackersKey = makeKey(service.dataDir, ['--scopes', scopes]);
  const usualKey = makeUsualKey(service);
  const honest = await startHonest(service);
  const rows: string[] = [];
  return {
    service,
    attackersKey,
    usualKey,
    async attack(name, act, grownBytesMax = grownBytesMaxUsual, refusedMax = Infinity) {
      const [before, cpuMs, mostRss] = [rssOf(service), cpuMsOf(service), watchRss(service)];
      const since = honest.times.length;
      const start = performance.now();
      const outcome = await act(() => performance.now() - start > attackMs);
      const took = performance.now() - start;
      const cpuShare = Math.round((100 * (cpuMsOf(service) - cpuMs)) / took);
      const servedMeanwhile = honest.times.length - since;
      // Calls that were running at the end are served as well.
      while (honest.times.length < since + servedMeanwhile + 2 && service.isUp()) await sleep(50);
      const { median, worst } = medianAndWorst(honest.times.slice(since));
      const health = medianAndWorst(honest.health.slice(since)).worst;
      const refused = honest.refusals.slice(since).reduce((sum, count) => sum + count, 0);
      const most = mostRss();
      expect(service.isUp()).toBe(true);
      expect(servedMeanwhile, 'others are served meanwhile').toBeGreaterThan(0);
      expect(most - before).toBeLessThan(grownBytesMax);
      expect(refused).toBeLessThanOrEqual(refusedMax);
      await sleep(recoveryMs);
      expect(service.said()).not.toContain('internal_error');
      const waits = `${servedMeanwhile} pairs, median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms, ${refused} refusals`;
      const memory = [before, most, rssOf(service)].map((bytes) => mib(bytes).replace(' MiB', ''));
      const { currentTestName } = expect.getState();
      const probes = `${health.toFixed(0)} ms`;
      rows.push(
        `| ${name} | ${outcome}; ${cpuShare} % CPU | ${waits} | ${probes} | ${memory.join(' | ')} | ${currentTestName} |`,
      );
      console.log(rows.at(-1));
    },
    async end() {
      const usual = medianAndWorst(honest.usual);
      const usualText = `median ${usual.median.toFixed(0)} ms, worst ${usual.worst.toFixed(0)} ms`;
      await honest.stop();
      console.log(
        [
          `without an attack, pairs take ${usualText}`,
          '| attack | what was done | honest callers, a request on each API | longest wait for /healthz | MiB before | at most | a minute later | test |',
          '|---|---|---|---|---|---|---|---|',
          ...rows,
        ].join('\n'),
      );
      await service.close();
    },
  };
}

/** A key with the usual limits. */
export function makeUsualKey({ dataDir }: Service): string {
  const main = join(import.meta.dirname, '../../src/sonant.js');
  const env = { PATH: process.env.PATH, SONANT_DATA_DIR: dataDir };
  const made = execFileSync(process.execPath, [main, 'key', 'create', '--json'], { cwd: dataDir, env });
  return JSON.parse(made.toString()).key;
}

/** A caller in its own process, which exits if anything is refused. */
export async function startHonest({ url, grpcPort, key }: Pick<Service, 'url' | 'grpcPort' | 'key'>) {
  const args = [join(import.meta.dirname, 'steady-caller.ts'), url, `127.0.0.1:${grpcPort}`, key];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const times: number[] = [];
  const refusals: number[] = [];
  const health: number[] = [];
  child.stdout.setEncoding('utf8').on('data', (lines: string) => {
    for (const [took, refused, healthMs] of lines
      .trim()
      .split('\n')
      .map((line) => line.split(' ').map(Number))) {
      times.push(took!);
      refusals.push(refused!);
      health.push(healthMs!);
    }
  });
  await sleep(3000);
  const warm = times.length;
  await sleep(5000);
  return {
    times,
    refusals,
    health,
    usual: times.slice(warm),
    async stop() {
      expect(child.exitCode, 'none has failed').toBeNull();
      child.kill();
      await once(child, 'exit');
    },
  };
}

export const statusOf = ({ answered, isClosed }: Raw) =>
  /^HTTP\/1.1 (\d+)/.exec(answered())?.[1] ?? (isClosed() ? 'cut' : 'nothing');

export function tally(words: readonly (string | number)[]): string {
  const counts = Map.groupBy(words, (word) => word);
  return [...counts].map(([word, all]) => `${all.length} x ${word}`).join(', ');
}

export function openSession({ grpcPort }: Service, options: object = {}): ClientHttp2Session {
  const createConnection = () => connect({ port: grpcPort, host: '127.0.0.1', localAddress: attackerAddress });
  const session = connectHttp2(`http://127.0.0.1:${grpcPort}`, { createConnection, ...options });
  session.on('error', () => {});
  return session;
}

export function openCall(session: ClientHttp2Session, key: string, headers: Record<string, string> = {}) {
  const stream = session.request({
    ...headers,
    ':method': 'POST',
    ':path': synthesizePath,
    'content-type': 'application/grpc',
    te: 'trailers',
    'x-api-key': key,
  });
  stream.on('error', () => {});
  return stream;
}
