// Tests the example of a telephone call with a peer that speaks Twilio's protocol, and a real Sonant.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { fromUlaw } from '../../examples/twilio/caller-voice.ts';
import type { Conversation } from '../../examples/twilio/phone-call.ts';
import { openServer } from '../../examples/twilio/server.ts';
import { isSigned } from '../../examples/twilio/signature.ts';
import { dominantFrequencyHz } from '../audio/measure-tone.ts';
import { type GatewayTestOptions, openTestGateway } from '../transports/http/open-gateway.ts';

type Queued = { audio: Buffer } | { mark: string };

const frameMs = 20;
const frameBytes = 160;
const streamSid = `MZ${'0'.repeat(32)}`;
const callSid = `CA${'0'.repeat(32)}`;
const accountSid = `AC${'0'.repeat(32)}`;

async function openTwilioPeer(url: string, headers: Record<string, string>) {
  const socket = new WebSocket(url, { headers });
  await once(socket, 'open');
  const queue: Queued[] = [];
  const messages: { event: string; bytes: number }[] = [];
  const played: Buffer[] = [];
  const marksReturned: { name: string; playedBytes: number; wasCleared: boolean }[] = [];
  let clearedBytes = 0;
  let sequence = 0;
  let chunk = 0;
  let loudFrames = 0;
  const send = (event: string, members: object) =>
    socket.send(JSON.stringify({ event, sequenceNumber: String(++sequence), streamSid, ...members }));
  const playedBytes = () => played.reduce((sum, { length }) => sum + length, 0);

  const returnMark = (name: string, wasCleared: boolean) => {
    marksReturned.push({ name, playedBytes: playedBytes(), wasCleared });
    send('mark', { mark: { name } });
  };
  const returnMarks = (): void => {
    for (let next = queue[0]; next && 'mark' in next; next = queue[0]) {
      queue.shift();
      returnMark(next.mark, false);
    }
  };
  const tick = () => {
    // Digital silence in u-law, and a loud square wave.
    const payload = Buffer.from(
      Array.from({ length: frameBytes }, (_, i) => (loudFrames > 0 ? (i % 20 < 10 ? 0x20 : 0xa0) : 0xff)),
    );
    const timestamp = String(chunk * frameMs);
    send('media', {
      media: { track: 'inbound', chunk: String(++chunk), timestamp, payload: payload.toString('base64') },
    });
    loudFrames = Math.max(0, loudFrames - 1);
    returnMarks();
    const next = queue.shift();
    if (next && 'audio' in next) played.push(next.audio);
    returnMarks();
  };
  socket.on('message', (data) => {
    const { event, streamSid: sid, media, mark } = JSON.parse(String(data));
    if (sid !== streamSid) throw new Error(`a message of another stream: ${String(data)}`);
    const audio = media ? Buffer.from(media.payload, 'base64') : Buffer.alloc(0);
    messages.push({ event, bytes: audio.length });
    if (event === 'media') queue.push({ audio });
    else if (event === 'mark') queue.push({ mark: mark.name });
    else if (event === 'clear') {
      for (const one of queue.splice(0)) {
        if ('mark' in one) returnMark(one.mark, true);
        else clearedBytes += one.audio.length;
      }
    }
  });
  socket.send(JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }));
  const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 };
  send('start', { start: { accountSid, streamSid, callSid, tracks: ['inbound'], mediaFormat, customParameters: {} } });
  const clock = setInterval(tick, frameMs);
  const closed = once(socket, 'close').then(() => clearInterval(clock));
  return {
    messages,
    marksReturned,
    closed,
    get played(): Buffer {
      return Buffer.concat(played);
    },
    get clearedBytes() {
      return clearedBytes;
    },
    get isPlaying() {
      return queue.length > 0;
    },
    /** The caller speaks for this long. */
    talk(ms: number) {
      loudFrames = ms / frameMs;
    },
    hangUp() {
      send('stop', { stop: { accountSid, callSid } });
      clearInterval(clock);
    },
  };
}

const samplesOf = (ulaw: Buffer): Int16Array => Int16Array.from(ulaw, fromUlaw);

/** A timeout longer than any pause on a busy machine. */
const patient = { timeout: 30_000 };
const authToken = 'a token of the tests';
const publicHost = 'agent.example.com';
const signatureOf = (url: string, fields: Record<string, string> = {}) => {
  const signed =
    url +
    Object.keys(fields)
      .sort()
      .map((name) => name + fields[name])
      .join('');
  return createHmac('sha1', authToken).update(signed).digest('base64');
};

