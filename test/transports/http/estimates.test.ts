// Tests estimates over HTTP: an estimate counts as a request, synthesizes nothing, and needs a concurrency slot.
import { afterAll, expect, test } from 'vitest';
import { openTestGateway } from './open-gateway.ts';

const gateway = await openTestGateway({ isLimited: true }, afterAll);
const body = { voice_id: 'tone-low', text: 'How long is this?' };

async function headersOf(limits: object) {
  const { key } = await gateway.keyVerifier.create({ limits, scopes: ['speech:synthesize', 'speech:stream'] });
  return { 'X-API-Key': key };
}

test('an estimate charges a request and no characters', async () => {
  const headers = await headersOf({ requestsPerMinute: 10, charactersPerMonth: 5 });
  const answer = await gateway.send('/api/audio/estimate', { body, headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('RateLimit')).toMatch(/"requests";r=9;.*"characters";r=5/);
});

test('an estimate takes a slot of its key', async () => {
  const headers = await headersOf({ concurrency: 1 });
  const long = { text_chunks: Array(30).fill('one two three four'), voice_id: 'tone-low' };
  const stream = await gateway.send('/api/audio/speech/sse', { body: long, headers });
  const reader = stream.body!.getReader();
  await reader.read();
  const answer = await gateway.send('/api/audio/estimate', { body, headers });
  expect([answer.status, await answer.json()]).toMatchObject([429, { reason: 'concurrency' }]);
  await reader.cancel();
});
