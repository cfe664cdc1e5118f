// Runs the service to which `npm run bench bad-input` sends bad input, in its own process. It sends its ports and key
// to its parent. It answers each message with the longest turn of its event loop since the previous message, in CPU
// time of the main thread. This includes pauses for garbage collection, but no other processes.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import koffi from 'koffi';
import { operator } from '../../src/access/actor.ts';
import { firstKeyScopes } from '../../src/access/scopes.ts';
import { openKeys } from '../../src/app/command-line.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import { flite } from '../../src/engines/flite/flite.ts';
import { createLog } from '../../src/telemetry/log.ts';

export interface AskedService {
  httpPort: number;
  grpcPort: number;
  apiKey: string;
}

async function open(): Promise<AskedService> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-bench-bad-input-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const env = {
    ...{ SONANT_DATA_DIR: folder, SONANT_LOG_LEVEL: 'error', SONANT_CONNECTIONS_PER_ADDRESS: '4096' },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
  };
  const config = loadConfig({ env, folder, engines: [flite] });
  const keys = await openKeys(config);
  const limits = { requestsPerMinute: 1_000_000, concurrency: 10_000 };
  const { key: apiKey } = await keys.management.create({ scopes: firstKeyScopes, limits }, operator);
  await keys.close();
  const service = await openService({ config, definitions: [flite], log: createLog('error'), isSinglePort: false });
  return { httpPort: service.httpPort, grpcPort: service.grpcPort, apiKey };
}

const threadCpuClock = 3;
const clock = koffi.load('libc.so.6').func('int clock_gettime(int clock, void *time)');
const time = Buffer.alloc(16);
/** CPU time of this thread. Node's own figure changes only with the kernel's ticks, which are 4 ms apart. */
const cpuMs = (): number => {
  clock(threadCpuClock, time);
  return Number(time.readBigInt64LE(0)) * 1e3 + Number(time.readBigInt64LE(8)) / 1e6;
};

process.send!(await open());
let [longestMs, sinceMs] = [0, cpuMs()];
/** A callback of `setImmediate` that is set by another such callback runs in the next turn of the event loop. */
const turn = () => {
  const atMs = cpuMs();
  longestMs = Math.max(longestMs, atMs - sinceMs);
  sinceMs = atMs;
  setImmediate(turn);
};
turn();
process.on('message', () => {
  process.send!(longestMs);
  longestMs = 0;
});
process.on('disconnect', () => process.exit());
