// Tests Connect on the port of the gateway, with the deadline of a caller, and TLS on it. test/contract/transports.test.ts compares all transports.
import { request as secureRequest } from 'node:https';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { testCertificate } from '../rpc/test-certificate.ts';
import { openTestGateway } from './open-gateway.ts';
import { connectRaw } from './raw-http.ts';

const gateway = await openTestGateway({}, afterAll);
test('Expect: 100-continue is confirmed for a call', async () => {
  const raw = connectRaw(gateway);
  const body = '{}';
  const head = `POST /sonant.v1.VoiceService/ListVoices HTTP/1.1\r\nHost: a\r\nX-API-Key: ${gateway.key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
  await raw.send(head);
  expect((await raw.head()).status).toBe(100);
  await raw.send(body);
  expect((await raw.end()).toString()).toContain('"voices":[');
});

test('with a certificate it speaks TLS', async () => {
  const secure = await openTestGateway({ settings: { tls: testCertificate } });
  const answer = await new Promise<{ statusCode?: number }>((resolve, reject) => {
    const call = secureRequest({
      port: secure.gateway.port,
      host: '127.0.0.1',
      path: '/healthz',
      ca: testCertificate.cert,
      rejectUnauthorized: false,
    });
    call.on('response', resolve).on('error', reject).end();
  });
  expect([answer.statusCode, await json(answer as never)]).toEqual([200, { status: 'ok' }]);
});

test('a port in use is reported', async () => {
  await expect(
    openTestGateway({ settings: { address: { host: '127.0.0.1', port: gateway.gateway.port } } }),
  ).rejects.toThrow(
    `cannot listen for HTTP on 127.0.0.1:${gateway.gateway.port}: the port is in use by another program`,
  );
});

test('a silent stream sends a keep-alive every fifteen seconds', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const quiet = await openTestGateway({ trouble: { hangsAfterPieces: 4 } });
  const answer = await quiet.send('/api/audio/speech/sse', {
    body: { voice_id: 'tone-low', text: 'one two three four five six' },
  });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const ended = (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
  })();
  const keepalives = () => text.split('\n\n: keepalive').length - 1;
  while (!text.includes('speech.audio.delta') || quiet.tone.counts.pieces < 4) await sleep(5);
  await vi.advanceTimersByTimeAsync(14_999);
  await sleep(100);
  expect(keepalives()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  // A keep-alive is left out while earlier bytes still wait for the socket.
  for (const count of [1, 2, 3])
    for (await sleep(20); keepalives() < count; await sleep(20)) await vi.advanceTimersByTimeAsync(15_000);
  await reader.cancel();
  await ended;
});

test('a call that cannot begin by its deadline is refused at once, others wait', async () => {
  const path = '/sonant.v1.SpeechService/SynthesizeSpeech';
  const body = { voiceId: 'tone-low', text: 'Soon.' };
  const gateway = await openTestGateway({ speakingMax: 1, trouble: { pieceDelayMs: 20 } });
  const chunks = Array(3).fill('a text that takes its time to be spoken to the end ');
  const first = await gateway.speak({ text_chunks: chunks, method: 'streaming' });
  expect(gateway.schedule.state.speaking).toBe(1);
  const headers = { 'connect-timeout-ms': '600' };
  const refused = await gateway.send(path, { body, headers });
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await refused.json()).toMatchObject({ code: 'unavailable' });
  expect(gateway.calls.at(-1)).toMatchObject({ failure: { reason: 'overloaded' } });
  const patient = gateway.send(path, { body, headers: { 'connect-timeout-ms': '60000' } });
  const plain = gateway.send(path, { body });
  await expect.poll(() => gateway.schedule.state.waiting.interactive).toBe(2);
  await first.arrayBuffer();
  expect([(await patient).status, (await plain).status]).toEqual([200, 200]);
});
