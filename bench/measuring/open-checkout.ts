// Opens the service of a checkout in this process, in a temporary folder, with a key whose limits no bench reaches. The
// checkout is an argument, so a bench can compare two checkouts in the same rounds.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineDefinition } from '../../src/engines/engine.ts';

export interface OpenCheckout {
  port: number;
  apiKey: string;
}

export interface CheckoutOptions {
  /** The folder of the checkout. */
  root: string;
  engine: EngineDefinition;
  logLevel: 'info' | 'warn' | 'error';
  /** Settings in addition to folder and ports. */
  settings?: Readonly<Record<string, string>>;
}

const limits = { requestsPerMinute: 1_000_000, concurrency: 10_000 };

export async function openCheckout({ root, engine, logLevel, settings = {} }: CheckoutOptions): Promise<OpenCheckout> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  /** An older checkout may have other folders. */
  const find = (...paths: string[]) => join(root, paths.find((path) => existsSync(join(root, path)))!);
  const { openService }: typeof import('../../src/app/service.ts') = await import(
    find('src/app/service.ts', 'src/app/app.ts', 'src/app.ts')
  );
  const { loadConfig }: typeof import('../../src/app/config.ts') = await import(
    find('src/app/config.ts', 'src/config.ts')
  );
  const { createLog }: typeof import('../../src/platform/telemetry/log.ts') = await import(
    join(root, 'src/platform/telemetry/log.ts')
  );
  const { openKeys }: typeof import('../../src/app/command-line.ts') = await import(
    join(root, 'src/app/command-line.ts')
  );
  const { operator }: typeof import('../../src/accounts/keys/caller.ts') = await import(
    find('src/accounts/keys/caller.ts', 'src/keys/caller.ts')
  );
  const { firstKeyScopes: scopes }: typeof import('../../src/accounts/keys/caller.ts') = await import(
    find(
      'src/accounts/keys/scopes.ts',
      'src/keys/scopes.ts',
      'src/accounts/keys/key-grant.ts',
      'src/accounts/keys/caller.ts',
    )
  );
  const env = {
    ...{ SONANT_DATA_DIR: folder, SONANT_LOG_LEVEL: logLevel },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
    ...settings,
  };
  const config = loadConfig({ env, folder, engines: [engine] });
  const keys = await openKeys(config);
  const { key: apiKey } = await keys.management.create({ scopes, limits }, operator);
  await keys.close();
  const log = createLog(logLevel);
  const service = await openService({ config, definitions: [engine], log, isSinglePort: false });
  return { port: service.httpPort, apiKey };
}
