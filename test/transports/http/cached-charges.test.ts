// Tests what audio from the cache costs: no characters, on any API. It still counts as a request, and needs the same
// scope and voice as the request that made it.
import { afterAll, describe, expect, test } from 'vitest';
import { SpeechService } from '../../../gen/sonant/v1/speech_pb.ts';
import { operator } from '../../../src/accounts/keys/caller.ts';
import { openCore } from '../rpc/open-core.ts';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({ isLimited: true }, afterAll);
const text = 'Thirty characters in this one.';
const scopes = ['speech:synthesize', 'speech:stream', 'voices:read', 'usage:read'];

async function openCaller(fields: object = {}) {
  const { key, apiKey } = await gateway.keyVerifier.create({ scopes, ...fields });
  const headers = { 'X-API-Key': key };
  const speak = async (more: object = {}, extra: object = {}) => {
    const answer = await gateway.speak({ text, ...more }, { headers: { ...headers, ...extra } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    return {
      status: answer.status,
      bytes,
      cost: ['X-Cache', 'X-Chars-Charged'].map((name) => answer.headers.get(name)),
      chars: answer.headers.get('X-Chars'),
    };
  };
  const used = async () => {
    const { total } = (await (await gateway.send('/api/usage', { headers })).json()) as {
      total: { requests: number; characters: number };
    };
    return [total.requests, total.characters];
  };
  return { key, keyId: apiKey.keyId, headers, speak, used };
}

describe('audio from the cache', () => {
  test.each(['url', 'buffer'])(
    'is not charged over REST, as %s; the same audio made again is',
    async (return_format) => {
      const { speak, used } = await openCaller();
      const first = await speak({ return_format });
      expect([first.status, first.cost, await used()]).toEqual([200, ['MISS', '30'], [1, 30]]);
      const second = await speak({ return_format });
      expect([second.cost, await used()]).toEqual([
        ['HIT', '0'],
        [2, 30],
      ]);
      if (return_format === 'buffer')
        expect([second.bytes.equals(first.bytes), first.chars, second.chars]).toEqual([true, '30', '30']);
      expect((await speak({ return_format }, { 'Cache-Control': 'no-cache' })).cost).toEqual(['MISS', '30']);
      expect(await used()).toEqual([3, 60]);
    },
  );

  test('is not charged over gRPC and MCP either', async () => {
    const { key, headers, used } = await openCaller();
    const client = (await openCore(gateway)).clientOf(SpeechService);
    const call = () =>
      client.unary('synthesizeSpeech', { voiceId: 'tone-low', text }, { metadata: { 'x-api-key': key } });
    expect(await call()).toMatchObject({ cached: false, chars: 30, charsCharged: 30 });
    expect(await call()).toMatchObject({ cached: true, chars: 30, charsCharged: 0 });
    const params = { name: 'speak', arguments: { voice_id: 'tone-low', text } };
    const tool = async () => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const answer = await gateway.send('/mcp', { body, headers: { ...headers, Accept: 'application/json' } });
      const { result } = (await answer.json()) as { result: { content: { type: string; text: string }[] } };
      return JSON.parse(result.content.find(({ type }) => type === 'text')!.text).chars_charged;
    };
    expect([await tool(), await tool()]).toEqual([30, 0]);
    expect(await used()).toEqual([4, 60]);
  });

  test('does not count towards the characters of the month, whose limit holds for all other audio', async () => {
    const { speak } = await openCaller({ limits: { charactersPerMonth: 30 } });
    expect((await speak()).cost).toEqual(['MISS', '30']);
    for (let i = 0; i < 3; i++) expect(await speak()).toMatchObject({ status: 200, cost: ['HIT', '0'] });
    expect((await speak({ text: 'New' })).status).toBe(429);
    expect((await speak({}, { 'Cache-Control': 'no-cache' })).status).toBe(429);
    expect((await speak({ output_format: 'mp3' })).status).toBe(429);
  });

  test('counts towards the requests per minute', async () => {
    const { speak } = await openCaller({ limits: { requestsPerMinute: 2 } });
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await speak()).status);
    expect(statuses).toContain(429);
  });

  test('needs the scope, the voice and the key of the request that made it', async () => {
    const { speak, keyId } = await openCaller();
    expect((await speak()).cost).toEqual(['MISS', '30']);
    const change = (fields: object) => gateway.keyVerifier.management.update(keyId, fields, operator);
    expect((await (await openCaller()).speak()).cost).toEqual(['MISS', '30']);
    await change({ voiceIds: ['tone-high'] });
    expect((await speak()).status).toBe(404);
    await change({ voiceIds: null, scopes: ['voices:read'] });
    expect((await speak()).status).toBe(403);
  });

  test('was paid for, even if all clients disconnected before the reply', async () => {
    const { headers, speak, used } = await openCaller();
    // 90 requests, fewer than the limit of a key allows at once.
    const texts = Array.from({ length: 30 }, (_, i) => `${text} Number ${i + 10}`);
    for (const [i, each] of texts.entries()) {
      const begun = gateway.tone.counts.begun;
      const ask = (leaving: AbortSignal) =>
        gateway
          .speak({ text: each, return_format: 'buffer' }, { headers, signal: leaving })
          .then((answer) => answer.arrayBuffer())
          .catch(() => {});
      const [one, other] = [new AbortController(), new AbortController()];
      const asked = [ask(one.signal), ask(other.signal)];
      await expect.poll(() => gateway.tone.counts.begun, { interval: 1 }).toBeGreaterThan(begun);
      setTimeout(() => one.abort(), i % 7);
      setTimeout(() => other.abort(), i % 10);
      await Promise.all(asked);
    }
    for (const each of texts) expect((await speak({ text: each, return_format: 'buffer' })).status).toBe(200);
    const chars = texts.join('').length;
    await expect.poll(async () => (await used())[1]).toBeGreaterThanOrEqual(chars);
  });
});

test('a reply that is repeated under an Idempotency-Key states that it is not charged', async () => {
  const { speak, used } = await openCaller();
  const headers = { 'Idempotency-Key': 'charged once', 'Cache-Control': 'no-cache' };
  expect((await speak({}, headers)).cost).toEqual(['MISS', '30']);
  expect([(await speak({}, headers)).cost[1], await used()]).toEqual(['0', [1, 30]]);
});
