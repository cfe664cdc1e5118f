// Stored audio that a replica has in memory, ended at another replica: its owner deletes it, or the person whose voice it
// is withdraws consent.
import { afterAll, expect, test } from 'vitest';
import { openReplicas } from './open-replicas.ts';

const opened = await openReplicas(2, afterAll);

test.skipIf(!opened)('audio in memory that is deleted at another replica is gone within a second', async () => {
  const { replicas, key } = opened!;
  const [one, other] = replicas as [(typeof replicas)[0], (typeof replicas)[0]];
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const voices = (await (await fetch(`${one.url}/api/voices`, { headers })).json()) as {
    voices: { voice_id: string }[];
  };
  const body = JSON.stringify({ voice_id: voices.voices[0]!.voice_id, text: 'Hello there.' });
  const speak = (url: string) => fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
  const made = await speak(one.url);
  const { audio_url: address } = (await made.json()) as { audio_url: string };
  const path = new URL(address).pathname;
  const get = async () => {
    const answer = await fetch(other.url + path);
    await answer.arrayBuffer();
    return answer.status;
  };
  for (let n = 0; n < 4; n++) expect(await get()).toBe(200);
  const id = made.headers.get('X-Audio-Id');
  expect((await fetch(`${one.url}/api/audio/${id}`, { method: 'DELETE', headers })).status).toBe(204);
  // What is read of the database is read anew after half a second at the latest.
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(await get()).toBe(410);
  expect((await speak(other.url)).headers.get('X-Cache')).toBe('MISS');
});
