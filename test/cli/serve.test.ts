// `sonant serve` as an operator starts it: the whole of it on ports of its own, a sound by its link, and a gentle end.
import { once } from 'node:events';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect, test } from 'vitest';
import { VoiceService } from '../../gen/sonant/v1/voice_pb.ts';
import { serve } from './serving-program.ts';

test('speaks, stores, plays from the link, deletes, and ends on a signal', async () => {
  const { child, ended, url, key, said } = await serve([], { SONANT_LEAVE_SECONDS: '1' });
  expect(said).toContain(key);
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ voice_id: 'arthur', text: 'Hello there.' });
  const answer = await fetch(`${url}/api/audio/speech`, { method: 'POST', headers, body });
  const { audio_url } = (await answer.json()) as { audio_url: string };
  const path = new URL(audio_url).pathname;
  const sound = await fetch(url + path);
  expect([sound.status, sound.headers.get('content-type')]).toEqual([200, 'audio/wav']);
  expect((await sound.arrayBuffer()).byteLength).toBeGreaterThan(50_000);
  const gone = await fetch(`${url}/api${path.replace(/\.wav$/, '')}`, { method: 'DELETE', headers });
  expect(gone.status).toBe(204);
  expect((await fetch(url + path)).status).toBe(410);
  const farewell = once(child.stdout!, 'data');
  child.kill('SIGTERM');
  expect(String(await farewell)).toMatch(
    /^Stopping: requests are taken for 1 s more, then what runs may finish for 20 s\./,
  );
  expect((await fetch(`${url}/api/voices`, { headers })).status).toBe(200);
  expect(await ended).toBe(0);
});

test('serves gRPC and REST on one port', async () => {
  const { url, key, said, ports } = await serve(['--single-port']);
  expect(said).toMatch(/^Sonant serves HTTP and gRPC on 127\.0\.0\.1:\d+\.\n/);
  expect(said).toContain(`curl -sSf ${url}/`);
  expect(new Set(ports).size).toBe(1);
  const voices = createClient(VoiceService, createGrpcTransport({ baseUrl: url }));
  const { voices: listed } = await voices.listVoices({}, { headers: { 'x-api-key': key } });
  const answer = await fetch(`${url}/api/voices`, { headers: { 'X-API-Key': key } });
  expect(((await answer.json()) as { voices: unknown[] }).voices).toHaveLength(listed.length);
});
