// Tests forms with files, read from a complete body: their content, refusals, and yielding to other requests; and that a
// WebSocket message is parsed like a body.
import Fastify from 'fastify';
import { afterAll, expect, test } from 'vitest';
import { toFailure } from '../../../src/platform/errors.ts';
import { type FormBody, readForms } from '../../../src/transports/http/form-body.ts';
import { fieldsOfMessage } from '../../../src/transports/http/web-socket.ts';
import { countTurns } from '../../count-turns.ts';

const app = Fastify({ bodyLimit: 2 ** 25 });
readForms(app, { fileNames: ['sample'], textNames: ['name'] });
app.post('/', async ({ body }) => {
  const { texts, files } = body as FormBody;
  return { texts: [...texts], files: [...files].map(([name, bytes]) => [name, bytes.length]) };
});
app.setErrorHandler((error, _, reply) => reply.status(400).send({ message: toFailure(error).message }));
afterAll(() => app.close());

const part = (name: string, content: string) =>
  `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;

/** Returns the reply, and the number of turns of the event loop until then. */
async function send(payload: string) {
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const reply = app.inject({ method: 'POST', url: '/', headers, payload });
  const turns = await countTurns(async () => reply);
  return { reply: (await reply).json(), turns };
}

test('a large file is read whole, in many turns of the event loop', async () => {
  const small = await send(`${part('name', 'Anna')}${part('sample', 'a')}--x--\r\n`);
  expect(small.reply).toEqual({ texts: [['name', ['Anna']]], files: [['sample', 1]] });
  const size = 8 * 2 ** 20;
  const large = await send(`${part('name', 'Anna')}${part('sample', 'a'.repeat(size))}--x--\r\n`);
  expect(large.reply).toEqual({ texts: [['name', ['Anna']]], files: [['sample', size]] });
  expect(large.turns).toBeGreaterThan(small.turns + 100);
});

test('a form is refused as soon as it has too many parts, before the rest is read', async () => {
  const { reply, turns } = await send(`${part('name', 'Anna').repeat(100_000)}--x--\r\n`);
  expect(reply.message).toContain('more than 40 parts');
  expect(turns).toBeLessThan(50);
});

test('a form that breaks off, or is none, is refused', async () => {
  for (const payload of [part('name', 'Anna'), 'hello', '', `--x\r\n${'-'.repeat(100_000)}`])
    expect((await send(payload)).reply.message).toContain('not a valid form');
});

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
