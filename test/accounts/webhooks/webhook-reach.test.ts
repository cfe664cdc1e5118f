// Tests that messages reach no internal address, whether given by number, by name or by a name that changes. TLS
// connections reach only the host of the name.
import { describe, expect, test } from 'vitest';
import { testCertificate } from '../../transports/rpc/test-certificate.ts';
import { openReceiver, openSigned } from './open-sender.ts';

describe('an address inside', () => {
  test('by a name that resolves to it is not connected to', async () => {
    const receiver = await openReceiver();
    const { send, rows, keyId } = await openSigned({ target: { allow: [], resolve: async () => ['127.0.0.1'] } });
    const messageId = await send(`https://inside.test:${receiver.port}/`, { keyId });
    expect(await rows.find(messageId)).toMatchObject({
      endedAtMs: null,
      lastResult: expect.stringMatching(/neither public/),
    });
    expect(receiver.received).toEqual([]);
  });

  test('by number is refused when a job is made, and not connected to', async () => {
    const receiver = await openReceiver();
    const { send, rows, webhooks, keyId } = await openSigned({ target: { allow: [] } });
    for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '[::ffff:127.0.0.1]']) {
      const url = `https://${host}:${receiver.port}/`;
      await expect(webhooks.check(url, keyId)).rejects.toMatchObject({ reason: 'invalid_request' });
      expect((await rows.find(await send(url, { keyId })))!.lastResult).toMatch(/neither public/);
    }
    expect(receiver.received).toEqual([]);
  });

  test('that a name resolves to a moment later is not connected to', async () => {
    const checked = await openReceiver();
    const inside = await openReceiver(undefined, { host: '127.0.0.2' });
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    const resolve = async () => answers.shift() ?? ['127.0.0.2'];
    const { send, rows, turn, keyId } = await openSigned({ target: { resolve } });
    const messageId = await send(`http://rebinding.test:${checked.port}/`, { keyId });
    expect(await rows.find(messageId)).toMatchObject({ outcome: 'delivered' });
    expect([checked.received.length, inside.received.length, answers.length]).toEqual([1, 0, 1]);
    const second = await send(`http://rebinding.test:${inside.port}/`, { keyId });
    expect(await turn(second)).toMatchObject({ endedAtMs: null, lastResult: expect.stringMatching(/neither public/) });
    expect(inside.received).toEqual([]);
  });
});

describe('TLS', () => {
  const resolve = async () => ['127.0.0.1'];

  test('is with the name of the host, though the connection is to an address', async () => {
    const receiver = await openReceiver(undefined, { isSecure: true });
    const { send, rows, keyId } = await openSigned({ target: { resolve }, ca: testCertificate.cert });
    expect(await rows.find(await send(receiver.url, { keyId }))).toMatchObject({ outcome: 'delivered' });
    expect(receiver.received[0]!.headers.host).toBe(`localhost:${receiver.port}`);
  });

  test('of another name, or that nobody vouches for, is refused', async () => {
    const receiver = await openReceiver(undefined, { isSecure: true });
    const { send, rows, keyId } = await openSigned({ target: { resolve }, ca: testCertificate.cert });
    const messageId = await send(`https://other.test:${receiver.port}/`, { keyId });
    expect((await rows.find(messageId))!.lastResult).toMatch(/other\.test|altnames/);
    const strict = await openSigned({ target: { resolve } });
    const unknown = await strict.send(receiver.url, { keyId: strict.keyId });
    expect((await strict.rows.find(unknown))!.lastResult).toMatch(/self.signed/);
    expect(receiver.received).toEqual([]);
  });
});
