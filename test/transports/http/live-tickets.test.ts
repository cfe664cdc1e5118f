// Tests tickets for live speech: who may use them, how often, for what, and how they become invalid.
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';

const shared = await openTestGateway({}, afterAll);
const path = '/api/audio/speech/live';
const toSocketUrl = (address: string, url = shared.url) =>
  url.replace('http', 'ws') + address.slice('ws://sonant.test'.length);

interface LiveTicket {
  id: string;
  live_url: string;
  expires_at: string;
}

async function ticketOf(key = shared.key): Promise<LiveTicket> {
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
  const ticket = await ticketOf();
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
  const { live_url } = await ticketOf();
  const plain = await fetch(toSocketUrl(live_url).replace('ws', 'http'));
  expect([plain.status, ((await plain.json()) as { error: string }).error]).toEqual([400, 'invalid_request']);
  expect(await connect(live_url, { Origin: 'https://evil.example' })).toEqual([403, 'access_denied']);
  expect(await connect(live_url)).toEqual(spoken);
});

test('a live ticket expires', async () => {
  const { id, live_url } = await ticketOf();
  await shared.store.query('update tickets set expires_at_ms = 1 where ticket_id = $1', id);
  expect(await connect(live_url)).toEqual(refused);
});

test('a live ticket of a key that was revoked meanwhile opens nothing', async () => {
  const { key, apiKey } = await shared.keyVerifier.create({});
  const { live_url } = await ticketOf(key);
  await shared.keyVerifier.revoke(apiKey.keyId);
  expect(await connect(live_url)).toEqual([401, 'invalid_api_key']);
});

test('a ticket for events opens no live speech, and a live ticket starts no events', async () => {
  const sse = '/api/audio/speech/sse/tickets';
  const answer = await shared.send(sse, { body: { voice_id: 'tone-low', text: 'Hello.' } });
  const { id } = (await answer.json()) as LiveTicket;
  expect(await connect(`ws://sonant.test${path}?ticket=${id}`)).toEqual(refused);
  const live = await ticketOf();
  const events = await fetch(`${shared.url}${sse}/${live.id}`);
  expect([events.status, ((await events.json()) as { error: string }).error]).toEqual(refused);
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
  await ticketOf();
});
