// Tests the order of the queue from a pusher to a puller, and the three ways in which it ends.
import { expect, test } from 'vitest';
import { PushQueue } from '../../../src/platform/runtime/push-queue.ts';

function pulled(queue: PushQueue<number>) {
  const items: number[] = [];
  const end = (async () => {
    for await (const item of queue.pull()) items.push(item);
    return 'end';
  })().catch((error) => error);
  return { items, end };
}

test('items are pulled in order, as they come, until the end', async () => {
  const queue = new PushQueue<number>();
  queue.push(1, 2);
  const { items, end } = pulled(queue);
  await expect.poll(() => items).toEqual([1, 2]);
  queue.push(3);
  queue.end();
  queue.push(4);
  expect([await end, items]).toEqual(['end', [1, 2, 3]]);
});

test('nothing is kept for a puller that has left', async () => {
  const queue = new PushQueue<number>();
  queue.push(1, 2, 3);
  for await (const _ of queue.pull()) break;
  expect(queue.isEnded).toBe(true);
  queue.push(4);
  expect(await Array.fromAsync(queue.pull())).toEqual([]);
});

test('a failure comes after what was pushed before it, an abort in place of it', async () => {
  const failed = new PushQueue<number>();
  failed.push(1, 2);
  failed.fail('broken');
  const first = pulled(failed);
  expect([await first.end, first.items]).toEqual(['broken', [1, 2]]);
  const aborted = new PushQueue<number>();
  aborted.push(1, 2);
  aborted.end();
  aborted.abort(undefined);
  const second = pulled(aborted);
  expect([await second.end, second.items]).toEqual([undefined, []]);
});
