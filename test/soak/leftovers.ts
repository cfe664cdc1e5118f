// Finds resources that an installation still holds when there are no requests: slots, leases, locks, connections, open
// files, unfinished uploads.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ReplicaProcess } from '../replica-process.ts';
import type { Installation } from './open-installation.ts';

export interface Handles {
  files: number;
  /** Threads that run JavaScript. Thread pools may grow or shrink by one thread. */
  threads: number;
  sockets: number;
  /** The kinds of files and the number of each. */
  kinds: string;
}

/** Files of each thread's event loop: an epoll, an eventfd, an io_uring, and both ends of a pipe. */
const filesOfThread = 5;

/** Counts the sockets of a process and its other open files, except the files of event loops. */
export function handlesOf(pid: number): Handles {
  const folder = `/proc/${pid}/fd`;
  const targets = readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(`${folder}/${fd}`)];
    } catch {
      return [];
    }
  });
  const sockets = targets.filter((target) => target.startsWith('socket:')).length;
  const kinds = [...Map.groupBy(targets, (target) => target.replace(/\[\d+\]$/, ''))].map(
    ([kind, some]) => `${some.length} ${kind}`,
  );
  const threads = targets.filter((target) => target.includes('eventpoll')).length;
  return {
    files: targets.length - sockets - threads * filesOfThread,
    threads,
    sockets,
    kinds: kinds.sort().join(', '),
  };
}

/** Established connections at the ports of a replica. */
export function callersOf({ httpPort, grpcPort }: ReplicaProcess): number {
  const established = '01';
  const ends = [httpPort, grpcPort].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, from = '', , state]) => state === established && ends.some((end) => from.endsWith(end))).length;
}

export async function metricOf({ adminPort }: ReplicaProcess, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const lines = [...text.matchAll(new RegExp(`^${name}(?:\\{.*?\\})? (\\S+)$`, 'gm'))];
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** All held resources by name; empty if the installation is idle. */
async function readHeld({ replicas, databaseUrl }: Held): Promise<Record<string, number>> {
  const held: Record<string, number> = {};
  for (const name of ['sonant_speaking', 'sonant_waiting', 'sonant_engine_waiting', 'sonant_usage_pending_rows'])
    held[name] = (await Promise.all(replicas.map((replica) => metricOf(replica, name)))).reduce((a, b) => a + b);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const count = async (sql: string) => Number((await client.query(`select count(*) as n from ${sql}`)).rows[0].n);
  held['jobs that run'] = await count("jobs where status in ('queued', 'running')");
  held['leases of chapters'] = await count(
    `job_chapters where lease_holder is not null and lease_until_ms > ${Date.now()}`,
  );
  held['requests under way'] = await count(
    `answers where answer is null and runner is not null and until_ms > ${Date.now()}`,
  );
  held['webhooks to send'] = await count('webhook_messages where ended_at_ms is null');
  held['transactions that are open'] = await count("pg_stat_activity where state like 'idle in transaction%'");
  held.slots = await count('holdings where held > 0 and until_us > sonant_now_us()');
  held.locks = await count('flights where until_us > sonant_now_us()');
  await client.end();
  return held;
}

type Held = Pick<Installation, 'replicas' | 'databaseUrl'>;

/** Waits until no resource is held. Returns the remaining resources, which have leaked. */
export async function readLeaked(held: Held, atMostMs: number): Promise<Record<string, number>> {
  for (const since = performance.now(); ; ) {
    const leaked = Object.fromEntries(Object.entries(await readHeld(held)).filter(([, count]) => count > 0));
    if (Object.keys(leaked).length === 0 || performance.now() - since > atMostMs) return leaked;
    await sleep(1000);
  }
}
