// The OpenAPI document as the service itself serves it, of an address that everyone has.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openService } from '../../src/app.ts';
import { loadConfig } from '../../src/config.ts';
import type { OpenApi } from '../../src/gateway/docs/openapi-document.ts';
import { createLog } from '../../src/telemetry/log.ts';

export async function readServedOpenApi(): Promise<OpenApi> {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-reference-'));
  const env = {
    ...{ SONANT_DATA_DIR: folder, SONANT_BASE_URL: 'http://127.0.0.1:8080' },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0' },
  };
  const config = loadConfig({ env, folder, engines: [] });
  const service = await openService({ config, definitions: [], log: createLog('silent'), isSinglePort: false });
  try {
    return (await (await fetch(`http://127.0.0.1:${service.httpPort}/openapi.json`)).json()) as OpenApi;
  } finally {
    await service.drain();
    rmSync(folder, { recursive: true });
  }
}
