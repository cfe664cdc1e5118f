// Several servers as one: the work is shared, and one that fails is left out until it is well.
import { expect, test } from 'vitest';
import { createServerGroup } from '../../src/engines/openai-compatible/server-group.ts';
import type { SpeechServer } from '../../src/engines/openai-compatible/speech-server.ts';
import { Failure } from '../../src/errors.ts';

const never = new AbortController().signal;

function openGroup(count: number) {
  const clock = { nowMs: 0 };
  const requests: number[] = [];
  const failing = new Map<number, Failure>();
  const holds = new Set<number>();
  const servers = Array.from(
    { length: count },
    (_, n): SpeechServer => ({
      async *speak() {
        requests.push(n);
        await undefined;
        const failure = failing.get(n);
        if (failure) throw failure;
        if (holds.has(n)) await new Promise(() => {});
        yield { samples: Int16Array.of(n), sampleRateHz: 24_000 };
      },
      listVoices: async () => ({ model: 'm', voices: [{ id: `voice-${n}`, name: 'x' }], uploaded: undefined }),
      uploadClone: async () => {},
      deleteClone: async () => {},
    }),
  );
  const group = createServerGroup(servers, () => clock.nowMs);
  const say = () => Array.fromAsync(group.speak({ voice: 'v', text: 't' }, never));
  return { clock, requests, failing, holds, group, say };
}
const countOf = (requests: readonly number[]) => [0, 1, 2].map((n) => requests.filter((each) => each === n).length);

test('requests go round, and to the one with the least to do', async () => {
  const { requests, holds, say } = openGroup(3);
  for (let i = 0; i < 30; i++) await say();
  expect(countOf(requests)).toEqual([10, 10, 10]);
  holds.add(1);
  for (let i = 0; i < 3; i++) void say();
  await new Promise((resolve) => setImmediate(resolve));
  requests.length = 0;
  for (let i = 0; i < 10; i++) await say();
  expect(requests).not.toContain(1);
});

test('one that fails is left out, a longer while each time, and comes back', async () => {
  const { clock, requests, failing, say } = openGroup(2);
  failing.set(0, new Failure('engine_unavailable', { retryAfterSeconds: 0 }));
  const ends = [];
  for (let i = 0; i < 20; i++) ends.push(await say().catch(() => 'failed'));
  expect(ends.filter((end) => end === 'failed').length).toBe(1);
  clock.nowMs = 1_000;
  for (let i = 0; i < 20; i++) await say().catch(() => {});
  clock.nowMs = 2_000;
  for (let i = 0; i < 20; i++) await say();
  expect(requests.filter((n) => n === 0).length).toBe(2);
  failing.clear();
  clock.nowMs = 3_000;
  requests.length = 0;
  for (let i = 0; i < 20; i++) await say();
  expect(requests.filter((n) => n === 0).length).toBe(10);
});

test('requests that fail together count once', async () => {
  const { clock, requests, failing, say } = openGroup(2);
  failing.set(0, new Failure('engine_unavailable', { retryAfterSeconds: 0 }));
  const ends = await Promise.allSettled(Array.from({ length: 16 }, say));
  expect(ends.filter(({ status }) => status === 'rejected').length).toBe(8);
  failing.clear();
  clock.nowMs = 1_000;
  requests.length = 0;
  for (let i = 0; i < 20; i++) await say();
  expect(countOf(requests)).toEqual([10, 10, 0]);
});

test('one that is tried while it is out, and fails, is out for longer, so that another is tried', async () => {
  const { clock, requests, failing, say } = openGroup(2);
  for (const n of [0, 1]) failing.set(n, new Failure('engine_unavailable', { retryAfterSeconds: 0 }));
  await expect(say()).rejects.toThrow();
  clock.nowMs = 500;
  await expect(say()).rejects.toThrow();
  const [first, second] = requests;
  failing.delete(second!);
  await expect(say()).rejects.toThrow();
  await say();
  expect(requests).toEqual([first, second, first, second]);
});

test('where all are out, the one whose time comes first is tried; a text that is refused says nothing of a server', async () => {
  const { requests, failing, say } = openGroup(2);
  for (const n of [0, 1]) failing.set(n, new Failure('engine_unavailable', { retryAfterSeconds: 0 }));
  for (let i = 0; i < 6; i++) await expect(say()).rejects.toMatchObject({ reason: 'engine_unavailable' });
  expect(requests.length).toBe(6);
  const refusing = openGroup(2);
  for (const n of [0, 1]) refusing.failing.set(n, new Failure('engine_error'));
  for (let i = 0; i < 10; i++) await expect(refusing.say()).rejects.toMatchObject({ reason: 'engine_error' });
  expect(countOf(refusing.requests).slice(0, 2)).toEqual([5, 5]);
});
