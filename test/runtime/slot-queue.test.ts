// Tests the queue for slots: the order of admission, and the results of a wait. Quotas and limits have separate tests.
import { expect, test } from 'vitest';
import { SlotQueue, SlotTimeout } from '../../src/runtime/slot-queue.ts';

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
