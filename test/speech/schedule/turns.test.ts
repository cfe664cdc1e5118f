// Tests turns at an engine: how long later segments wait for first segments, and models that do not block each other.
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
  // One turn in ten is given to bulk requests.
  expect(order.indexOf('bulk')).toBe(10);
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
