// Tests that the Wyoming listener is off by default, is never open to strangers by mistake, and closes properly.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import { loadConfig } from '../../src/app/config.ts';
import { openService } from '../../src/app/service.ts';
import { ConfigError } from '../../src/platform/runtime/config-mistakes.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { defineTone } from '../engines/tone-engine.ts';
import { openClient } from '../transports/vendors/wyoming/wyoming-client.ts';

const { key } = createApiKey();

function open(wyoming: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'sonant-wyoming-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = {
    ...{ SONANT_BOOTSTRAP_KEY: key, SONANT_DATA_DIR: folder },
    ...{ SONANT_HTTP_ADDR: '127.0.0.1:0', SONANT_GRPC_ADDR: '127.0.0.1:0', ...wyoming },
  };
  const definitions = [defineTone()];
  const config = loadConfig({ env, folder, engines: definitions });
  return openService({ config, definitions, log: createLog('silent'), isSinglePort: false });
}

const mistakesOf = async (wyoming: Record<string, string>) => {
  try {
    const service = await open(wyoming);
    await service.drain();
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes.map(({ name, given }) => [name, given]);
    throw error;
  }
  return [];
};

test('the listener speaks with the key that is set, and ends with the service', async () => {
  const service = await open({ SONANT_WYOMING_ADDR: '127.0.0.1:0', SONANT_WYOMING_KEY: key });
  const { socket, send, until, next } = openClient(service.wyomingPort!);
  send('synthesize', { text: 'Hello.' });
  expect((await until('audio-stop')).at(-1)).toMatchObject({ type: 'audio-stop' });
  const drained = service.drain();
  expect(await next()).toBeUndefined();
  socket.end();
  await drained;
});

test('it is off by default', async () => {
  const service = await open({});
  expect(service.wyomingPort).toBeUndefined();
  await service.drain();
});

const off = '(secret)';
test.each<[Record<string, string>, (string | undefined)[][]]>([
  [{ SONANT_WYOMING_ADDR: '127.0.0.1:0' }, [['SONANT_WYOMING_KEY', '']]],
  [{ SONANT_WYOMING_ADDR: '127.0.0.1:0', SONANT_WYOMING_KEY: 'snt_wrong' }, [['SONANT_WYOMING_KEY', off]]],
  [{ SONANT_WYOMING_ADDR: '10200', SONANT_WYOMING_KEY: key }, [['SONANT_WYOMING_ADDR', '10200']]],
  [{ SONANT_WYOMING_ADDR: '0.0.0.0:0', SONANT_WYOMING_KEY: key }, [['SONANT_WYOMING_ADDR', '0.0.0.0:0']]],
  [{ SONANT_WYOMING_ADDR: '[::]:0', SONANT_WYOMING_KEY: key }, [['SONANT_WYOMING_ADDR', '[::]:0']]],
  [
    { SONANT_WYOMING_ADDR: '0.0.0.0:0', SONANT_WYOMING_KEY: key, SONANT_WYOMING_ALLOW: 'anyone' },
    [['SONANT_WYOMING_ALLOW', 'anyone']],
  ],
  [{ SONANT_WYOMING_ADDR: '0.0.0.0:0', SONANT_WYOMING_KEY: key, SONANT_WYOMING_ALLOW: '192.168.1.0/24' }, []],
  [{ SONANT_WYOMING_ADDR: 'localhost:0', SONANT_WYOMING_KEY: key }, []],
])('%j has the mistakes %j', async (wyoming, mistakes) => {
  expect(await mistakesOf(wyoming)).toEqual(mistakes);
});
