// Starts a contender in its own process, and measures the CPU time of that process.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from '../measuring/asked-process.ts';
import { freePort } from '../measuring/free-port.ts';
import { childrenOf, threadsCpuMs } from '../measuring/machine.ts';
import type { Addresses, ContenderName } from './serve.ts';

export interface ServerProcess {
  addresses: Addresses;
  cpuMs(): Promise<number>;
  close(): Promise<void>;
}

export async function startServer(name: ContenderName): Promise<ServerProcess> {
  const { told: addresses, ask, close } = await startProcess<Addresses>(join(import.meta.dirname, 'serve.ts'), [name]);
  return {
    addresses,
    cpuMs: ask,
    async close() {
      await close();
      if (addresses.clip) await rm(dirname(dirname(dirname(addresses.clip.file))), { recursive: true });
    },
  };
}

/** Starts nginx with one worker and a copy of the file. Returns undefined if nginx is not installed. */
export async function startNginx(file: string): Promise<ServerProcess | undefined> {
  if (spawnSync('nginx', ['-v']).error) return undefined;
  const dir = await mkdtemp(join(tmpdir(), 'sonant-bench-nginx-'));
  const httpPort = await freePort();
  await mkdir(join(dir, 'audio'));
  await copyFile(file, join(dir, 'audio/clip.wav'));
  await writeFile(join(dir, 'nginx.conf'), nginxConfig(dir, httpPort));
  const child = spawn('nginx', ['-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')], { stdio: 'ignore' });
  while (!(await isUp(httpPort))) await sleep(20);
  return {
    addresses: { httpPort, clip: { path: '/audio/clip.wav', file } },
    cpuMs: async () => threadsCpuMs(childrenOf(child.pid!)),
    async close() {
      await end(child);
      await rm(dir, { recursive: true });
    },
  };
}

/** The fastest settings for files: no log, and sendfile. */
const nginxConfig = (dir: string, port: number) => `
  daemon off; worker_processes 1; pid ${dir}/pid; ${process.getuid?.() === 0 ? 'user root;' : ''}
  events {}
  http {
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
    types { audio/wav wav; }
    client_body_temp_path ${dir}/a; proxy_temp_path ${dir}/b; fastcgi_temp_path ${dir}/c;
    uwsgi_temp_path ${dir}/d; scgi_temp_path ${dir}/e;
    server { listen 127.0.0.1:${port}; root ${dir}; }
  }
`;

const isUp = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/audio/clip.wav`, { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  );

async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill();
  await exited;
}
