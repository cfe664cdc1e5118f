// Tests misbehaving peers of live speech: a peer that sends without end, a peer that requests and never reads, and many
// that come and go. test/soak/live-connections.soak.ts has slow tests of silent peers.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { openTestGateway, type TestGateway } from './open-gateway.ts';

const path = '/api/audio/speech/live';
const shared = await openTestGateway({}, afterAll);
/** A timeout longer than any pause on a busy machine. */
const patient = { timeout: 30_000 };
const start = { type: 'start', voice_id: 'tone-low' };

async function connect({ url, key }: TestGateway, to = path) {
  const socket = new WebSocket(url.replace('http', 'ws') + to, { headers: { 'X-API-Key': key } });
  const received: { type: string; error?: string }[] = [];
  const closed = once(socket, 'close').then(([code]) => code as number);
  socket.on('error', () => {});
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) received.push(JSON.parse(data.toString()));
  });
  await once(socket, 'open');
  const send = (message: object) => socket.send(JSON.stringify(message));
  return { socket, received, closed, send };
}

test('a peer that sends text faster than it is spoken is refused', async () => {
  const gateway = await openTestGateway({ trouble: { pieceDelayMs: 5 } });
  const { received, closed, send } = await connect(gateway);
  send(start);
  for (let i = 0; i < 16; i++) send({ type: 'text', text: 'word '.repeat(13_000) });
  expect(await closed).toBe(1008);
  expect(received.at(-1)).toMatchObject({ type: 'error', error: 'rate_limit_exceeded' });
  await expect.poll(() => gateway.schedule.state.speaking, patient).toBe(0);
});

/** Unknown members whose warning has the maximum length. */
const manyUnknown = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}`.padEnd(60, 'x'), n]));

test.each([
  ['turns', () => ({ type: 'flush' })],
  ['interrupts', () => ({ type: 'interrupt' })],
  ['unknown members', () => ({ type: 'text', text: '', ...manyUnknown })],
])('a peer that sends %s and does not read is closed', async (_, message) => {
  const gateway = await openTestGateway();
  const { socket, send } = await connect(gateway);
  socket.pause();
  // The peer's audio fills the buffers, so that the answers wait.
  send({ ...start, sample_rate: 48_000 });
  for (let i = 0; i < 8; i++) send({ type: 'text', text: 'This goes on and on and on and on. '.repeat(150) });
  const begun = () => gateway.tone.counts.pieces;
  await expect
    .poll(async () => {
      const before = begun();
      await sleep(500);
      return before > 0 && begun() === before;
    }, patient)
    .toBe(true);
  const untilMs = performance.now() + patient.timeout;
  while (gateway.calls.length === 0 && performance.now() < untilMs) {
    for (let i = 0; i < 200 && socket.readyState === WebSocket.OPEN; i++) send(message());
    await sleep(1);
  }
  expect(gateway.calls.at(-1)).toMatchObject({ api: 'websocket' });
  socket.terminate();
});

const ofCartesia = {
  context_id: 'c',
  continue: true,
  model_id: 'sonic-3',
  voice: { mode: 'id', id: 'tone-low' },
  output_format: { container: 'raw', encoding: 'pcm_s16le', sample_rate: 48_000 },
};
const elevenLabsPath = '/v1/text-to-speech/tone-low/multi-stream-input?output_format=pcm_48000';

test.each([
  [path, { ...start, sample_rate: 48_000 }, (text: string) => ({ type: 'text', text })],
  ['/tts/websocket', undefined, (transcript: string) => ({ ...ofCartesia, transcript })],
  [elevenLabsPath, undefined, (text: string) => ({ context_id: 'c', text })],
])(
  'a peer of %s that sends text and never reads is closed after a while',
  async (to, first, toMessage) => {
    const gateway = await openTestGateway({ settings: { readerStallMs: 500 } });
    const { socket, send } = await connect(gateway, to);
    const callsBefore = gateway.calls.length;
    socket.pause();
    if (first) send(first);
    const untilMs = performance.now() + patient.timeout;
    while (gateway.calls.length === callsBefore && performance.now() < untilMs) {
      if (socket.readyState === WebSocket.OPEN) send(toMessage('This goes on and on and on and on. '.repeat(20)));
      await sleep(10);
    }
    expect(gateway.calls).toHaveLength(callsBefore + 1);
    await expect.poll(() => gateway.schedule.state.speaking, patient).toBe(0);
    socket.terminate();
  },
  60_000,
);

test('many that come and go leave nothing behind', async () => {
  const resources = () => process.getActiveResourcesInfo().filter((name) => name !== 'FSReqCallback').length;
  const comeAndGo = async (n: number) => {
    const { socket, send, closed, received } = await connect(shared);
    if (n % 4 > 0) send(start);
    if (n % 4 > 1) send({ type: 'text', text: 'Good morning. How are you' });
    if (n % 4 > 2) await expect.poll(() => received.length, patient).toBeGreaterThan(0);
    if (n % 2 === 0) socket.terminate();
    else socket.close();
    await closed;
  };
  const comeAll = async (count: number) => {
    for (let n = 0; n < count; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => comeAndGo(n + i)));
    await expect.poll(() => [shared.schedule.state.speaking, shared.tone.counts.running], patient).toEqual([0, 0]);
  };
  await comeAll(40);
  const before = resources();
  const callsBefore = shared.calls.length;
  await comeAll(200);
  await expect.poll(() => shared.calls.length, patient).toBe(callsBefore + 200);
  await expect.poll(resources, patient).toBeLessThanOrEqual(before + 5);
});