async function openBridge(conversation: Conversation, options: GatewayTestOptions = {}) {
  const gateway = await openTestGateway(options);
  const lines: string[] = [];
  const { server, sockets, port } = await openServer({
    ...{
      url: gateway.url,
      apiKey: gateway.key,
      voice: 'tone-low',
      conversation,
      log: (line: string) => lines.push(line),
    },
    ...{ port: 0, publicHost, authToken },
  });
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
  });
  const streamUrl = `ws://127.0.0.1:${port}/stream`;
  const headers = { 'X-Twilio-Signature': signatureOf(`wss://${publicHost}/stream`) };
  return { ...gateway, lines, port, streamUrl, call: () => openTwilioPeer(streamUrl, headers) };
}

/** Sonant's audio for one turn. */
async function soundOf(text: string, { url, key }: { url: string; key: string }): Promise<Buffer> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/audio/speech/live`, { headers: { 'X-API-Key': key } });
  const pieces: Buffer[] = [];
  socket.on('message', (data: Buffer, isBinary) => void (isBinary && pieces.push(data)));
  await once(socket, 'open');
  const start = { type: 'start', voice_id: 'tone-low', output_format: 'ulaw', sample_rate: 8000 };
  for (const message of [start, { type: 'text', text }, { type: 'end' }]) socket.send(JSON.stringify(message));
  await once(socket, 'close');
  return Buffer.concat(pieces);
}

async function* inWords(text: string) {
  yield* text.match(/\s*\S+\s*/g) ?? [];
}

/** The sound, padded to whole frames. */
const padded = (sound: Buffer) => Buffer.concat([sound, Buffer.alloc((160 - (sound.length % 160)) % 160, 0xff)]);

test('a caller hears the greeting, interrupts the answer, and is told what was heard', async () => {
  const long = 'This is said at length, and nobody stops it. '.repeat(12).trim();
  const heard: string[] = [];
  const bridge = await openBridge({
    greet: () => inWords('Hello there. How may I help you?'),
    answer(text) {
      heard.push(text);
      return inWords(heard.length === 1 ? long : 'As you wish.');
    },
  });
  const peer = await bridge.call();
  const greeting = padded(await soundOf('Hello there. How may I help you?', bridge));

  await expect.poll(() => peer.played.length, patient).toBe(greeting.length);
  expect(peer.played.equals(greeting)).toBe(true);
  // The tone engine's words are tones between 200 and 500 Hz.
  const pitchHz = dominantFrequencyHz(samplesOf(peer.played.subarray(0, 2000)), 8000);
  expect(pitchHz > 190 && pitchHz < 510, `${pitchHz} Hz`).toBe(true);
  expect(peer.messages.filter(({ event }) => event === 'media').every(({ bytes }) => bytes === 160)).toBe(true);
  peer.talk(300);
  await expect.poll(() => heard, patient).toEqual(['Hello there. How may I help you?']);

  await expect.poll(() => peer.played.length - greeting.length, patient).toBeGreaterThan(8000);
  peer.talk(300);
  await expect.poll(() => heard.length, patient).toBe(2);
  const answer = await soundOf(long, bridge);
  const cut = peer.messages.findIndex(({ event }) => event === 'clear');
  const sentBefore = peer.messages.slice(0, cut).reduce((sum, { bytes }) => sum + bytes, 0);
  const playedOfAnswer = sentBefore - peer.clearedBytes - greeting.length;
  expect(peer.clearedBytes).toBeGreaterThan(0);
  expect(
    answer.subarray(0, playedOfAnswer).equals(peer.played.subarray(greeting.length, greeting.length + playedOfAnswer)),
  ).toBe(true);

  // The reported text ends at the last mark that was returned.
  const marksMs = peer.marksReturned.flatMap(({ wasCleared, playedBytes }) =>
    wasCleared ? [] : (playedBytes - greeting.length) / 8,
  );
  const [, playedMs, told] = /^interrupted after (\d+) ms; heard: (.*)$/.exec(bridge.lines.join('\n')) ?? [];
  expect(marksMs).toContain(Number(playedMs));
  expect(Number(playedMs)).toBeGreaterThan(0);
  expect(told).toBe(heard[1]);
  expect(long.startsWith(heard[1]!) && heard[1] !== '' && heard[1] !== long).toBe(true);

  // After the interrupted answer, only the next text is played.
  const last = padded(await soundOf('As you wish.', bridge));
  await expect.poll(() => peer.played.length, patient).toBe(greeting.length + playedOfAnswer + last.length);
  expect(peer.played.subarray(-last.length).equals(last)).toBe(true);
  peer.hangUp();
  await peer.closed;
  await expect.poll(() => bridge.calls.filter(({ api }) => api === 'websocket').length, patient).toBe(4);
});

test('the engine does not speak far ahead of what is heard, and stops when the caller hangs up', async () => {
  const bridge = await openBridge({
    greet: () => inWords('This is much more than anyone listens to. '.repeat(400)),
    answer: () => inWords('Yes.'),
  });
  const peer = await bridge.call();
  await expect.poll(() => peer.played.length, patient).toBeGreaterThan(8000);
  const { begun } = bridge.tone.counts;
  expect(begun).toBeLessThan(300);
  peer.hangUp();
  await peer.closed;
  await expect.poll(() => [bridge.tone.counts.running, bridge.schedule.state.speaking], patient).toEqual([0, 0]);
});

test('a call ends when Sonant refuses it', async () => {
  const bridge = await openBridge({ greet: () => inWords('Hello.'), answer: () => inWords('Yes.') });
  const { port, server } = await openServer({
    ...{ url: bridge.url, apiKey: 'snt_wrong', voice: 'tone-low', log: (line: string) => bridge.lines.push(line) },
    ...{ conversation: { greet: () => inWords('Hello.'), answer: () => inWords('') }, port: 0, publicHost, authToken },
  });
  onTestFinished(() => void server.close());
  const headers = { 'X-Twilio-Signature': signatureOf(`wss://${publicHost}/stream`) };
  const peer = await openTwilioPeer(`ws://127.0.0.1:${port}/stream`, headers);
  await peer.closed;
  expect(bridge.lines).toEqual([expect.stringMatching(/^the speech has ended: .*401/)]);
});

