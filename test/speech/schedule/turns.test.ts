// Turns at an engine: how long later segments wait for first ones, and when no further request is admitted because of them.
import { expect, test } from 'vitest';
import type { Seat } from '../../../src/engines/guard.ts';
import { Schedule } from '../../../src/speech/schedule.ts';
import { openSchedule, seatAt, settle } from './open-schedule.ts';

const { signal } = new AbortController();

function openTurns(seat: Seat) {
  const clock = { ms: 0 };
  const schedule = new Schedule({ speakingMax: 64, waitingMax: 64, now: () => clock.ms });
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const take = async (name: string, kind: 'first' | 'later' | 'background', at = seat) => {
    const { end } = await schedule.turn(name[0]!, at, kind, signal);
    order.push(name);
    ends.set(name, end);
  };
  const end = async (name: string, ms: number) => {
    clock.ms += ms;
    ends.get(name)!();
    await settle();
  };
  return { order, take, end };
}

test('first segments go before others for two seconds, and before those that nobody listens to for ten', async () => {
  const { order, take, end } = openTurns(seatAt({ segmentsSpokenMax: 1 }));
  await take('a0', 'first');
  void take('bulk', 'background');
  void take('later', 'later');
  for (let n = 1; n <= 9; n++) {
    void take(`a${n}`, 'first');
    await end(order.at(-1)!, 900);
  }
  expect(order.indexOf('later')).toBe(3);
  for (let n = 10; !order.includes('bulk'); n++) {
    void take(`a${n}`, 'first');
    await end(order.at(-1)!, 900);
  }
  // One turn in ten is given to bulk.
  expect(order.indexOf('bulk')).toBe(10);
});

test('no request is admitted while a segment of another would be due before its turn, but one more than there are seats', async () => {
  const { ask, admitted, held, clock } = openSchedule();
  const seat = seatAt({ segmentsSpokenMax: 1 });
  const speakFirst = async (name: string) => {
    await settle();
    const turn = await held.get(name)!.turn(seat, true, signal);
    clock.ms += 500;
    turn.end();
    await settle();
  };
  ask('a1', seat);
  await speakFirst('a1');
  ask('b1', seat);
  await speakFirst('b1');
  // Two streams have begun. While a segment of one is spoken, another waits, and so does a third request.
  const spoken = await held.get('a1')!.turn(seat, false, signal);
  const later = held.get('b1')!.turn(seat, false, signal);
  ask('c1', seat);
  await settle();
  clock.ms += 1_400;
  spoken.end();
  await settle();
  expect(admitted).toEqual(['a1', 'b1', 'c1']);
  ask('d1', seat);
  await settle();
  clock.ms += 400;
  const third = await held.get('c1')!.turn(seat, true, signal);
  third.end();
  await settle();
  expect(admitted).toEqual(['a1', 'b1', 'c1']);
  (await later).end();
  await settle();
  expect(admitted).toEqual(['a1', 'b1', 'c1', 'd1']);
});

test('a voice whose model is busy does not hold back those of other models', async () => {
  const at = (resource: string) => seatAt({}, { resource });
  const { ask, admitted, held } = openSchedule();
  for (const name of ['a1', 'a2']) ask(name, at('slow'));
  for (const name of ['a3', 'b1']) ask(name, at('quick'));
  await settle();
  expect(admitted).toEqual(['a1', 'a3']);
  held.get('a3')!.end();
  await settle();
  expect(admitted).toEqual(['a1', 'a3', 'b1']);
});
