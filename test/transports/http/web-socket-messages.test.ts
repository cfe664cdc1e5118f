// Tests that a WebSocket message is parsed like a body: a large one in steps, so that other requests do not wait.
import { expect, test } from 'vitest';
import { fieldsOfMessage } from '../../../src/transports/http/web-socket.ts';
import { countTurns } from '../../count-turns.ts';

test('a message as large as may be is read in many turns of the event loop', async () => {
  const numbers = Array.from({ length: 900 }, () => `${'7'.repeat(280)}e-300`);
  const message = `{"type":[${numbers.join()}]}`;
  let fields: unknown;
  const read = async () => {
    fields = await fieldsOfMessage(message, 'text');
  };
  expect(await countTurns(read)).toBeGreaterThan(2);
  expect(fields).toEqual({ type: Array(900).fill(Number(numbers[0])) });
});

test('a message that is no object is refused, and one with a member twice', async () => {
  const refused = { reason: 'invalid_request' };
  await expect(fieldsOfMessage('[]', 'text')).rejects.toMatchObject(refused);
  await expect(fieldsOfMessage(Buffer.from('{}'), 'text')).rejects.toMatchObject(refused);
  await expect(fieldsOfMessage('{"a":1,"a":2}', 'text')).rejects.toMatchObject(refused);
});
