// The process of the service that `npm run bench bad-input` sends bad input: flite alone. It tells its parent where it is,
// and answers every message with the longest turn of its event loop since the last one, in CPU of its main thread: what
// else the machine does is not in it, and a pause of the garbage collector is.
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
/** Of this thread. Node's own figure is brought up to date by the kernel's ticks only, which are 4 ms apart. */
const cpuMs = (): number => {
  clock(threadCpuClock, time);
  return Number(time.readBigInt64LE(0)) * 1e3 + Number(time.readBigInt64LE(8)) / 1e6;
};

process.send!(await open());
let [longestMs, sinceMs] = [0, cpuMs()];
/** An immediate that an immediate sets runs in the next turn of the event loop. */
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
