// Tests attacks by callers who have a key or guess one: slow bodies and slow readers, bodies that are hard to parse,
// bombs, endless connections and live sockets, and webhook receivers that never answer.
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { writeEpub } from '../library/books/epub-writer.ts';
import { hostileBooks } from '../library/books/hostile-books.ts';
import { hostileEpubs } from '../library/books/hostile-epubs.ts';
import {
  type Attacked,
  attackerAddress,
  attackMs,
  openAttacked,
  openCall,
  openingMs,
  openSession,
  statusOf,
  tally,
} from './attacks.ts';
import { chunksOf } from './long-text.ts';
import { medianAndWorst } from './open-service.ts';
import { openRaw } from './raw-connection.ts';

const readers = 100;
const slowBodies = 50;
const liveSockets = 200;
const connectionsHeld = 4300;
const fragmentSockets = 500;
/** Memory growth that all fragments together may cause. */
const fragmentBytesMax = 100_000_000;
const pipelines = 30;
const loops = 8;

let attacked: Attacked;
beforeAll(async () => {
  attacked = await openAttacked({ SONANT_BAD_KEYS_PER_MINUTE: '60', SONANT_WEBHOOK_ALLOW: '127.0.0.1' });
}, openingMs);
afterAll(() => attacked.end(), openingMs);

const agent = new Agent({ keepAlive: true, maxSockets: loops, localAddress: attackerAddress });

/** The status of the reply. */
async function post(path: string, type: string, body: Uint8Array | string, key = attacked.attackersKey) {
  const { httpPort } = attacked.service;
  const headers = { 'X-API-Key': key, 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) };
  const call = request({ agent, host: '127.0.0.1', port: httpPort, method: 'POST', path, headers });
  call.end(body);
  const [reply] = (await once(call, 'response')) as [IncomingMessage];
  reply.resume();
  await once(reply, 'end');
  return reply.statusCode!;
}

/** Sends requests, a few at a time, until `isOver` returns true. Returns the statuses. */
async function repeat(isOver: () => boolean, send: (n: number) => Promise<number>): Promise<number[]> {
  const statuses: number[] = [];
  let n = 0;
  const loop = async () => {
    while (!isOver()) statuses.push(await send(n++));
  };
  await Promise.all(Array.from({ length: loops }, loop));
  return statuses;
}

test('bodies that arrive a byte at a time', () =>
  attacked.attack('slow bodies', async () => {
    const start = performance.now();
    const drip = async () => {
      const raw = openRaw(attacked.service.httpPort, attackerAddress);
      const head = ['POST /api/audio/speech HTTP/1.1', 'Host: a', 'Content-Type: application/json'];
      await raw.write(
        `${head.join('\r\n')}\r\nX-API-Key: ${attacked.attackersKey}\r\nContent-Length: 1000000\r\n\r\n{`,
      );
      while (statusOf(raw) === 'nothing' && performance.now() - start < 60_000) {
        await raw.write(' ');
        await sleep(300);
      }
      raw.socket.destroy();
      return statusOf(raw);
    };
    const ends = await Promise.all(Array.from({ length: slowBodies }, drip));
    expect(ends).not.toContain('nothing');
    return `${slowBodies} bodies of a byte every 300 ms: ${tally(ends)} after 30 s`;
  }));

