// The process of the service that `npm run bench overload` loads: flite alone. It tells its parent where it is, and answers
// every message with the CPU it has used. The checkout whose service runs is an argument, so that two can be compared.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownCpuMs } from '../measuring/machine.ts';

export interface OverloadedService {
  port: number;
  apiKey: string;
}

async function open(root: string): Promise<OverloadedService> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-bench-overload-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const { openService } = (await import(join(root, 'src/app.ts'))) as typeof import('../../src/app.ts');
  const { loadConfig } = (await import(join(root, 'src/config.ts'))) as typeof import('../../src/config.ts');
  const { flite } = (await import(
    join(root, 'src/engines/flite/flite.ts')
  )) as typeof import('../../src/engines/flite/flite.ts');
  const { createLog } = (await import(
    join(root, 'src/telemetry/log.ts')
  )) as typeof import('../../src/telemetry/log.ts');
  const { openKeys } = (await import(
    join(root, 'src/app/command-line.ts')
  )) as typeof import('../../src/app/command-line.ts');
  const { operator } = (await import(join(root, 'src/keys/actor.ts'))) as typeof import('../../src/keys/actor.ts');
  const { firstKeyScopes } = (await import(
    join(root, 'src/keys/scopes.ts')
  )) as typeof import('../../src/keys/scopes.ts');
  const env = {
    ...{ SONANT_DATA_DIR: folder, SONANT_CONNECTIONS_PER_ADDRESS: '4096' },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
  };
  const config = loadConfig({ env, folder, engines: [flite] });
  const keys = await openKeys(config);
  const limits = { requestsPerMinute: 1_000_000, concurrency: 10_000 };
  const { key: apiKey } = await keys.management.create({ scopes: firstKeyScopes, limits }, operator);
  await keys.close();
  const service = await openService({ config, definitions: [flite], log: createLog('info'), isSinglePort: false });
  return { port: service.httpPort, apiKey };
}

process.send!(await open(process.argv[2]!));
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());
