// Tests floods on a WebSocket: each message is handled in its own turn of the event loop, counts as a request by its
// key, and must arrive completely. Raw frames are sent, many per write.
import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { openTestGateway, type TestGateway } from './open-gateway.ts';

const shared = await openTestGateway({ isLimited: true }, afterAll);
const live = '/api/audio/speech/live';
const cartesia = '/tts/websocket';
const [elevenLabs, multi] = ['', 'multi-'].map((kind) => `/v1/text-to-speech/tone-low/${kind}stream-input`);
const [text, ping, final] = [0x1, 0x9, 0x80];

/** A masked frame; a mask of zeros changes nothing. */
function frame(opcode: number, payload: object | string): Buffer {
  const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0xfe, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([opcode, ...length, 0, 0, 0, 0]), bytes]);
}
const message = (payload: object | string) => frame(final | text, payload);
const start = message({ type: 'start', voice_id: 'tone-low' });

async function connect({ url, key: usual }: TestGateway, path = live, key = usual) {
  const headers = {
    'X-API-Key': key,
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const asked = request(url + path, { headers }).end();
  const [, socket] = (await once(asked, 'upgrade')) as [unknown, Socket];
  let received = Buffer.alloc(0);
  socket.on('data', (bytes) => {
    received = Buffer.concat([received, bytes]);
  });
  socket.on('error', () => {});
  // A connection that is reset is closed too; `once` of `node:events` would reject then.
  const isClosed = new Promise((resolve) => socket.once('close', resolve));
  return {
    socket,
    isClosed,
    count: (word: string) => received.toString('latin1').split(word).length - 1,
    /** The code of the close frame, which is the last frame. */
    async closeCode() {
      const closeFrame = () => received.lastIndexOf(final | 0x8);
      await expect.poll(() => received.at(closeFrame() + 2)! >> 1, { timeout: 20_000 }).toBe(1000 >> 9);
      socket.end();
      return received.readUInt16BE(closeFrame() + 2);
    },
  };
}

const flooded = 1000;

test.each([
  [live, start, message({ type: 'text', text: '', unknown: 1 }), '"warning"'],
  [cartesia, '', message({ transcript: 'a' }), '"type":"error"'],
  [multi!, '', message({ text: 5 }), '"error"'],
  // A message that is refused would close this connection.
  [elevenLabs!, '', Buffer.concat([message({}), frame(final | ping, 'answered')]), 'answered'],
])('other clients are served during a flood of WebSocket messages to %s', async (path, first, flood, answer) => {
  const { socket, count } = await connect(shared, path);
  const frames = Array.from({ length: flooded }, () => flood);
  const others = fetch(`${shared.url}/healthz`);
  socket.write(Buffer.concat([Buffer.from(first), ...frames]));
  await others;
  const before = count(answer);
  expect(before).toBeLessThan(flooded / 2);
  await expect.poll(() => count(answer), { timeout: 20_000 }).toBe(flooded);
  socket.destroy();
});

const refusals: Record<string, string> = { [cartesia]: '"error_code":"rate_limit_exceeded"' };

test.each([
  ['messages', live, message({ type: 'text', text: '' })],
  ['pings', live, frame(final | ping, '')],
  ['messages', cartesia, message({ context_id: 'none', cancel: true })],
  ['messages', elevenLabs!, message({})],
  ['messages', multi!, message({})],
])('500 %s to %s count as a request of the key', async (_, path, flood) => {
  const { key } = await shared.keyVerifier.create({ limits: { requestsPerMinute: 2 } });
  const { socket, count, closeCode } = await connect(shared, path, key);
  const first = path === live ? start : flood;
  const last = frame(final | ping, 'the 999th');
  socket.write(Buffer.concat([first, ...Array.from({ length: 997 }, () => flood), last]));
  await expect.poll(() => count('the 999th'), { timeout: 20_000 }).toBe(1);
  const refusal = refusals[path] ?? '"error":"rate_limit_exceeded"';
  expect(count(refusal)).toBe(0);
  socket.write(flood);
  expect(await closeCode()).toBe(1008);
  expect(count(refusal)).toBe(1);
});

test('a message in 64 fragments is taken, and one of more is refused', async () => {
  const inFragments = (size: number) => [
    frame(text, '{"type":"text","text":"","unknown":'),
    ...Array.from({ length: size - 2 }, () => frame(0, ' ')),
  ];
  const { socket, count, closeCode } = await connect(shared);
  socket.write(Buffer.concat([start, ...inFragments(64), frame(final, '1}')]));
  await expect.poll(() => count('"warning"')).toBe(1);
  socket.write(Buffer.concat(inFragments(67)));
  expect(await closeCode()).toBe(1008);
});

test.each([
  ['frame', message({ type: 'flush' }).subarray(0, 12)],
  ['fragments', frame(text, '{')],
])(
  'an unfinished %s ends the connection after 10 s, whatever its peer does then',
  async (_, part) => {
    const { socket, isClosed, count } = await connect(shared);
    socket.write(Buffer.concat([start, message({ type: 'flush' }), part]));
    const pings = setInterval(() => socket.write(part.length > 8 ? '' : frame(final | ping, '')), 1000);
    await isClosed;
    clearInterval(pings);
    expect(count('unfinished message')).toBe(1);
  },
  30_000,
);

test('a peer that closes or leaves behind many messages that wait is gone', async () => {
  const before = shared.calls.length;
  const close = frame(final | 0x8, '\u0003\u00e8');
  const many = Array.from({ length: 2000 }, () => message({ type: 'text', text: ' ' }));
  const closing = await connect(shared);
  closing.socket.write(Buffer.concat([start, ...many, frame(final | 0x8, '')]));
  await closing.isClosed;
  const leaving = await connect(shared);
  leaving.socket.write(Buffer.concat([start, ...many, close]), () => leaving.socket.destroy());
  await expect.poll(() => shared.calls.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(before + 2);
});
