// Tests tickets for streams and for live speech: who may use them, how often, for what, and how they become invalid.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSeal } from '../../../src/accounts/sign-in/sealed-tokens.ts';
import { createTicketRows, createTickets } from '../../../src/api/stream-tickets.ts';
import { requestBytesMax } from '../../../src/platform/net/request-limits.ts';
import { toStoredRequest } from '../../../src/speech/request.ts';
import { readEventBody } from '../../../src/transports/http/synthesis/speech-over-http.ts';
import { openReplicaStores } from '../../distributed/storage.ts';
import { listen } from '../../free-port.ts';
import { type ReadEvent, readEvents } from './event-reader.ts';
import { bytesOf, errorOf, openTestGateway, type TestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);
const url = '/api/audio/speech/sse';
const chunks = { voice_id: 'tone-low', text_chunks: ['Hello there.', 'How are you today?'], sample_rate: 24000 };

const last = (events: readonly ReadEvent[]) => events.at(-1)!;
interface Ticket {
  id: string;
  sse_url: string;
  expires_at: string;
}
const ticketOf = async (gateway: TestGateway, body: object, key = gateway.key) =>
  (await (await gateway.send(`${url}/tickets`, { body, headers: { 'X-API-Key': key } })).json()) as Ticket;

describe('a ticket', () => {
  test.each([
    [{ voice_id: 'nobody' }, 404, 'voice_not_found'],
    [{ language_code: 'fr' }, 400, 'invalid_request'],
    [{ text_chunks: ['Привет, как дела?'] }, 400, 'invalid_request'],
  ])('is refused where its stream would be: %j', async (fields, status, error) => {
    const answer = await shared.send(`${url}/tickets`, { body: { ...chunks, ...fields } });
    expect(await errorOf(answer)).toEqual([status, error]);
  });

  test('begins the stream once, without a key', async () => {
    const answer = await shared.send(`${url}/tickets`, { body: { ...chunks, foo: 1 } });
    expect([answer.status, answer.headers.get('Cache-Control'), answer.headers.get('X-Ignored-Fields')]).toEqual([
      201,
      'no-store',
      'foo',
    ]);
    const ticket = (await answer.json()) as Ticket;
    expect(Object.keys(ticket)).toEqual(['id', 'sse_url', 'expires_at']);
    expect(ticket.sse_url).toBe(`http://sonant.test${url}/tickets/${ticket.id}`);
    expect(answer.headers.get('Location')).toBe(ticket.sse_url);
    expect(ticket.id).toMatch(/^tkt_[0-9A-Z]{36}$/);
    expect(Math.abs(Date.parse(ticket.expires_at) - Date.now() - 60_000)).toBeLessThan(5_000);

    const events = await readEvents(await fetch(shared.here(ticket.sse_url)));
    expect(last(events).event).toBe('speech.audio.done');
    expect(await errorOf(await fetch(shared.here(ticket.sse_url)))).toEqual([410, 'stream_expired']);
    expect(await errorOf(await fetch(`${shared.url}${url}/tickets/tkt_NONE`))).toEqual([410, 'stream_expired']);
  });

  test('takes as large a request as its stream does, and begins it', async () => {
    const bodyOf = (padding: string) => {
      const text_chunks = Array.from({ length: 50 }, () => `<speak>Hello.<!-- ${padding} --></speak>`);
      return { voice_id: 'tone-low', text_chunks, markup: 'ssml' };
    };
    const sizeOf = (body: object) => Buffer.byteLength(JSON.stringify(body));
    const paddingChars = Math.floor((requestBytesMax - sizeOf(bodyOf(''))) / 50);
    const body = bodyOf('é"'.repeat(Math.floor(paddingChars / 4)));
    expect(requestBytesMax - sizeOf(body)).toBeLessThan(200);
    expect((await bytesOf(await shared.send(url, { body }))).length).toBeGreaterThan(0);
    const { sse_url } = await ticketOf(shared, body);
    expect(last(await readEvents(await fetch(shared.here(sse_url)))).event).toBe('speech.audio.done');
  });

  test('of a key that was revoked meanwhile begins nothing', async () => {
    const { key, apiKey } = await shared.keyVerifier.create({});
    const { sse_url } = await ticketOf(shared, chunks, key);
    await shared.keyVerifier.revoke(apiKey.keyId);
    expect(await errorOf(await fetch(shared.here(sse_url)))).toEqual([401, 'invalid_api_key']);
  });

  test('is the only thing that resumes its stream without a key: the id of its key does not', async () => {
    const { key, apiKey } = await shared.keyVerifier.create({});
    const { sse_url } = await ticketOf(shared, chunks, key);
    const stream = await fetch(shared.here(sse_url));
    const from = { 'Last-Event-ID': `${stream.headers.get('X-Audio-Id')}:0` };
    await readEvents(stream);
    const byKeyId = await fetch(`${shared.url}${url}/tickets/${apiKey.keyId}`, { headers: from });
    expect(await errorOf(byKeyId)).toEqual([410, 'stream_expired']);
    for (const wrong of [`${shared.url}${url}/tickets/tkt_NONE`, shared.here(sse_url).toLowerCase()])
      expect((await fetch(wrong, { headers: from })).status).toBe(410);
    expect(last(await readEvents(await fetch(shared.here(sse_url), { headers: from }))).event).toBe(
      'speech.audio.done',
    );
  });

  test('cannot be hoarded', async () => {
    const body = { voice_id: 'tone-low', text_chunks: Array(10).fill('x'.repeat(5000)) };
    const key = await shared.makeKey();
    const post = () => shared.send(`${url}/tickets`, { body, headers: { 'X-API-Key': key } });
    for (let i = 0; i < 40; i++) expect((await post()).status).toBe(201);
    const answer = await post();
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([429, '60']);
    await ticketOf(shared, body);
  });

  test('for a single letter counts too, is valid at any replica, and stores no key, sealed or not', async () => {
    const stores = await openReplicaStores();
    const [here, there] = stores.map((store) =>
      createTickets({ rows: createTicketRows(store), seal: createSeal('a secret of both') }),
    );
    const { request } = readEventBody({ voice_id: 'a', text: 'x' }, false);
    const issue = () => here!.issue(request, { keyId: 'key', accountId: 'account' });
    const { ticketId } = await issue();
    const [row] = await stores[0]!.query<{ sealed: string }>('select * from tickets');
    expect(await createSeal('a secret of both').open('ticket', row!.sealed)).toEqual({
      ...{ request: toStoredRequest(request), ticketId, use: 'ticket' },
      ...{ iat: expect.any(Number), exp: expect.any(Number) },
    });
    const taken = await Promise.all([here, there, here, there].map((replica) => replica!.use(ticketId)));
    expect(taken.filter(Boolean)).toEqual([expect.objectContaining({ ticketId, keyId: 'key', request })]);
    await stores[0]!.query(
      `insert into tickets (ticket_id, key_id, account_id, chars, sealed, expires_at_ms)
        values ('tkt_x', 'another key', 'account', 1999000, '', $1)`,
      Date.now() + 60_000,
    );
    await issue();
    await expect(issue()).rejects.toThrow('too many unused tickets');
  });

  test('plays in an EventSource, through a connection that breaks, and ends it', async () => {
    const gateway = await openTestGateway({ trouble: { pieceDelayMs: 10 } });
    const sockets: Socket[] = [];
    const listener = createServer((socket) => {
      sockets.push(socket);
      gateway.gateway.accept(socket);
    });
    onTestFinished(() => void listener.close());
    const port = await listen(listener);
    const body = {
      voice_id: 'tone-low',
      text_chunks: ['one two three four five six seven eight nine ten eleven twelve'],
      output_format: 'pcm',
    };
    const { sse_url } = await ticketOf(gateway, body);
    // EventSource reconnects after three seconds; the script closes it when everything has arrived.
    const script = `
      const source = new EventSource(process.argv[1]);
      const alive = setInterval(() => {}, 1000);
      source.addEventListener('speech.audio.delta', ({ data }) => process.stdout.write(JSON.parse(data).audio + '\\n'));
      source.addEventListener('speech.audio.done', ({ data }) => {
        process.stdout.write(data);
        source.close();
        clearInterval(alive);
      });
    `;
    const reader = spawn(process.execPath, [
      '--experimental-eventsource',
      '--no-warnings',
      '-e',
      script,
      sse_url.replace('sonant.test', `127.0.0.1:${port}`),
    ]);
    const output = text(reader.stdout);
    while (gateway.tone.counts.pieces < 6) await sleep(5);
    for (const socket of sockets) socket.destroy();
    const lines = (await output).split('\n');

    const done = JSON.parse(lines.pop()!) as { bytes: number };
    const sound = Buffer.concat(lines.map((line) => Buffer.from(line, 'base64')));
    expect(sound.length).toBe(done.bytes);
    expect(gateway.requests.map(({ route, status }) => `${route} ${status}`)).toEqual([
      `${url}/tickets 201`,
      `${url}/tickets/:id 200`,
      `${url}/tickets/:id 200`,
    ]);
    expect(gateway.tone.counts.begun).toBe(gateway.tone.counts.finished);
    const streamed = await bytesOf(await gateway.speak({ ...body, method: 'streaming' }));
    expect(streamed.equals(sound)).toBe(true);
  });
});

