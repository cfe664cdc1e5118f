// Starts PostgreSQL for tests: the server of TEST_DATABASE_URL, or an installed PostgreSQL on a Unix socket in a new
// folder, which exits with the process that started it, even after SIGKILL. Undefined if there is no PostgreSQL.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findProgram } from '../../programs.ts';

/** PostgreSQL refuses to be run by root, so the user "nobody" runs it. */
const nobody = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;
const user = isRoot ? nobody : {};

/** Runs a program, and stops it with the given signal when standard input closes, since then the parent is gone. */
const owner = 'exec 4<&0; "$@" </dev/null & pid=$!; echo $pid; (cat <&4 >/dev/null; kill -$0 $pid) & wait $pid';

export interface PostgresServer {
  /** The URL of a new, empty database. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

export interface OwnPostgresServer extends PostgresServer {
  folder: string;
  /** URL of an existing database. */
  url: string;
  /** Process id of the postmaster, the parent of the backends. */
  readonly pid: number;
  /** Stops the server at once like a crash, or by the given signal; SIGINT is PostgreSQL's fast shutdown. */
  kill(signal?: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** Starts the server again after `kill`. */
  start(): Promise<void>;
}

export async function startPostgres(): Promise<PostgresServer | undefined> {
  const given = process.env.TEST_DATABASE_URL;
  return given ? { createDatabase: () => createDatabase(given), stop: async () => {} } : startOwnPostgres();
}

export async function startOwnPostgres(): Promise<OwnPostgresServer | undefined> {
  const programs = findProgram('postgres');
  if (programs === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'sonant-pg-'));
  if (isRoot) chownSync(folder, nobody.uid, nobody.gid);
  const environment = { ...process.env, LC_ALL: 'C.UTF-8', HOME: folder, PGTZ: 'UTC' };
  const data = join(folder, 'data');
  // A locale in which the order of letters differs from the order of their bytes.
  const language = hasIcu(programs) ? ['--locale-provider=icu', '--icu-locale=en-US'] : [];
  const made = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync', '--no-instructions'];
  execFileSync(join(programs, 'initdb'), [...made, ...language], { ...user, env: environment, stdio: 'pipe' });

  const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=100', 'listen_addresses='];
  let keepAlive: ChildProcess;
  let pid: number;
  const start = async () => {
    const args = ['-D', data, '-k', folder, ...settings.flatMap((setting) => ['-c', setting])];
    keepAlive = spawn('sh', ['-c', owner, 'QUIT', join(programs, 'postgres'), ...args], {
      ...user,
      env: environment,
      cwd: folder,
      stdio: 'pipe',
    });
    const [told] = await once(keepAlive.stdout!, 'data');
    pid = Number(String(told).trim());
    let said = '';
    await new Promise<void>((resolve, reject) => {
      keepAlive.once('exit', () => reject(new Error(`PostgreSQL has ended: ${said}`)));
      keepAlive.stderr!.on('data', (bytes) => {
        said += bytes;
        if (said.includes('ready to accept connections')) resolve();
      });
    });
  };
  const end = async (signal: NodeJS.Signals = 'SIGQUIT') => {
    const ended = once(keepAlive, 'exit');
    process.kill(pid, signal);
    await ended;
    keepAlive.stdin!.destroy();
  };
  await start();
  const url = `postgres://postgres@/postgres?host=${encodeURIComponent(folder)}`;
  return {
    folder,
    url,
    get pid() {
      return pid;
    },
    createDatabase: () => createDatabase(url),
    start,
    kill: end,
    async stop() {
      await end();
      rmSync(folder, { recursive: true });
    },
  };
}

let databases = 0;

async function createDatabase(url: string): Promise<string> {
  const name = `sonant_test_${process.pid}_${databases++}`;
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);
}

const hasIcu = (programs: string): boolean =>
  Number(/\d+/.exec(execFileSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[0]) >= 15;

export interface Pooler {
  /** The same database through the pooler. */
  urlOf(database: string): string;
  stop(): Promise<void>;
}

/** PgBouncer in front of a test server; it gives each transaction a different connection. */
export async function startPgBouncer({ folder }: OwnPostgresServer): Promise<Pooler | undefined> {
  const programs = findProgram('pgbouncer');
  if (programs === undefined) return undefined;
  const place = mkdtempSync(join(tmpdir(), 'sonant-pgb-'));
  if (isRoot) chownSync(place, nobody.uid, nobody.gid);
  chmodSync(place, 0o755);
  const file = join(place, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${folder} user=postgres`,
    '[pgbouncer]',
    `unix_socket_dir = ${place}`,
    'listen_port = 6432',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 5',
  ];
  writeFileSync(file, lines.join('\n'));
  const keepAlive = spawn('sh', ['-c', owner, 'TERM', join(programs, 'pgbouncer'), file], { ...user, stdio: 'pipe' });
  const socket = join(place, '.s.PGSQL.6432');
  while (!existsSync(socket) && keepAlive.exitCode === null) await sleep(10);
  return {
    urlOf: (database) =>
      `postgres://postgres@${new URL(database.replace('@/', '@x/')).pathname}?host=${encodeURIComponent(place)}&port=6432`,
    async stop() {
      const ended = once(keepAlive, 'exit');
      keepAlive.stdin.end();
      await ended;
      rmSync(place, { recursive: true });
    },
  };
}
