// Tests that stored audio is served until its voice is deleted, even if the voice's bindings change.
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({}, afterAll);
const key = await gateway.makeKey(['voices:read', 'voices:write', 'speech:synthesize', 'admin']);
const headers = { 'X-API-Key': key };
const send = async (method: string, path: string, body?: object) =>
  (await gateway.send(path, { method, headers, ...(body && { body }) })).status;
const bound = (...voices: string[]) => voices.map((voice_id) => ({ engine: 'tone', voice_id }));
/** Speaks with the voice; returns a function that requests the status of the link. */
const linkTo = async (voice_id: string) => {
  const answer = await gateway.speak({ voice_id, text: 'Good night.' }, { headers });
  const { audio_url } = (await answer.json()) as { audio_url: string };
  return () => send('GET', audio_url);
};

test("an engine's own voice whose bindings are changed, restored and changed again", async () => {
  const path = '/api/voices/tone-high';
  const readLink = await linkTo('tone-high');
  for (const bindings of [bound('tone-high', 'tone-low'), undefined, bound('tone-high')]) {
    const status = await (bindings ? send('PATCH', path, { bindings }) : send('DELETE', path));
    expect([status, await readLink()]).toEqual([bindings ? 200 : 204, 200]);
  }
});

test('one that was made under the id of one that was deleted: what that one has said is gone', async () => {
  const make = () => send('POST', '/api/voices', { voice_id: 'anew', name: 'Anew', bindings: bound('tone-low') });
  expect(await make()).toBe(201);
  const readOld = await linkTo('anew');
  expect([await send('DELETE', '/api/voices/anew'), await make()]).toEqual([204, 201]);
  const readNew = await linkTo('anew');
  expect(await send('PATCH', '/api/voices/anew', { bindings: bound('tone-high') })).toBe(200);
  expect([await readOld(), await readNew()]).toEqual([410, 200]);
});
