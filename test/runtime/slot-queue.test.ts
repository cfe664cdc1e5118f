// The queue for slots: the order of admission, and how a wait ends. What quotas and limits make of it, their tests hold.
import { expect, test } from 'vitest';
import { SlotQueue, SlotTimeout } from '../../src/runtime/slot-queue.ts';

const { signal } = new AbortController();

test('urgent requests are first, and owners take turns, each in the order of its requests', async () => {
  const queue = new SlotQueue({ slotsMax: 1 });
  const order: string[] = [];
  const release = await queue.take({ signal });
  const take = async (name: string, isUrgent = false) => {
    const done = await queue.take({ signal, owner: name[0]!, isUrgent });
    order.push(name);
    done();
  };
  const all = [take('a1'), take('a2'), take('b1'), take('a3', true), take('c1', true), take('a4', true)];
  release();
  await Promise.all(all);
  expect(order).toEqual(['a3', 'c1', 'a4', 'a1', 'b1', 'a2']);
  expect([queue.held, queue.waiting]).toEqual([0, 0]);
});

test('what has become urgent while it waited comes after the urgent requests before it, and before later ones', async () => {
  let nowMs = 0;
  const queue = new SlotQueue({ slotsMax: 1, now: () => nowMs });
  const order: string[] = [];
  let release = await queue.take({ signal });
  const take = (name: string, request: { isUrgent?: boolean; urgentAtMs?: number }) =>
    void queue.take({ signal, ...request }).then((done) => {
      order.push(name);
      release = done;
    });
  const end = async () => {
    release();
    await new Promise((resolve) => setImmediate(resolve));
  };
  take('never', {});
  take('soon', { urgentAtMs: 10 });
  for (const name of ['one', 'two', 'three']) take(name, { isUrgent: true });
  expect(queue.urgentAtMs).toBe(10);
  await end();
  nowMs = 10;
  await end();
  take('four', { isUrgent: true });
  for (let n = 0; n < 4; n++) await end();
  expect(order).toEqual(['one', 'two', 'three', 'soon', 'four', 'never']);
  expect([queue.waiting, queue.urgentAtMs]).toEqual([0, Infinity]);
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

test('a delay from outside is waited for, and one without an end until somebody calls', async () => {
  let untilMs = performance.now() + 30;
  const queue = new SlotQueue({ delayMs: () => untilMs - performance.now() });
  await queue.take({ signal });
  expect(performance.now()).toBeGreaterThanOrEqual(untilMs);
  untilMs = Infinity;
  const waiting = queue.take({ signal });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(queue.waiting).toBe(1);
  untilMs = 0;
  queue.admit();
  await waiting;
});
