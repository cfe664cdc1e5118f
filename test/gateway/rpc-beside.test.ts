// Connect and gRPC-Web on the gateway's own port, one request through every door, and the other ways to reach the port:
// TLS, and connections that another listener has taken.
import { once } from 'node:events';
import { request as secureRequest } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { OutputFormat, ReturnFormat, SpeechService } from '../../gen/sonant/v1/speech_pb.ts';
import { fromConnectError } from '../../src/rpc/status.ts';
import { testCertificate } from '../rpc/test-certificate.ts';
import { readEvents, soundIn } from './event-reader.ts';
import { bytesOf, type Door, openDoor } from './open-door.ts';
import { connectRaw } from './raw-http.ts';

const door = await openDoor({}, afterAll);
const headers = { 'X-API-Key': door.key };
const clients = (one: Pick<Door, 'url' | 'services'>): Record<string, Client<typeof SpeechService>> => ({
  connect: createClient(
    SpeechService,
    createConnectTransport({ baseUrl: one.url, httpVersion: '1.1', useBinaryFormat: true }),
  ),
  'connect json': createClient(SpeechService, createConnectTransport({ baseUrl: one.url, httpVersion: '1.1' })),
  'grpc-web': createClient(SpeechService, createGrpcWebTransport({ baseUrl: one.url, httpVersion: '1.1' })),
  local: createClient(SpeechService, one.services.transport),
});

const outputFormats = { wav: OutputFormat.WAV, pcm: OutputFormat.PCM, mp3: OutputFormat.MP3 } as const;

describe.each([
  ['wav', 24000],
  ['pcm', 44100],
  ['mp3', 48000],
] as const)('one text as %s at %i Hz', (format, sampleRateHz) => {
  const text = `Hello there, this is ${format}.`;
  const body = { text, output_format: format, sample_rate: sampleRateHz };
  const message = { voiceId: 'tone-low', sampleRateHz, outputFormat: outputFormats[format] };

  test('has the same bytes and chars whole, through every door', async () => {
    const sound = await door.speak({ ...body, return_format: 'buffer' });
    const bytes = await bytesOf(sound);
    const link = (await (await door.speak(body)).json()) as { audio_url: string; chars: number };
    expect(String(link.chars)).toBe(sound.headers.get('X-Chars'));
    expect((await bytesOf(await fetch(door.here(link.audio_url)))).equals(bytes)).toBe(true);
    for (const [name, client] of Object.entries(clients(door))) {
      const answer = await client.synthesizeSpeech(
        { ...message, text, returnFormat: ReturnFormat.INLINE },
        { headers },
      );
      expect(answer.chars, name).toBe(link.chars);
      expect(bytes.equals(answer.audio.value as Uint8Array), name).toBe(true);
    }
  });

  test('has the same bytes as a stream, through every door', async () => {
    const chunks = { text_chunks: [text, 'And more.'], output_format: format, sample_rate: sampleRateHz };
    const bytes = await bytesOf(await door.speak({ ...chunks, method: 'streaming' }));
    const events = await readEvents(
      await door.ask('/api/audio/speech/sse', { body: { voice_id: 'tone-low', ...chunks } }),
    );
    expect(soundIn(events).equals(bytes)).toBe(true);
    for (const [name, client] of Object.entries(clients(door))) {
      const pieces: Uint8Array[] = [];
      for await (const { event } of client.streamSpeech({ ...message, textChunks: chunks.text_chunks }, { headers })) {
        if (event.case === 'audio') pieces.push(event.value.audioBytes);
      }
      expect(bytes.equals(Buffer.concat(pieces)), name).toBe(true);
    }
  });
});

test('what is wrong is wrong through every door, for the same reason', async () => {
  const wrong: [object, object, string][] = [
    [{ text: '' }, { text: '' }, 'invalid_request'],
    [{ text: 'x'.repeat(5001) }, { text: 'x'.repeat(5001) }, 'text_too_long'],
    [{ text: 'a', voice_id: 'nobody' }, { text: 'a', voiceId: 'nobody' }, 'voice_not_found'],
    [{ text: 'a', language_code: 'fr' }, { text: 'a', languageCode: 'fr' }, 'invalid_request'],
    [{ text: 'a', speaking_rate: 9 }, { text: 'a', speakingRate: 9 }, 'invalid_request'],
  ];
  for (const [fields, message, reason] of wrong) {
    expect(await (await door.speak(fields)).json()).toMatchObject({ error: reason });
    for (const client of Object.values(clients(door))) {
      const error = await client
        .synthesizeSpeech({ voiceId: 'tone-low', ...message }, { headers })
        .catch((thrown) => thrown);
      expect(fromConnectError(error)).toMatchObject({ reason });
    }
  }
});

test('who asks whether to send the body of a call is told to', async () => {
  const raw = connectRaw(door);
  const body = '{}';
  const head = `POST /sonant.v1.VoiceService/ListVoices HTTP/1.1\r\nHost: a\r\nX-API-Key: ${door.key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`;
  await raw.send(head);
  expect((await raw.head()).status).toBe(100);
  await raw.send(body);
  expect((await raw.end()).toString()).toContain('"voices":[');
});

test('with a certificate it speaks TLS', async () => {
  const secure = await openDoor({ settings: { tls: testCertificate } });
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
  await expect(openDoor({ settings: { tls: { cert: 'none', key: 'none' } } })).rejects.toThrow(
    'the TLS certificate and key cannot be used',
  );
});

test('a port that is taken is said to be', async () => {
  await expect(openDoor({ settings: { address: { host: '127.0.0.1', port: door.gateway.port } } })).rejects.toThrow(
    `cannot listen for HTTP on 127.0.0.1:${door.gateway.port}: another program listens there already`,
  );
});

test('connections that another listener has taken are served and drained alike', async () => {
  const inner = await openDoor({ settings: { address: undefined as never } });
  expect(inner.gateway.port).toBe(0);
  const listener = createServer(inner.gateway.accept).listen(0, '127.0.0.1');
  onTestFinished(() => void listener.close());
  await once(listener, 'listening');
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const answer = await fetch(`${url}/healthz`);
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }]);
  await inner.gateway.drain(1_000);
});

test('a stream that is silent says every fifteen seconds that it lives', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const quiet = await openDoor({ trouble: { hangsAfterPieces: 4 } });
  const answer = await quiet.ask('/api/audio/speech/sse', {
    body: { voice_id: 'tone-low', text: 'one two three four five six' },
  });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const readUntil = async (part: string) => {
    while (!text.includes(part)) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`the stream ended: ${text}`);
      text += value;
    }
  };
  await readUntil('speech.audio.delta');
  while (quiet.tone.counts.pieces < 4) await sleep(5);
  await sleep(100);
  expect(text).not.toContain('keepalive');
  await vi.advanceTimersByTimeAsync(15_000);
  await readUntil('\n\n: keepalive\n\n');
  await vi.advanceTimersByTimeAsync(30_000);
  await readUntil(': keepalive\n\n: keepalive\n\n: keepalive\n\n');
  await reader.cancel();
});
