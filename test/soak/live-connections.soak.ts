// Tests live speech connections to the real service: many idle, and peers that never start, send half a
// frame, stop reading, or read at playback speed. Measures the cost of each, and checks what each receives.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { mib, openService, rssOf, type Service, settled } from './open-service.ts';

const { IDLE_SECONDS = '200', IDLE = '500' } = process.env;
const [idleSeconds, idle] = [Number(IDLE_SECONDS), Number(IDLE)];
const path = '/api/audio/speech/live';
const start = { type: 'start', voice_id: 'clara', sample_rate: 8000 };

let service: Service;
beforeAll(async () => {
  service = await openService({ settings: { SONANT_CONNECTIONS_PER_ADDRESS: '4096' } });
});
afterAll(() => service.close());

async function open() {
  const url = service.url.replace('http', 'ws') + path;
  const socket = new WebSocket(url, { headers: { 'X-API-Key': service.key } });
  const messages: { type: string; error?: string }[] = [];
  let bytes = 0;
  let openedMs = 0;
  let closedAfterMs: number | undefined;
  const closed = once(socket, 'close').then(([code]) => {
    closedAfterMs = performance.now() - openedMs;
    return code as number;
  });
  socket.on('error', () => {});
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) bytes += data.length;
    else messages.push(JSON.parse(data.toString()));
  });
  await once(socket, 'open');
  openedMs = performance.now();
  const send = (message: object) => socket.send(JSON.stringify(message));
  return { socket, closed, send, messages, bytes: () => bytes, closedAfterMs: () => closedAfterMs };
}

/** Opens a peer that is sent a lot of audio. */
async function talk() {
  const peer = await open();
  peer.send({ ...start, sample_rate: 48_000 });
  for (let n = 0; n < 8; n++) peer.send({ type: 'text', text: 'This goes on and on and on and on. '.repeat(150) });
  return peer;
}

/** Reads 48 kHz audio at playback speed; returns a function with the number of bytes. */
function play(socket: WebSocket): () => number {
  let due = 0;
  let read = 0;
  socket.on('message', (data: Buffer) => {
    read += data.length;
    if (read > due) socket.pause();
  });
  const timer = setInterval(() => {
    due += 9_600;
    if (read <= due) socket.resume();
  }, 100);
  socket.on('close', () => clearInterval(timer));
  return () => read;
}

const closedWithin = (socket: WebSocket) =>
  Promise.race([once(socket, 'close').then(() => true), sleep(30_000).then(() => false)]);

/** Synthesizes a whole text. */
async function say({ send, messages, bytes }: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  send({ type: 'text', text: 'Good morning.' });
  send({ type: 'flush' });
  const untilMs = performance.now() + 60_000;
  while (!messages.some(({ type }) => type === 'flushed') && performance.now() < untilMs) await sleep(20);
  return bytes() > 4000;
}

/** A raw handshake, followed by these bytes. */
function sendRaw(bytes: Uint8Array): Promise<{ seconds: number }> {
  const begunMs = performance.now();
  const socket = connect(service.httpPort, '127.0.0.1');
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${service.httpPort}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `X-API-Key: ${service.key}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.on('error', () => {});
  socket.once('data', () => socket.write(bytes));
  return once(socket.resume(), 'close').then(() => ({ seconds: (performance.now() - begunMs) / 1000 }));
}

test(`${idle} idle connections for ${idleSeconds} s, beside peers that are silent`, async () => {
  const warm = await open();
  warm.send(start);
  await say(warm);
  const before = rssOf(service);
  const peers = [];
  for (let n = 0; n < idle; n++) {
    const peer = await open();
    peer.send(start);
    peers.push(peer);
  }
  await settled(() => Math.round(rssOf(service) / 2 ** 20), 1000, 10_000);
  const opened = rssOf(service);
  const silent = await open();
  // A text frame of 100 bytes, of which 4 are sent; and one of 60 000, of which 10 000 are sent.
  const halves = [
    sendRaw(Buffer.concat([Buffer.from([0x81, 0xe4, 1, 2, 3, 4]), Buffer.from('half')])),
    sendRaw(Buffer.concat([Buffer.from([0x81, 0xfe, 0xea, 0x60, 1, 2, 3, 4]), Buffer.alloc(10_000, 'x')])),
  ];
  const stalled = await talk();
  stalled.socket.pause();
  const slow = await talk();
  const played = play(slow.socket);
  await sleep(idleSeconds * 1000);
  const lost = peers.filter(({ closedAfterMs }) => closedAfterMs() !== undefined).length;
  const after = rssOf(service);
  console.log(
    `${idle} idle connections: ${((opened - before) / idle / 1024).toFixed(1)} KiB each when they are open, ` +
      `${((after - before) / idle / 1024).toFixed(1)} KiB after ${idleSeconds} s; ${lost} lost`,
  );
  expect(lost).toBe(0);
  expect(await silent.closed).toBe(1011);
  expect(slow.closedAfterMs()).toBeUndefined();
  console.log(`a peer that reads as slowly as it plays: still open, ${mib(played())} read`);
  const answered = closedWithin(stalled.socket);
  stalled.socket.resume();
  expect(await answered).toBe(true);
  slow.socket.terminate();
  console.log(
    `a peer that never starts: ${silent.messages.at(-1)?.error} after ${Math.round(silent.closedAfterMs()! / 1000)} s; one that ` +
      `sends half a frame: closed after ${(await Promise.all(halves)).map(({ seconds }) => `${Math.round(seconds)} s`).join(' and ')}`,
  );
  expect(silent.messages.at(-1)).toMatchObject({ type: 'error', error: 'engine_timeout' });
  const said: boolean[] = [];
  // One after the other, because a busy machine may refuse peers that speak at once.
  for (const peer of peers) said.push(await say(peer));
  console.log(`${said.filter(Boolean).length} of the ${idle} idle connections then speak`);
  expect(said.filter((isSaid) => !isSaid)).toEqual([]);
  for (const { socket } of [...peers, warm]) socket.terminate();
});
