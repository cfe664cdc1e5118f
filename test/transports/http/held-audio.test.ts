// Tests that audio that is removed for any reason is also removed from memory, and that all its requests are counted.
import { expect, onTestFinished, test } from 'vitest';
import { expectedBytesOf } from '../../../src/speech/plan.ts';
import { openCloning } from '../../contract/open-cloning.ts';
import { parseSpeechRequest } from '../../speech/parse-request.ts';
import { bytesOf, openTestGateway } from './open-gateway.ts';

const text = 'Hello there, world.';

async function openHeld(options = {}) {
  const gateway = await openTestGateway(options);
  const made = await gateway.speak({ text });
  const url = gateway.here(((await made.json()) as { audio_url: string }).audio_url);
  const id = made.headers.get('X-Audio-Id')!;
  const whole = await bytesOf(await fetch(url));
  for (let n = 0; n < 3; n++) expect((await bytesOf(await fetch(url))).equals(whole)).toBe(true);
  return { gateway, url, id, whole };
}
const statusOf = async (answer: Response) => {
  await answer.arrayBuffer();
  return answer.status;
};

test('ranges, validators and heads are the same from memory', async () => {
  const { url, id, whole } = await openHeld();
  const part = await fetch(url, { headers: { Range: 'bytes=43-99' } });
  expect([part.status, part.headers.get('Content-Range')]).toEqual([206, `bytes 43-99/${whole.length}`]);
  expect((await bytesOf(part)).equals(whole.subarray(43, 100))).toBe(true);
  expect(await statusOf(await fetch(url, { headers: { 'If-None-Match': `"${id}"` } }))).toBe(304);
  const head = await fetch(url, { method: 'HEAD' });
  expect([head.status, head.headers.get('Content-Length')]).toEqual([200, String(whole.length)]);
});

test('audio that its owner deletes is gone at once', async () => {
  const { gateway, url, id } = await openHeld();
  const path = gateway.here(`http://sonant.test/api/audio/${id}`);
  expect((await fetch(path, { method: 'DELETE', headers: { 'X-API-Key': gateway.key } })).status).toBe(204);
  expect(await statusOf(await fetch(url))).toBe(410);
  const again = await gateway.speak({ text });
  expect(again.headers.get('X-Cache')).toBe('MISS');
});

test('audio that expires is gone at once', async () => {
  const { url } = await openHeld({ retentionMs: 1_500 });
  while ((await statusOf(await fetch(url))) === 200) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await statusOf(await fetch(url))).toBe(410);
});

test('a hit of the cache in memory has the same sound', async () => {
  const { gateway, whole } = await openHeld();
  for (let n = 0; n < 3; n++) {
    const hit = await gateway.speak({ text, return_format: 'buffer' });
    expect([hit.status, hit.headers.get('X-Cache')]).toEqual([200, 'HIT']);
    expect((await bytesOf(hit)).equals(whole)).toBe(true);
  }
});

test('a hit of the cache in memory is charged like any other, and is the answer to the same request only', async () => {
  const { gateway } = await openHeld();
  const speak = async (fields: object = {}) => {
    const answer = await gateway.speak({ text, return_format: 'buffer', ...fields });
    await answer.arrayBuffer();
    return answer.headers.get('X-Cache');
  };
  const usedRequests = async () => {
    const [{ n }] = (await gateway.store.query('select sum(requests) as n from usage')) as [{ n: number }];
    return Number(n);
  };
  for (let n = 0; n < 3; n++) await speak();
  const before = await usedRequests();
  for (let n = 0; n < 5; n++) expect(await speak()).toBe('HIT');
  expect(await usedRequests()).toBe(before + 5);
  for (const other of [
    { text: `${text} ` },
    { output_format: 'pcm' },
    { speaking_rate: 1.5 },
    { sample_rate: 24_000 },
    { voice_id: 'tone-high' },
    { normalize: false },
    { text: '<speak>Hello there, world.</speak>', markup: 'ssml' },
  ])
    expect([other, await speak(other)]).toEqual([other, 'MISS']);
  const others = await gateway.makeKey();
  const answer = await gateway.speak({ text, return_format: 'buffer' }, { headers: { 'X-API-Key': others } });
  await answer.arrayBuffer();
  expect(answer.headers.get('X-Cache')).toBe('MISS');
});

test('audio that makes room for others is served no more', async () => {
  const bytes = expectedBytesOf(parseSpeechRequest({ voice_id: 'tone-low', text }));
  const { gateway, url, id } = await openHeld({ room: { accountBytesMax: 7 * bytes } });
  const hear = async () => {
    const answer = await gateway.speak({ text, return_format: 'buffer' });
    await answer.arrayBuffer();
    return answer.headers.get('X-Audio-Id');
  };
  for (let n = 0; n < 3; n++) expect(await hear()).toBe(id);
  let made = 0;
  while ((await statusOf(await fetch(url))) === 200 && made < 40) {
    // Backdates everything stored so far, so that it is old and long unused.
    await gateway.store.query(
      'update clips set created_at_ms = created_at_ms - 120000, used_at_ms = used_at_ms - 120000',
    );
    await (await gateway.speak({ text: `${text} And number ${made++}.` })).arrayBuffer();
  }
  expect(await statusOf(await fetch(url))).toBe(410);
  expect(await hear()).not.toBe(id);
});

test('audio in memory of a voice whose person withdraws consent, or which is disabled, is served no more at once', async () => {
  const { send, speak, form } = await openCloning(onTestFinished);
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