test('only Twilio is let in', async () => {
  const { streamUrl, port } = await openBridge({ greet: () => inWords('Hello.'), answer: () => inWords('Yes.') });
  const statusOf = async (headers: Record<string, string>) => {
    const socket = new WebSocket(streamUrl, { headers });
    socket.on('error', () => {});
    const [, answer] = await once(socket, 'unexpected-response');
    return answer.statusCode;
  };
  expect(await statusOf({})).toBe(403);
  expect(await statusOf({ 'X-Twilio-Signature': signatureOf('wss://elsewhere.example.com/stream') })).toBe(403);
  const fields = { CallSid: 'CA1', From: '+15550100', Caller: '+15550100' };
  const post = (signature: string) =>
    fetch(`http://127.0.0.1:${port}/voice`, {
      method: 'POST',
      headers: { 'X-Twilio-Signature': signature },
      body: new URLSearchParams(fields),
    });
  expect((await post(signatureOf(`https://${publicHost}/voice`))).status).toBe(403);
  const answered = await post(signatureOf(`https://${publicHost}/voice`, fields));
  expect([answered.status, answered.headers.get('content-type')]).toEqual([200, 'text/xml']);
  expect(await answered.text()).toContain(`<Stream url="wss://${publicHost}/stream"/>`);
});

test('a signature is that of Twilio’s documentation', () => {
  const fields = new URLSearchParams({
    ...{
      CallSid: 'CA1234567890ABCDE',
      Caller: '+14158675310',
      Digits: '1234',
      From: '+14158675310',
      To: '+18005551212',
    },
  });
  const url = 'https://example.com/myapp.php?foo=1&bar=2';
  expect(isSigned('L/OH5YylLD5NRKLltdqwSvS0BnU=', '12345', url, fields)).toBe(true);
  expect(isSigned('L/OH5YylLD5NRKLltdqwSvS0BnA=', '12345', url, fields)).toBe(false);
  expect(isSigned(undefined, '12345', url, fields)).toBe(false);
});

test('a webhook that breaks off in its body ends nothing but itself', async () => {
  const { port } = await openBridge({ greet: () => inWords('Hello.'), answer: () => inWords('Yes.') });
  const lost: unknown[] = [];
  const note = (error: unknown) => lost.push(error);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const socket = connect(port, '127.0.0.1');
  socket.write('POST /voice HTTP/1.1\r\nHost: agent\r\nContent-Length: 100\r\n\r\nhalf', () =>
    socket.resetAndDestroy(),
  );
  await once(socket, 'close');
  expect((await fetch(`http://127.0.0.1:${port}/elsewhere`, { method: 'POST' })).status).toBe(404);
  expect(lost).toEqual([]);
});