const path = '/api/audio/speech/live';
const toSocketUrl = (address: string, url = shared.url) =>
  url.replace('http', 'ws') + address.slice('ws://sonant.test'.length);

interface LiveTicket {
  id: string;
  live_url: string;
  expires_at: string;
}

async function liveTicketOf(key = shared.key): Promise<LiveTicket> {
  const answer = await shared.send(`${path}/tickets`, { method: 'POST', headers: { 'X-API-Key': key } });
  expect([answer.status, answer.headers.get('Cache-Control')]).toEqual([201, 'no-store']);
  return (await answer.json()) as LiveTicket;
}

/** The status and reason of a refused upgrade, or the session's answer. */
async function connect(address: string, headers: Record<string, string> = {}, url?: string): Promise<unknown[]> {
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(toSocketUrl(address, url), { headers });
  const types: string[] = [];
  socket.on('message', (data, isBinary) => types.push(isBinary ? 'sound' : JSON.parse(String(data)).type));
  socket.on('open', () => {
    for (const message of [{ type: 'start', voice_id: 'tone-low' }, { type: 'text', text: 'Hello.' }, { type: 'end' }])
      socket.send(JSON.stringify(message));
  });
  const refused = Promise.withResolvers<unknown[]>();
  socket.on('unexpected-response', async (_request, answer) => {
    const body = Buffer.concat(await Array.fromAsync(answer)).toString();
    refused.resolve([answer.statusCode, JSON.parse(body).error]);
    socket.terminate();
  });
  socket.on('error', () => {});
  const closed = once(socket, 'close').then(([code]) => [code, ...new Set(types)]);
  return Promise.race([refused.promise, closed]);
}

