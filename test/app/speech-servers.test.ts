// Tests the metrics of speech servers in a configured service.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import { openAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { openOpenAiServer } from '../engines/openai-server.ts';

test('requests at a server are counted for operators', async () => {
  const server = await openOpenAiServer({ pieceDelayMs: 200 });
  const { host } = new URL(server.url);
  const folder = mkdtempSync(join(tmpdir(), 'sonant-servers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { key } = createApiKey();
  const env = {
    SONANT_HTTP_ADDR: '127.0.0.1:0',
    SONANT_GRPC_ADDR: '127.0.0.1:0',
    SONANT_DATA_DIR: folder,
    SONANT_BOOTSTRAP_KEY: key,
    SONANT_OPENAI_URL: server.url,
  };
  const definitions = [openAiCompatible];
  const config = loadConfig({ env, folder, engines: definitions });
  const service = await openService({ config, definitions, log: createLog('silent'), isSinglePort: false });
  try {
    const url = `http://127.0.0.1:${service.httpPort}`;
    const metrics = async () => (await fetch(`${url}/metrics`)).text();
    const labels = `{engine="openai-compatible",server="${host}"}`;
    const speaking = fetch(`${url}/api/audio/speech`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ voice_id: 'tone-low', text: 'One two three four five six.' }),
    });
    await expect.poll(metrics, { interval: 20 }).toContain(`sonant_engine_server_outstanding${labels} 1`);
    expect(await metrics()).toContain(`sonant_engine_server_limit${labels} 8`);
    expect((await speaking).status).toBe(200);
    await expect.poll(metrics).toContain(`sonant_engine_server_outstanding${labels} 0`);
    const text = await metrics();
    expect(text).toContain(`sonant_engine_server_first_sound_seconds_count${labels}`);
    expect(text).toContain(`sonant_engine_underrun_seconds_count${labels}`);
  } finally {
    await service.drain();
  }
});
