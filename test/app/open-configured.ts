// Opens a service as its settings configure it: in a new folder, on free ports, with a key, until the test finishes.
import { onTestFinished } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import type { EngineDefinition } from '../../src/engines/engine.ts';
import { createLog, type Log } from '../../src/platform/telemetry/log.ts';
import { defineTone } from '../engines/tone-engine.ts';
import { newFolder } from '../new-folder.ts';

interface ConfiguredOptions {
  definitions?: readonly EngineDefinition[];
  log?: Log;
  isSinglePort?: boolean;
}

export async function openConfigured(
  settings: Readonly<Record<string, string>> = {},
  { definitions = [defineTone()], log = createLog('silent'), isSinglePort = false }: ConfiguredOptions = {},
) {
  const folder = newFolder();
  const { key } = createApiKey();
  const env = {
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
    ...{ SONANT_DATA_DIR: folder, SONANT_BOOTSTRAP_KEY: key, ...settings },
  };
  const config = loadConfig({ env, folder, engines: definitions });
  const service = await openService({ config, definitions, log, isSinglePort });
  onTestFinished(() => service.drain());
  return { ...service, key, url: `http://127.0.0.1:${service.httpPort}` };
}
