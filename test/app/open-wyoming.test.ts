// Tests that the Wyoming listener is off by default, is never open to strangers by mistake, and closes properly.
import { expect, test } from 'vitest';
import { createApiKey } from '../../src/accounts/keys/api-key.ts';
import { ConfigError } from '../../src/platform/runtime/config-mistakes.ts';
import { openClient } from '../transports/vendors/wyoming/wyoming-client.ts';
import { openConfigured } from './open-configured.ts';

const { key } = createApiKey();

const open = (wyoming: Record<string, string>) => openConfigured({ SONANT_BOOTSTRAP_KEY: key, ...wyoming });

const mistakesOf = async (wyoming: Record<string, string>) => {
  try {
    await open(wyoming);
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
  expect((await open({})).wyomingPort).toBeUndefined();
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
