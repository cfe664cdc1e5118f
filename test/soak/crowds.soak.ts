// Tests many connections from one address, of every kind: streams without a key, streams with a key, one large link
// that nobody reads, and idle connections. Callers at another address are served, and memory stays within limits.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type BesiegedService, besiege, type CrowdTask, makeUsualKey, openBesieged } from './besieged-service.ts';
import { chunksOf } from './long-text.ts';

let service: BesiegedService;
beforeEach(async () => {
  service = await openBesieged();
});
afterEach(() => service.close());

describe('450 connections of', () => {
  const open: readonly CrowdTask['kind'][] = [
    'watch over gRPC',
    'watch over Connect, HTTP/2',
    'watch over Connect, HTTP/1.1',
    'watch over gRPC-Web',
    'reflection over gRPC',
    'reflection over Connect',
  ];
  test.each(open)('%s', (kind) => besiege(service, { kind, connections: 450 }));

  test.each(['SSE', 'StreamSpeech over gRPC'] as const)('%s, with one key', (kind) =>
    besiege(service, { kind, connections: 450, streams: 10, key: makeUsualKey(service) }),
  );
});

test.each(['idle, HTTP/1.1', 'idle after a request, HTTP/1.1', 'idle, HTTP/2'] as const)(
  '4300 connections: %s',
  (kind) => besiege(service, { kind, connections: 4300 }),
);

test('800 readers of one large link', async () => {
  const answer = await service.speak({ text: chunksOf(1)[0] });
  expect(answer.status).toBe(200);
  const { audio_url } = (await answer.json()) as { audio_url: string };
  await besiege(service, { kind: 'link, unread', connections: 800, path: new URL(audio_url).pathname });
});
