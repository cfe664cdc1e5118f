// The process of a service that benches load, with one engine: `npm run bench overload` flite, `npm run bench espeak` eSpeak
// NG. It tells its parent where it is, and answers every message with the CPU it has used. The checkout whose service runs is
// an argument, so that two can be compared; so is the engine.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineDefinition } from '../../src/engines/engine.ts';
import { ownCpuMs } from '../measuring/machine.ts';

export interface OverloadedService {
  port: number;
  apiKey: string;
}

export type LoadedEngine = 'flite' | 'espeak-ng';

async function open(root: string, engine: LoadedEngine): Promise<OverloadedService> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-bench-overload-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const { openService } = (await import(join(root, 'src/app.ts'))) as typeof import('../../src/app.ts');
  const { loadConfig } = (await import(join(root, 'src/config.ts'))) as typeof import('../../src/config.ts');
  const definition = await definitionOf(root, engine);
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
    ...{ SONANT_DATA_DIR: folder, SONANT_LOG_LEVEL: 'error', SONANT_CONNECTIONS_PER_ADDRESS: '4096' },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
  };
  const config = loadConfig({ env, folder, engines: [definition] });
  const keys = await openKeys(config);
  const limits = { requestsPerMinute: 1_000_000, concurrency: 10_000 };
  const { key: apiKey } = await keys.management.create({ scopes: firstKeyScopes, limits }, operator);
  await keys.close();
  const service = await openService({
    config,
    definitions: [definition],
    log: createLog('error'),
    isSinglePort: false,
  });
  return { port: service.httpPort, apiKey };
}

async function definitionOf(root: string, engine: LoadedEngine): Promise<EngineDefinition> {
  const file = join(root, `src/engines/${engine}/${engine}.ts`);
  if (engine === 'flite') return ((await import(file)) as typeof import('../../src/engines/flite/flite.ts')).flite;
  return ((await import(file)) as typeof import('../../src/engines/espeak-ng/espeak-ng.ts')).espeakNg;
}

process.send!(await open(process.argv[2]!, (process.argv[3] ?? 'flite') as LoadedEngine));
process.on('message', () => process.send!(ownCpuMs()));
process.on('disconnect', () => process.exit());
