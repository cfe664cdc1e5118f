// Tests the queue for slots (the order of admission, and the results of a wait), and the queue from a pusher to a puller
// (its order, and the three ways in which it ends).
import { expect, test } from 'vitest';
import { PushQueue } from '../../../src/platform/runtime/push-queue.ts';
import { SlotQueue, SlotTimeout } from '../../../src/platform/runtime/slot-queue.ts';

const { signal } = new AbortController();

test('owners take turns, each in the order of its requests', async () => {
  const queue = new SlotQueue({ slotsMax: 1 });
  const order: string[] = [];
  const release = await queue.take({ signal });
  const take = async (name: string) => {
    const done = await queue.take({ signal, owner: name[0]! });
    order.push(name);
    done();
  };
  const all = [take('a1'), take('a2'), take('b1'), take('a3'), take('c1')];
  release();
  await Promise.all(all);
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
  expect([queue.held, queue.waiting]).toEqual([0, 0]);
});

test('an owner of a shared queue cannot hold all slots, and waits before owners with fewer slots', async () => {
  const queue = new SlotQueue({ slotsMax: 8, isShared: true });
  const held: string[] = [];
  const take = async (name: string) => {
    const release = await queue.take({ signal, owner: name[0]! });
    held.push(name);
    return release;
  };
  const ofA = Array.from({ length: 8 }, (_, n) => take(`a${n}`));
  const others = ['b1', 'b2', 'b3', 'c1', 'c2', 'd1', 'e1'].map(take);
  await Promise.all([...ofA.slice(0, 4), ...['b', 'c', 'd'].map((_, n) => others[[0, 3, 5][n]!])]);
  expect(held).toEqual(['a0', 'a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1']);
  expect([queue.held, queue.waiting]).toEqual([8, 7]);

  (await ofA[0]!)();
  await others[6];
  expect(held.at(-1)).toBe('e1');
  for (const one of [...ofA.slice(1, 4), ...others.slice(0, 2)]) (await one)();
  for (const one of [...ofA, ...others]) void one.then((release) => release());
  await Promise.all([...ofA, ...others]);
  await expect.poll(() => [queue.held, queue.waiting]).toEqual([0, 0]);
});

test('a wait ends with an abort or a timeout, and leaves nothing behind', async () => {
  const queue = new SlotQueue({ slotsMax: 1 });
  const release = await queue.take({ signal });
  const leaving = new AbortController();
  const left = queue.take({ signal: leaving.signal });
  const late = queue.take({ signal, waitMsMax: 10 });
  leaving.abort('left');
  await expect(left).rejects.toBe('left');
  await expect(queue.take({ signal: leaving.signal })).rejects.toBe('left');
  await expect(late).rejects.toBeInstanceOf(SlotTimeout);
  release();
  expect([queue.held, queue.waiting]).toEqual([0, 0]);
});

test('each request may have a limit of its own, and nobody overtakes the first', async () => {
  const queue = new SlotQueue();
  const one = await queue.take({ signal, slotsMax: 1 });
  const two = await queue.take({ signal, slotsMax: 2 });
  const order: string[] = [];
  const take = async (name: string, slotsMax: number) => {
    const release = await queue.take({ signal, slotsMax });
    order.push(name);
    release();
  };
  const waiting = [take('one', 1), take('three', 3)];
  one();
  two();
  await Promise.all(waiting);
  expect(order).toEqual(['one', 'three']);
});

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
