// Tests admission, which limits how many requests are synthesized and how many wait, with fairness between callers.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Failure } from '../../../src/platform/errors.ts';
import { type Demand, Schedule, type ScheduleOptions } from '../../../src/speech/schedule.ts';
import { demandAt, never, seatAt, settle } from './open-schedule.ts';

/** Requests for an engine that can speak all of them at once. */
function createSlots(options: ScheduleOptions) {
  const schedule = new Schedule(options);
  const seat = seatAt({ segmentsSpokenMax: 1000 });
  return {
    take: async (owner: string, signal: AbortSignal, more: Partial<Demand> = {}) =>
      (await schedule.begin(demandAt(seat, { owner, ...more }), signal)).end,
    get speaking() {
      return schedule.state.speaking;
    },
    get waiting() {
      return schedule.state.waiting.interactive;
    },
  };
}

test('as many as there are slots speak at once, and a slot given back twice counts once', async () => {
  const slots = createSlots({ speakingMax: 2, waitingMax: 2 });
  const giveBack = await slots.take('a', never);
  await slots.take('a', never);
  const third = slots.take('a', never);
  await settle();
  expect([slots.speaking, slots.waiting]).toEqual([2, 1]);
  giveBack();
  giveBack();
  await third;
  expect([slots.speaking, slots.waiting]).toEqual([2, 0]);
});

test('turns go round the callers', async () => {
  const slots = createSlots({ speakingMax: 1, waitingMax: 10 });
  const order: string[] = [];
  let giveBack = await slots.take('first', never);
  const wanted = ['a1', 'a2', 'a3', 'b1', 'c1', 'c2'].map((name) =>
    slots.take(name[0]!, never).then((back) => {
      order.push(name);
      giveBack = back;
    }),
  );
  for (const _ of wanted) {
    giveBack();
    await settle();
  }
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});

test('a caller that fills the queue makes room for another', async () => {
  const slots = createSlots({ speakingMax: 1, waitingMax: 3 });
  await slots.take('hog', never);
  const hogs = [0, 1, 2].map(() =>
    slots.take('hog', never).then(
      () => 'spoke',
      (error: Failure) => error.reason,
    ),
  );
  const other = slots.take('guest', never);
  expect(await hogs[2]).toBe('overloaded');
  expect(slots.waiting).toBe(3);
  await expect(Promise.race([other, settle().then(() => 'waits')])).resolves.toBe('waits');
});

test('an abort leaves the queue; an aborted request never enters it', async () => {
  const slots = createSlots({ speakingMax: 1, waitingMax: 5 });
  const giveBack = await slots.take('a', never);
  const leaving = new AbortController();
  const left = slots.take('b', leaving.signal).catch((error) => error);
  leaving.abort(new Error('gone'));
  expect((await left).message).toBe('gone');
  expect(slots.waiting).toBe(0);
  await expect(slots.take('b', leaving.signal)).rejects.toThrow('gone');
  giveBack();
  expect(slots.speaking).toBe(0);
});

test('who would wait longer than it may is refused before it waits, with the wait', async () => {
  const slots = createSlots({ speakingMax: 1, waitingMax: 10 });
  await slots.take('a', never);
  const refused = await slots.take('b', never, { waitMsMax: 500 }).catch((error) => error);
  expect(refused).toMatchObject({ reason: 'overloaded', facts: { retryAfterSeconds: 1 } });
  expect(slots.waiting).toBe(0);
});

test('who has waited as long as it may is refused all the same, and its place is free', async () => {
  const slots = createSlots({ speakingMax: 1, waitingMax: 10 });
  await slots.take('a', never);
  const waiting = slots.take('b', never, { waitMsMax: 1100 });
  await settle();
  expect(slots.waiting).toBe(1);
  await expect(waiting).rejects.toMatchObject({ reason: 'overloaded', facts: { retryAfterSeconds: 1 } });
  expect(slots.waiting).toBe(0);
});

test('the wait of a caller does not count what another has waiting behind its turn', async () => {
  const slots = createSlots({ speakingMax: 1, waitingMax: 100 });
  const giveBack = await slots.take('greedy', never);
  const left = new AbortController();
  const greedy = Array.from({ length: 20 }, () => slots.take('greedy', left.signal).catch(() => {}));
  await expect(slots.take('greedy', never, { waitMsMax: 5000 })).rejects.toMatchObject({
    facts: { retryAfterSeconds: 21 },
  });
  const guest = slots.take('guest', never, { waitMsMax: 5000 });
  giveBack();
  (await greedy[0])!();
  await guest;
  left.abort();
  await Promise.all(greedy);
});

test('callers wait for an engine that may still be starting', async () => {
  const schedule = new Schedule({ speakingMax: 10, waitingMax: 10 });
  const slow = seatAt({ segmentsSpokenMax: 1, firstSoundMsMax: 60_000 });
  const first = await schedule.begin(demandAt(slow), never);
  const waiting = schedule.begin(demandAt(slow, { waitMsMax: 20 }), never);
  await sleep(100);
  first.end();
  (await waiting).end();
  expect(schedule.state.speaking).toBe(0);
});