test('streams that nobody reads', () =>
  attacked.attack('slow readers', async (isOver) => {
    const json = JSON.stringify({ voice_id: 'arthur', method: 'streaming', text_chunks: chunksOf(2) });
    const head = ['POST /api/audio/speech HTTP/1.1', 'Host: a', 'Content-Type: application/json'];
    const all = `${head.join('\r\n')}\r\nX-API-Key: ${attacked.usualKey}\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
    const raws = Array.from({ length: readers }, () => openRaw(attacked.service.httpPort, attackerAddress));
    for (const { socket } of raws) {
      socket.pause();
      socket.write(all);
    }
    while (!isOver()) await sleep(100);
    for (const { socket } of raws) socket.destroy();
    return `${readers} streams of ten minutes asked for with a key of the usual 20 at once, none read`;
  }));

const mebibyte = 2 ** 20;
const json = (fields: object) => JSON.stringify({ voice_id: 'arthur', ...fields });
const nested = (open: string, close: string, bytes: number) => {
  const count = Math.floor(bytes / (open.length + close.length));
  return open.repeat(count) + close.repeat(count);
};

const badBodies: readonly (readonly [string, (n: number) => string])[] = [
  ['a megabyte of text', () => json({ text: 'a'.repeat(mebibyte - 1000) })],
  ['arrays in arrays', () => nested('[', ']', mebibyte - 10)],
  ['members without end', () => `{${Array.from({ length: 80_000 }, (_, n) => `"a${n}":1`).join(',')}}`],
  ['a broken end', () => `{"text":"${'\\u0061'.repeat(170_000)}`],
];

test('bodies of a megabyte that are refused', () =>
  attacked.attack('bad bodies of 1 MiB', async (isOver) => {
    const bodies = badBodies.map(([, make]) => make(0));
    const statuses = await repeat(isOver, (n) =>
      post('/api/audio/speech', 'application/json', bodies[n % bodies.length]!),
    );
    expect(new Set(statuses)).toEqual(new Set([400]));
    return `${badBodies.map(([name]) => name).join(', ')}: ${tally(statuses)}`;
  }));

test('SSML that expands, nests and pauses', () =>
  attacked.attack('SSML bombs', async (isOver) => {
    const entities = Array.from({ length: 9 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`).join('');
    const documents = [
      `<!DOCTYPE speak [<!ENTITY e0 "lol">${entities}]><speak>&e9;</speak>`,
      `<speak>${nested('<prosody rate="slow">', '</prosody>', 200_000)}</speak>`,
      `<speak>${'<break time="10s"/>'.repeat(20_000)}</speak>`,
      `<speak>${'<say-as interpret-as="characters">9</say-as>'.repeat(20_000)}</speak>`,
    ];
    const send = (n: number) =>
      post('/api/audio/speech', 'application/json', json({ ssml: documents[n % documents.length] }));
    const statuses = await repeat(isOver, send);
    expect(new Set(statuses)).toEqual(new Set([400]));
    return `entities, nesting, pauses, elements without end: ${tally(statuses)}`;
  }));

test('lexicons that expand, and that are as large as may be', () =>
  attacked.attack('lexicon bombs', async (isOver) => {
    const open =
      '<lexicon version="1.0" alphabet="ipa" xml:lang="en" xmlns="http://www.w3.org/2005/01/pronunciation-lexicon">';
    const lexeme = '<lexeme><grapheme>a</grapheme><alias>b</alias></lexeme>';
    const documents = [
      `<!DOCTYPE lexicon [<!ENTITY a "${'b'.repeat(10_000)}">]>${open}${'&a;'.repeat(1000)}</lexicon>`,
      `${open}${lexeme.repeat(60_000)}</lexicon>`,
      `${open}${nested('<lexeme>', '</lexeme>', 3_000_000)}</lexicon>`,
    ];
    const type = 'application/pls+xml';
    const statuses = await repeat(isOver, (n) => post('/api/lexicons', type, documents[n % documents.length]!));
    for (const status of statuses) expect([400, 413, 503]).toContain(status);
    return `an entity bomb, 60 000 entries, 3 MB of nesting: ${tally(statuses)}`;
  }));

test('books that are bombs', () =>
  attacked.attack('EPUB bombs', async (isOver) => {
    const books = hostileEpubs.filter(([shape]) => shape.startsWith('a bomb')).map(([, files]) => writeEpub(files()));
    const statuses = await repeat(isOver, (n) => post('/api/books', 'application/epub+zip', books[n % books.length]!));
    for (const status of statuses) expect([400, 413, 429, 503]).toContain(status);
    return `chapters of 20 to 40 MiB of one byte, as stated and not: ${tally(statuses)}`;
  }));

test('books that are hard to read', () => {
  // The books are created in advance, because this takes longer than the attack.
  const made = hostileBooks.map(({ type, bytes }) => ({ type, bytes: bytes() }));
  const books = made.filter(({ bytes }) => bytes.length < 5 * mebibyte);
  return attacked.attack('hostile books', async (isOver) => {
    const send = (n: number) => {
      const { type, bytes } = books[n % books.length]!;
      return post('/api/books', type, bytes);
    };
    const statuses = await repeat(isOver, send);
    for (const status of statuses) expect([200, 400, 413, 429, 503]).toContain(status);
    return `${books.length} books of nesting, floods and bombs: ${tally(statuses)}`;
  });
});

test('guesses at a key, over HTTP and gRPC', () =>
  attacked.attack('key guessing', async (isOver) => {
    const guess = (n: number) => attacked.attackersKey.replace(/.{6}$/, String(n).padStart(6, '0'));
    const session = openSession(attacked.service);
    let calls = 0;
    const overGrpc = (async () => {
      while (!isOver() && !session.destroyed) {
        const stream = openCall(session, guess(calls++));
        stream.resume().end();
        await once(stream, 'close').catch(() => {});
      }
    })();
    const statuses = await repeat(isOver, (n) => post('/api/audio/speech', 'application/json', '{}', guess(n)));
    await overGrpc;
    session.destroy();
    for (const status of statuses) expect([401, 429]).toContain(status);
    return `${tally(statuses)}, and ${calls} calls over gRPC`;
  }));

test('connections without end', () =>
  attacked.attack('a flood of connections', async (isOver) => {
    const { httpPort, grpcPort } = attacked.service;
    const raws = [];
    for (let n = 0; n < connectionsHeld || !isOver(); n++) {
      raws.push(openRaw(n % 2 === 0 ? httpPort : grpcPort, attackerAddress));
      if (n >= connectionsHeld) raws.shift()!.socket.destroy();
      if (n % 100 === 0) await sleep(10);
    }
    const open = raws.filter(({ isClosed }) => !isClosed()).length;
    for (const { socket } of raws) socket.destroy();
    return `${connectionsHeld} held that send nothing, and more; ${open} were open at the end`;
  }));

test('requests ahead of their answers', () =>
  attacked.attack('pipelined HTTP', async (isOver) => {
    const one = `GET /api/voices HTTP/1.1\r\nHost: a\r\nX-API-Key: ${attacked.usualKey}\r\n\r\n`;
    let [connections, sent] = [0, 0];
    const loop = async () => {
      while (!isOver()) {
        const raw = openRaw(attacked.service.httpPort, attackerAddress);
        connections++;
        while (!isOver() && (await Promise.race([raw.write(one.repeat(60)), sleep(attackMs, false)]))) sent += 60;
        raw.socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: pipelines }, loop));
    return `${pipelines} connections at once, ${connections} in all, on which ${sent} requests were sent`;
  }));

test('live sockets that idle, send nonsense, or never read', () =>
  attacked.attack('live sockets', async (isOver) => {
    const url = `ws://127.0.0.1:${attacked.service.httpPort}/api/audio/speech/live`;
    const headers = { 'X-API-Key': attacked.usualKey };
    const ends: string[] = [];
    const sockets = Array.from({ length: liveSockets }, (_, n) => {
      const socket = new WebSocket(url, { headers, localAddress: attackerAddress });
      socket.on('error', () => {});
      socket.on('close', (code) => ends.push(`closed with ${code}`));
      socket.on('open', () => {
        if (n % 4 === 1) socket.send(Buffer.alloc(60_000, 0xff));
        if (n % 4 === 2) socket.send('[{'.repeat(10_000));
        if (n % 4 === 3) {
          socket.pause();
          socket.send(JSON.stringify({ type: 'start', voice_id: 'arthur', sample_rate: 48_000 }));
          const text = 'This goes on and on and on and on. '.repeat(150);
          for (let i = 0; i < 4; i++) socket.send(JSON.stringify({ type: 'text', text }));
        }
      });
      return socket;
    });
    while (!isOver()) await sleep(100);
    const outcome = tally(ends);
    for (const socket of sockets) socket.terminate();
    return `${liveSockets}: a quarter each idle, of bytes that mean nothing, of broken JSON, and unread; ${outcome}`;
  }));

/** A text frame with a mask of zeros, which changes nothing. */
function textFrame(message: string): Buffer {
  const length = message.length < 126 ? [0x80 | message.length] : [0xfe, message.length >> 8, message.length & 0xff];
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), Buffer.from(message)]);
}

/** A WebSocket, and the status of its upgrade. */
async function openFlood(path: string, key: string, isOver: () => boolean) {
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
  const keys = `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nX-API-Key: ${key}\r\n`;
  const raw = openRaw(attacked.service.httpPort, attackerAddress);
  await raw.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n${upgrade}${keys}\r\n`);
  while (raw.answered() === '' && !raw.isClosed() && !isOver()) await sleep(20);
  return { raw, status: statusOf(raw) };
}

/** Opens WebSockets repeatedly, and sends as fast as the service reads. */
async function flood(isOver: () => boolean, path: string, head: string, more: (n: number) => string): Promise<string> {
  let n = 0;
  const { raw, status } = await openFlood(path, attacked.usualKey, isOver);
  if (status === '101' && head !== '') await raw.write(textFrame(head));
  while (status === '101' && !isOver()) {
    const frames = Buffer.concat(Array.from({ length: 200 }, () => textFrame(more(n++))));
    // The service does not read while it handles earlier data.
    if (!(await Promise.race([raw.write(frames), sleep(attackMs, false)]))) break;
  }
  raw.socket.destroy();
  return status;
}

const ofContext = { model_id: 'sonic-3', voice: { mode: 'id', id: 'arthur' }, output_format: { sample_rate: 16_000 } };
const toElevenLabs = '/v1/text-to-speech/arthur/multi-stream-input?output_format=pcm_16000';

test.each<[string, number, string, string, (n: number) => string]>([
  ['live', 60, '/api/audio/speech/live', json({ type: 'start' }), () => '{"type":"text","text":"a"}'],
  ['ElevenLabs', 10, toElevenLabs, '', () => '{"text":"a ","context_id":"x"}'],
  ['Cartesia', 30, '/tts/websocket', '', (n) => JSON.stringify({ ...ofContext, context_id: `c${n}`, transcript: 'a' })],
])('a flood of messages: %s', (api, count, path, head, more) =>
  attacked.attack(`a flood of messages, ${api}`, async (isOver) => {
    const statuses: string[] = [];
    const loop = async () => {
      while (!isOver()) {
        statuses.push(await flood(isOver, path, head, more));
        await sleep(100);
      }
    };
    await Promise.all(Array.from({ length: count }, loop));
    return `${count} sockets of a key with the usual limits: ${tally(statuses)}`;
  }),
);

/** Fragments of one byte, none of them final, with masks of zeros. */
const fragments = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, n) => Buffer.from([n === 0 ? 0x01 : 0x00, 0x81, 0, 0, 0, 0, 0x61])));

test('messages of fragments without end', () => {
  const attack = async () => {
    const [many, few] = [fragments(16_000), fragments(60)];
    const hold = async (n: number): Promise<string> => {
      const { raw, status } = await openFlood('/api/audio/speech/live', attacked.attackersKey, () => false);
      // Every other socket stays within the fragment limit, and waits.
      if (status === '101') await raw.write(n % 2 === 0 ? many : few);
      const since = performance.now();
      while (!raw.isClosed() && performance.now() - since < 40_000) await sleep(50);
      const code = /\x88.(..)[\s\S]{0,125}$/.exec(raw.answered())?.[1];
      return raw.isClosed() ? `closed with ${code ? Buffer.from(code, 'latin1').readUInt16BE() : 'no code'}` : 'open';
    };
    const ends = await Promise.all(Array.from({ length: fragmentSockets }, (_, n) => hold(n)));
    expect(ends).not.toContain('open');
    return `${fragmentSockets} sockets, 16 000 fragments of a byte on every other one, 60 on the rest: ${tally(ends)}`;
  };
  return attacked.attack('unfinished fragments', attack, fragmentBytesMax);
});

test('receivers of webhooks that never answer', () =>
  attacked.attack('webhook receivers', async (isOver) => {
    let [arrived, open] = [0, 0];
    let mostOpen = 0;
    const receiver = createServer((incoming) => {
      arrived++;
      mostOpen = Math.max(mostOpen, ++open);
      incoming.socket.once('close', () => open--);
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    expect(await post('/api/auth/webhook-secret', 'application/json', '')).toBe(201);
    const webhook_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/never`;
    const job = (n: number) => json({ chapters: [{ text: `Number ${n}.` }], webhook_url });
    const statuses: number[] = [];
    for (let n = 0; !isOver(); n++) {
      statuses.push(await post('/api/audio/jobs', 'application/json', job(n)));
      await sleep(100);
    }
    await expect.poll(() => arrived, { timeout: 60_000 }).toBeGreaterThan(0);
    await sleep(attackMs);
    receiver.closeAllConnections();
    receiver.close();
    expect(mostOpen).toBeLessThanOrEqual(4);
    return `jobs: ${tally(statuses)}; ${arrived} webhooks begun, at most ${mostOpen} at once`;
  }));

