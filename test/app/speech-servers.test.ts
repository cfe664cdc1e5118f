// Tests the metrics of speech servers in a configured service.
import { expect, test } from 'vitest';
import { openAiCompatible } from '../../src/engines/openai-compatible/openai-compatible.ts';
import { openOpenAiServer } from '../engines/openai-server.ts';
import { openConfigured } from './open-configured.ts';

test('requests at a server are counted for operators', async () => {
  const server = await openOpenAiServer({ pieceDelayMs: 200 });
  const { host } = new URL(server.url);
  const definitions = [openAiCompatible];
  const { url, key } = await openConfigured({ SONANT_OPENAI_URL: server.url }, { definitions });
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
});
