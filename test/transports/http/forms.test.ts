// Tests forms with files, read from a complete body: their content, refusals, and yielding to other requests.
import Fastify from 'fastify';
import { afterAll, expect, test } from 'vitest';
import { toFailure } from '../../../src/platform/errors.ts';
import { type FormBody, readForms } from '../../../src/transports/http/form-body.ts';
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
