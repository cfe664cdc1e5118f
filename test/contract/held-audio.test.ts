// Tests stored audio in a process's memory, deleted there or at another replica because its owner deletes it or the
// speaker withdraws consent. The audio is never served again, neither by URL nor from the cache.
import { afterAll, expect, test } from 'vitest';
import { openCloning } from './open-cloning.ts';
import { openReplicas } from './open-replicas.ts';

const opened = await openReplicas(2, afterAll);
/** Waits until replicas have read the database again, which takes half a second at most. */
const readAnew = () => new Promise((resolve) => setTimeout(resolve, 600));

test.skipIf(!opened)('audio in memory that is deleted at another replica is gone within a second', async () => {
  const { replicas, key } = opened!;
  const [one, other] = replicas as [(typeof replicas)[0], (typeof replicas)[0]];
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const voices = (await (await fetch(`${one.url}/api/voices`, { headers })).json()) as {
    voices: { voice_id: string }[];
  };
  const body = JSON.stringify({ voice_id: voices.voices[0]!.voice_id, text: 'Hello there.' });
  const speak = (url: string) => fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
  const hear = async () => {
    const buffer = JSON.stringify({ ...JSON.parse(body), return_format: 'buffer' });
    const answer = await fetch(`${other.url}/api/audio/speech`, { method: 'POST', headers, body: buffer });
    await answer.arrayBuffer();
    return answer.headers.get('X-Cache');
  };
  const made = await speak(one.url);
  const { audio_url: address } = (await made.json()) as { audio_url: string };
  const path = new URL(address).pathname;
  const get = async () => {
    const answer = await fetch(other.url + path);
    await answer.arrayBuffer();
    return answer.status;
  };
  for (let n = 0; n < 4; n++) expect([await get(), await hear()]).toEqual([200, 'HIT']);
  const id = made.headers.get('X-Audio-Id');
  expect((await fetch(`${one.url}/api/audio/${id}`, { method: 'DELETE', headers })).status).toBe(204);
  await readAnew();
  expect(await get()).toBe(410);
  expect(await hear()).toBe('MISS');
  expect((await speak(other.url)).headers.get('X-Audio-Id')).not.toBe(id);
});

test.skipIf(!opened)(
  'audio in memory of a person who withdraws consent at another replica is served no more',
  async () => {
    const { replicas, key } = opened!;
    const [one, other] = replicas as [(typeof replicas)[0], (typeof replicas)[0]];
    const send = async (url: string, body: object | FormData) => {
      const isForm = body instanceof FormData;
      const type = isForm ? {} : { 'Content-Type': 'application/json' };
      const sent = isForm ? body : JSON.stringify(body);
      const answer = await fetch(url, { method: 'POST', headers: { 'X-API-Key': key, ...type }, body: sent });
      return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    const record = async (text: string) => {
      const fields = { voice_id: 'arthur', text, return_format: 'buffer' };
      return new Blob([(await send(`${one.url}/api/audio/speech`, fields)).bytes]);
    };
    const form = new FormData();
    const fields = { voice_id: 'ada', name: 'Ada', language_code: 'en-US', speaker_name: 'Ada L.' };
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const sentence = 'The boat left the harbour early, long before the sun came up. Nobody had seen it go.';
    form.set('reference_audio', await record(sentence));
    form.set('consent_audio', await record('I agree that my voice becomes tones.'));
    expect((await send(`${one.url}/api/voices`, form)).status).toBe(201);
    const speak = (return_format: string) =>
      send(`${other.url}/api/audio/speech`, { voice_id: 'ada', text: 'I am Ada.', return_format });
    await expect.poll(async () => (await speak('buffer')).status).toBe(200);
    const { audio_url } = JSON.parse((await speak('url')).bytes.toString());
    const get = async () => (await fetch(other.url + new URL(audio_url).pathname)).status;
    for (let n = 0; n < 3; n++) expect([await get(), (await speak('buffer')).status]).toEqual([200, 200]);
    expect((await send(`${one.url}/api/voices/ada/consent/revoke`, {})).status).toBe(200);
    await expect.poll(async () => (await speak('buffer')).status).toBe(409);
    await readAnew();
    expect([await get(), (await speak('buffer')).status, (await speak('url')).status]).toEqual([410, 409, 409]);
  },
);

test('audio in memory of a voice whose person withdraws consent, or which is disabled, is served no more at once', async () => {
  const { send, speak, form } = await openCloning(afterAll);
  const { body } = await send('POST', '/api/voices', form());
  const fields = { voice_id: body.voice_id, text: 'Good evening to all.' };
  const made = await speak(fields);
  const get = async () => (await send('GET', new URL(made.body.audio_url).pathname)).status;
  const hear = async () => {
    const { status, headers } = await speak({ ...fields, return_format: 'buffer' });
    return [status, headers.get('X-Cache')];
  };
  for (let n = 0; n < 4; n++) expect([await get(), await hear()]).toEqual([200, [200, 'HIT']]);
  const voicePath = `/api/voices/${body.voice_id}`;
  expect((await send('PATCH', voicePath, { enabled: false })).status).toBe(200);
  expect(await hear()).toEqual([409, null]);
  expect((await send('PATCH', voicePath, { enabled: true })).status).toBe(200);
  for (let n = 0; n < 4; n++) expect((await hear())[0]).toBe(200);
  expect((await send('POST', `${voicePath}/consent/revoke`)).status).toBe(200);
  expect([await get(), await hear()]).toEqual([410, [409, null]]);
});
