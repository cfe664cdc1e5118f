// Who waits while an engine is behind with what has begun, and how a line that was slow or too long is one like others again.
import { expect, test } from 'vitest';
import { openOverloaded, openSlots, settle, speech } from './open-slots.ts';

test('while an engine is behind with what has begun, nobody new is admitted, but for as many as it has seats and one', async () => {
  const { slots, ask, admitted, held } = openSlots({ limit: 10 });
  let isBehind = true;
  const asked: number[] = [];
  const use = {
    ...speech,
    isBehind: (starting: number) => {
      asked.push(starting);
      return isBehind;
    },
  };
  for (let n = 0; n < 5; n++) ask(`a${n}`, use);
  await settle();
  expect(admitted).toEqual(['a0', 'a1', 'a2']);
  held.get('a0')!.heard('e');
  await settle();
  expect([slots.waiting, asked.at(-1)]).toEqual([2, 2]);
  isBehind = false;
  // It was heard before: what was waited for is there.
  held.get('a0')!.heard('e');
  await settle();
  expect([admitted.length, slots.waiting]).toEqual([5, 0]);
});

test('a burst after a quiet time waits as the one before it did', async () => {
  const { ask, admitted, refused, finish, clock } = openSlots({ limit: 1 });
  const burst = async (names: readonly string[]) => {
    for (const name of names) ask(name, speech, { waitMsMax: 5000 });
    await settle();
    for (const name of names) await finish(name, 100);
  };
  await burst(['a1', 'a2', 'a3']);
  clock.ms += 10_000;
  await burst(['b1', 'b2', 'b3']);
  expect([admitted, refused]).toEqual([['a1', 'a2', 'a3', 'b1', 'b2', 'b3'], []]);
});

test('a model that is behind does not keep those of another model of the engine waiting', async () => {
  const { slots, ask, admitted } = openSlots({ limit: 10 });
  const slow = { ...speech, model: { name: 'slow', seats: 2 }, isBehind: () => true };
  const quick = { ...speech, model: { name: 'quick', seats: 2 }, voiceId: 'w', isBehind: () => false };
  for (let n = 0; n < 5; n++) ask(`a${n}`, slow);
  for (let n = 0; n < 5; n++) ask(`b${n}`, quick);
  await settle();
  expect(admitted).toEqual(['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'b3', 'b4']);
  expect([slots.waiting, slots.limits()]).toEqual([2, [['e', 20]]]);
});

test('bulk of all models leaves a seat of the engine to those who listen to one of them', async () => {
  const { ask, admitted } = openSlots({ limit: 10 });
  const of = (name: string, isBulk: boolean) => ({ ...speech, isBulk, seats: 3, model: { name, seats: 2 } });
  ask('a0', of('heard', false));
  for (const [n, name] of ['one', 'one', 'two', 'two'].entries()) ask(`b${n}`, of(name, true));
  await settle();
  expect(admitted).toEqual(['a0', 'b0', 'b1']);
});

test('refusals for a deadline that is too short do not keep a line beyond saving', async () => {
  const { slots, ask, askNext, finishNewest, nameOf, admitted, refused, clock } = await openOverloaded();
  while (slots.waiting > 1) await finishNewest();
  const before = refused.length;
  for (let round = 0; round < 60; round++) {
    clock.ms += 60;
    ask('x', speech, { waitMsMax: 1 });
    askNext();
    await finishNewest(40);
  }
  expect(refused.slice(before)).toEqual(Array(60).fill('x'));
  clock.ms += 60;
  askNext();
  askNext();
  await finishNewest(40);
  expect(admitted.at(-1)).toBe(nameOf(3));
});

test('who waits for an engine that is behind begins when it is not, though nobody gives a slot back', async () => {
  const { ask, admitted } = openSlots({ limit: 10 });
  let isBehind = true;
  for (let n = 0; n < 4; n++) ask(`a${n}`, { ...speech, isBehind: () => isBehind });
  await settle();
  expect(admitted).toHaveLength(3);
  isBehind = false;
  await expect.poll(() => admitted.length).toBe(4);
});

test('a busy line that refuses nobody any more is a line like others, though somebody always waits', async () => {
  const { askNext, finishNewest, nameOf, admitted, refused, slots, clock } = await openOverloaded();
  while (slots.waiting > 1) await finishNewest();
  const before = refused.length;
  for (let round = 0; round < 60; round++) {
    clock.ms += 60;
    askNext();
    await finishNewest(40);
    expect(slots.waiting).toBe(1);
  }
  clock.ms += 60;
  askNext();
  askNext();
  await finishNewest(40);
  expect([admitted.at(-1), refused.length]).toEqual([nameOf(3), before]);
});
