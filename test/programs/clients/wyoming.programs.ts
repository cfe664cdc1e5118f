// Tests Wyoming's newest client, which Home Assistant uses. The service has the key, so each key has its own port.
import { openWyomingServer } from '../../../src/transports/vendors/wyoming/wyoming-server.ts';
import { describeClient } from './ten-calls.ts';

describeClient('wyoming for Python', {
  program: ['wyoming_calls.py'],
  without: ['times'],
  refusals: {
    invalid: ['invalid_request', 'unexpected close tag'],
    unknown_voice: 'voice_not_found',
    wrong_key: 'invalid_api_key',
    quota: 'rate_limit_exceeded',
    too_long: ['rate_limit_exceeded', '8 are left until'],
  },
  statuses: [],
  async open({ api, key }, limited, onClose) {
    const address = { host: '127.0.0.1', port: 0 };
    const ignored = { allowed: [], onRefused() {}, onFault() {} };
    const listen = async (ownKey: string) => {
      const server = await openWyomingServer({ api, key: ownKey, address, ...ignored });
      onClose(() => server.drain(0));
      return server.port;
    };
    return { port: await listen(key), limited_port: await listen(limited), wrong_port: await listen('snt_wrong') };
  },
});