const spoken = [1000, 'info', 'sound', 'flushed', 'done'];
const refused = [410, 'stream_expired'];

test('a live ticket opens one connection, without a key', async () => {
  const ticket = await liveTicketOf();
  expect(Object.keys(ticket)).toEqual(['id', 'live_url', 'expires_at']);
  expect(ticket.id).toMatch(/^tkt_[0-9A-Z]{36}$/);
  expect(ticket.live_url).toBe(`ws://sonant.test${path}?ticket=${ticket.id}`);
  expect(Math.abs(Date.parse(ticket.expires_at) - Date.now() - 60_000)).toBeLessThan(5_000);
  const answers = await Promise.all([1, 2, 3].map(() => connect(ticket.live_url)));
  expect(answers.toSorted((one, other) => Number(one[0]) - Number(other[0]))).toEqual([refused, refused, spoken]);
  expect(shared.calls.filter(({ api, status }) => api === 'websocket' && status === 'OK')).toHaveLength(1);
  expect(await connect(`ws://sonant.test${path}?ticket=tkt_NONE`)).toEqual(refused);
  expect(await connect(`ws://sonant.test${path}?ticket=a&ticket=b`)).toEqual(refused);
});

test('an unknown parameter refuses the upgrade where the gateway is strict, and leaves the ticket', async () => {
  const strict = await openTestGateway({ settings: { isStrict: true } });
  const answer = await strict.send(`${path}/tickets`, { method: 'POST' });
  const { live_url } = (await answer.json()) as LiveTicket;
  const toStrict = (address: string) => connect(address, {}, strict.url);
  expect(await toStrict(`${live_url}&colour=red`)).toEqual([400, 'invalid_request']);
  expect(await toStrict(live_url)).toEqual(spoken);
});

test('a live ticket is not used up by a request that is no upgrade, or from a page of another origin', async () => {
  const { live_url } = await liveTicketOf();
  const plain = await fetch(toSocketUrl(live_url).replace('ws', 'http'));
  expect(await errorOf(plain)).toEqual([400, 'invalid_request']);
  expect(await connect(live_url, { Origin: 'https://evil.example' })).toEqual([403, 'access_denied']);
  expect(await connect(live_url)).toEqual(spoken);
});

test('a live ticket expires', async () => {
  const { id, live_url } = await liveTicketOf();
  await shared.store.query('update tickets set expires_at_ms = 1 where ticket_id = $1', id);
  expect(await connect(live_url)).toEqual(refused);
});

test('a live ticket of a key that was revoked meanwhile opens nothing', async () => {
  const { key, apiKey } = await shared.keyVerifier.create({});
  const { live_url } = await liveTicketOf(key);
  await shared.keyVerifier.revoke(apiKey.keyId);
  expect(await connect(live_url)).toEqual([401, 'invalid_api_key']);
});

test('a ticket for events opens no live speech, and a live ticket starts no events', async () => {
  const sse = '/api/audio/speech/sse/tickets';
  const answer = await shared.send(sse, { body: { voice_id: 'tone-low', text: 'Hello.' } });
  const { id } = (await answer.json()) as LiveTicket;
  expect(await connect(`ws://sonant.test${path}?ticket=${id}`)).toEqual(refused);
  const live = await liveTicketOf();
  const events = await fetch(`${shared.url}${sse}/${live.id}`);
  expect(await errorOf(events)).toEqual(refused);
});

test('a live ticket needs the scope of live speech, and cannot be hoarded', async () => {
  const post = (key: string) => shared.send(`${path}/tickets`, { method: 'POST', headers: { 'X-API-Key': key } });
  expect((await post(await shared.makeKey(['voices:read']))).status).toBe(403);
  const key = await shared.makeKey();
  const { accountId } = await shared.keyVerifier.verify(key, '127.0.0.1');
  await shared.store.query(
    `insert into tickets (ticket_id, key_id, account_id, chars, sealed, expires_at_ms)
      values ('tkt_x', 'another key', $1, 1999500, '', $2)`,
    accountId,
    Date.now() + 60_000,
  );
  const answer = await post(key);
  expect([answer.status, answer.headers.get('Retry-After')]).toEqual([429, '60']);
  await liveTicketOf();
});
