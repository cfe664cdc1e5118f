// Starts the load balancer of deploy/ (a real haproxy), unchanged except for its address and those of the replicas.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { findProgram } from './programs.ts';

export interface Addresses {
  httpPort: number;
  grpcPort: number;
  /** Port for health and metrics. */
  adminPort: number;
}

export interface Balancer {
  port: number;
  url: string;
  close(): Promise<void>;
}

const readyMsMax = 30_000;

/**
 * Starts the balancer before these replicas, at least one of which must be up. The configuration is written into the
 * folder.
 */
export async function openBalancer(
  replicas: readonly Addresses[],
  folder: string,
  checkEveryMs = 1_000,
): Promise<Balancer> {
  const port = await freePort();
  const servers = (line: string, lineOf: (addresses: Addresses) => string) =>
    replicas.map((addresses, i) => line.replace(/server-template .*/, `server s${i} ${lineOf(addresses)}`)).join('\n');
  const config = readFileSync(join(import.meta.dirname, '../deploy/haproxy.cfg'), 'utf8')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replaceAll('inter 1s', `inter ${checkEveryMs}ms`)
    .replace(/^ *server-template .* sonant:8080.*$/m, (line) =>
      servers(line, ({ httpPort, adminPort }) => `127.0.0.1:${httpPort} check-proto h1 port ${adminPort}`),
    )
    .replace(/^ *server-template .* sonant:50051.*$/m, (line) =>
      servers(line, ({ grpcPort, adminPort }) => `127.0.0.1:${grpcPort} proto h2 check-proto h1 port ${adminPort}`),
    );
  if (config.includes('server-template')) throw new Error('deploy/haproxy.cfg names its servers in another way');
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, config);
  const child = spawn(join(findProgram('haproxy')!, 'haproxy'), ['-db', '-f', file], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () =>
    (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(readyMsMax) }).catch(() => undefined))?.ok;
  const untilMs = performance.now() + readyMsMax;
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`haproxy has ended: ${child.exitCode}`);
    if (performance.now() > untilMs) {
      child.kill('SIGKILL');
      throw new Error(`haproxy has found no replica ready within ${readyMsMax} ms`);
    }
    await sleep(50);
  }
  return {
    port,
    url,
    async close() {
      const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
      child.kill('SIGKILL');
      await ended;
    },
  };
}
