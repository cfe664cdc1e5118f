// Tests many connections from one address, of every kind: streams without a key, streams with a key, one large link
// that nobody reads, and idle connections. Callers at another address are served, and memory stays within limits.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Attack, type Attacked, attackerAddress, openAttacked, openingMs } from './attacks.ts';
import type { CrowdTask } from './crowd.ts';
import { chunksOf } from './long-text.ts';

let attacked: Attacked;
beforeEach(async () => {
  attacked = await openAttacked();
}, openingMs);
afterEach(() => attacked.end(), openingMs);

async function besiege(given: Pick<CrowdTask, 'kind' | 'connections'> & Partial<CrowdTask>): Promise<void> {
  const { service, attack } = attacked;
  const { httpPort, grpcPort } = service;
  const task = { ...{ streams: 100, httpPort, grpcPort, address: attackerAddress, key: '', path: '' }, ...given };
  const hold: Attack = async (isOver) => {
    const args = [join(import.meta.dirname, 'crowd.ts'), JSON.stringify(task)];
    const crowd = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const most = { connections: 0, streams: 0, closed: 0 };
    crowd.stdout.setEncoding('utf8').on('data', (lines: string) => {
      const now: typeof most = JSON.parse(lines.trim().split('\n').at(-1)!);
      for (const name of ['connections', 'streams', 'closed'] as const) most[name] = Math.max(most[name], now[name]);
    });
    await once(crowd.stdout, 'data');
    while (!isOver()) await sleep(100);
    crowd.kill('SIGKILL');
    await once(crowd, 'exit');
    return `at most ${most.connections} connections and ${most.streams} streams open, ${most.closed} closed`;
  };
  await attack(`${task.connections} x ${task.kind}`, hold, undefined, 0);
  expect(service.said()).toBe('');
}

describe('450 connections of', () => {
  const open: readonly CrowdTask['kind'][] = [
    'watch over gRPC',
    'watch over Connect, HTTP/2',
    'watch over Connect, HTTP/1.1',
    'watch over gRPC-Web',
    'reflection over gRPC',
    'reflection over Connect',
  ];
  test.each(open)('%s', (kind) => besiege({ kind, connections: 450 }));

  test.each(['SSE', 'StreamSpeech over gRPC'] as const)('%s, with one key', (kind) =>
    besiege({ kind, connections: 450, streams: 10, key: attacked.usualKey }),
  );
});

test.each(['idle, HTTP/1.1', 'idle after a request, HTTP/1.1', 'idle, HTTP/2'] as const)(
  '4300 connections: %s',
  (kind) => besiege({ kind, connections: 4300 }),
);

test('800 readers of one large link', async () => {
  const answer = await attacked.service.speak({ text: chunksOf(1)[0] });
  expect(answer.status).toBe(200);
  const { audio_url } = (await answer.json()) as { audio_url: string };
  await besiege({ kind: 'link, unread', connections: 800, path: new URL(audio_url).pathname });
});