test('voices without end, and changes of them', () =>
  attacked.attack('voices', async (isOver) => {
    const start = performance.now();
    const isFull = () => performance.now() - start > attackMs / 2;
    const bindings = [{ engine: 'flite', voice_id: 'arthur' }];
    const made = await repeat(isFull, (n) =>
      post('/api/voices', 'application/json', JSON.stringify({ voice_id: `hostile-${n}`, name: 'One', bindings })),
    );
    const probes: number[] = [];
    const changes: number[] = [];
    for (let n = 0; !isOver(); n++) {
      const body = JSON.stringify({ name: `Changed ${n}` });
      const url = `${attacked.service.url}/api/voices/hostile-0`;
      const headers = { 'X-API-Key': attacked.attackersKey, 'Content-Type': 'application/json' };
      const change = fetch(url, { method: 'PATCH', headers, body });
      const probed = performance.now();
      await (await fetch(`${attacked.service.url}/healthz`)).arrayBuffer();
      probes.push(performance.now() - probed);
      changes.push((await change).status);
      await sleep(Math.max(0, 59 - (performance.now() - probed)));
    }
    for (const status of made) expect([201, 400]).toContain(status);
    expect(made.filter((status) => status === 201).length).toBeLessThanOrEqual(200);
    expect(new Set(changes)).toEqual(new Set([200]));
    const { median, worst } = medianAndWorst(probes);
    const waits = `median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms`;
    return `${tally(made)}; then ${tally(changes)} changes of one, 17 a second at most, with /healthz: ${waits}`;
  }));
