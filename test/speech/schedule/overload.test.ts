// Overload: who is admitted, who waits before whom, and who is refused at once, on a clock of the test's own.
import { expect, test } from 'vitest';
import { bulk, openOverloaded, openSlots, settle, speech } from './open-slots.ts';

test('only so many are about to be heard, and who has been heard makes room', async () => {
  const { slots, ask, admitted, held, noted, clock } = openSlots({ limit: 2 });
  for (const name of ['a1', 'a2', 'a3']) ask(name, speech);
  await settle();
  expect([admitted, slots.speaking, slots.waiting]).toEqual([['a1', 'a2'], 2, 1]);
  clock.ms = 40;
  held.get('a1')!.heard('e');
  held.get('a1')!.heard('e');
  await settle();
  expect([admitted, slots.speaking]).toEqual([['a1', 'a2', 'a3'], 3]);
  expect(noted).toEqual([{ voiceId: 'v', chars: 60, ms: 40, startingAtOnce: 1, notedBefore: 0 }]);
});

test('what another engine spoke in the place of one that failed says nothing about that one', async () => {
  const { ask, held, noted, admitted } = openSlots({ limit: 1 });
  ask('a1', speech);
  ask('a2', speech);
  await settle();
  held.get('a1')!.heard('another');
  await settle();
  expect([admitted, noted]).toEqual([['a1', 'a2'], []]);
});

test('an engine whose requests wait does not keep those of another waiting', async () => {
  const { ask, admitted } = openSlots({ limit: 1 });
  for (const name of ['a1', 'a2']) ask(name, speech);
  ask('b1', { ...speech, engine: 'other' });
  await settle();
  expect(admitted).toEqual(['a1', 'b1']);
});

test('interactive requests go before bulk ones, which get one turn in ten', async () => {
  const { ask, admitted, finish, slots } = openSlots({ speakingMax: 1 });
  ask('a0', speech);
  for (const name of ['b1', 'b2']) ask(name, bulk);
  for (let n = 1; n <= 12; n++) ask(`a${n}`, speech);
  await settle();
  expect([slots.waitingOf('interactive'), slots.waitingOf('bulk')]).toEqual([12, 2]);
  for (let n = 0; n < 14; n++) await finish(admitted.at(-1)!);
  expect(admitted.indexOf('b1')).toBe(10);
  expect(admitted.at(-1)).toBe('b2');
});

test('where somebody has listened of late, bulk requests leave a seat of the engine', async () => {
  const { ask, admitted, clock } = openSlots({ limit: 10 });
  ask('a0', { ...speech, seats: 3 });
  for (let n = 1; n <= 6; n++) ask(`b${n}`, { ...bulk, seats: 3 });
  await settle();
  expect(admitted).toEqual(['a0', 'b1', 'b2']);
  clock.ms = 20_000;
  ask('c0', { ...speech, engine: 'other' });
  ask('b7', { ...bulk, seats: 3 });
  await settle();
  expect(admitted.at(-1)).toBe('c0');
});

test('a bulk request makes room in a full line for an interactive one', async () => {
  const { ask, refused, slots } = openSlots({ speakingMax: 1, waitingMax: 2 });
  ask('a0', speech);
  for (const name of ['b1', 'b2']) ask(name, bulk);
  ask('c1', speech);
  await settle();
  expect([refused, slots.waitingOf('interactive')]).toEqual([['b2'], 1]);
});

test('who cannot be heard by its deadline is refused at once, and who can waits', async () => {
  const { ask, admitted, refused, failures, finish, clock, slots } = openSlots({ limit: 1 });
  // Each takes 300 ms: that is measured.
  ask('a0', speech);
  for (let n = 1; n < 40; n++) {
    ask(`a${n}`, speech);
    await settle();
    await finish(`a${n - 1}`, 300);
  }
  ask('a40', speech);
  ask('b1', speech, { deadlineMs: clock.ms + 500, waitMsMax: 5000 });
  ask('b2', speech, { deadlineMs: clock.ms + 2000, waitMsMax: 5000 });
  await settle();
  expect(refused).toEqual(['b1']);
  expect(failures[0]).toMatchObject({ reason: 'overloaded', facts: { retryAfterSeconds: expect.any(Number) } });
  expect(slots.waiting).toBe(2);
  while (!admitted.includes('b2')) await finish(admitted.at(-1)!, 300);
  expect(refused).toEqual(['b1']);
});

test('a line that was slow is tried again when nobody has waited in it for a minute', async () => {
  const { slots, ask, finish, clock, admitted } = openSlots({ limit: 1 });
  ask('a0', speech);
  ask('a1', speech);
  await settle();
  await finish('a0', 9000);
  const check = () => slots.check('b', { use: speech, waitMsMax: 5000 });
  expect(check).toThrow(expect.objectContaining({ reason: 'overloaded' }));
  clock.ms += 59_000;
  expect(check).toThrow();
  clock.ms += 1000;
  check();
  ask('b1', speech);
  await finish('a1', 100);
  expect(admitted).toEqual(['a0', 'a1', 'b1']);
});

test('a whole text that would not be done by its deadline is refused, where a stream of it waits', async () => {
  const { ask, refused, finish, clock, slots } = openSlots({ limit: 1 });
  ask('a0', { ...speech, wholeChars: 100 });
  for (let n = 1; n < 40; n++) {
    ask(`a${n}`, { ...speech, wholeChars: 100 });
    await settle();
    await finish(`a${n - 1}`, 300);
  }
  // Three milliseconds a character.
  ask('b1', { ...speech, wholeChars: 4000 }, { deadlineMs: clock.ms + 3000, waitMsMax: 5000 });
  ask('b2', speech, { deadlineMs: clock.ms + 3000, waitMsMax: 5000 });
  await settle();
  expect([refused, slots.waiting]).toEqual([['b1'], 1]);
});

test('a deadline is no reason to refuse who need not wait', async () => {
  const { ask, admitted, clock } = openSlots();
  ask('a0', speech, { deadlineMs: clock.ms + 1 });
  await settle();
  expect(admitted).toEqual(['a0']);
});

test('in a line beyond saving the newest goes first, and what is too much is refused, the oldest first', async () => {
  const { askNext, finishNewest, nameOf, admitted, refused, slots, clock } = await openOverloaded();
  expect(slots.waiting).toBeLessThanOrEqual(10);
  // Of those that come within half the time between two admissions, the first waits: the others are refused at once.
  expect(admitted.at(-1)).toBe(nameOf(10));
  expect(refused).toContain(nameOf(1));
  expect(admitted[5]).toBe('a5');
  expect(refused).toContain('a200');
  // Where it is empty for a moment, it is not saved.
  const empty = async () => {
    while (slots.waiting > 0) await finishNewest();
  };
  const askThree = async (apartMs: number) => {
    for (let i = 0; i < 3; i++) {
      clock.ms += apartMs;
      askNext();
    }
    await finishNewest();
  };
  await empty();
  await askThree(60);
  expect(admitted.at(-1)).toBe(nameOf(1));
  // Where it was for seconds, it is a line like others.
  await empty();
  clock.ms += 2000;
  await askThree(0);
  expect(admitted.at(-1)).toBe(nameOf(3));
});

test('what would be refused at once is known before, and takes nothing', async () => {
  const { slots, ask, admitted } = openSlots({ limit: 1, waitingMax: 1 });
  const check = (owner: string) => slots.check(owner, { use: speech });
  check('a');
  ask('a0', speech);
  check('a');
  ask('a1', speech);
  expect(() => check('a')).toThrow(expect.objectContaining({ reason: 'overloaded' }));
  await settle();
  expect([admitted, slots.waiting]).toEqual([['a0'], 1]);
});

test('in a line beyond saving, each owner has one that has begun to wait of late', async () => {
  const { ask, refused, finishNewest, admitted } = await openOverloaded();
  for (const name of ['b1', 'b2', 'c1']) ask(name, speech);
  await settle();
  expect(refused).toContain('b2');
  await finishNewest();
  await finishNewest();
  expect(admitted.slice(-2).toSorted()).toEqual(expect.arrayContaining([expect.stringMatching(/b1|c1/)]));
  expect(refused).not.toContain('b1');
});

test('those who are refused are told to come back one after the other, as fast as the line moves', async () => {
  const { ask, failures } = openSlots({ speakingMax: 1, waitingMax: 0 });
  ask('a0', speech);
  for (let n = 1; n <= 5; n++) ask(`a${n}`, speech);
  await settle();
  expect(failures.map(({ facts }) => facts.retryAfterSeconds)).toEqual([1, 2, 3, 4, 5]);
});

test('sound takes no more memory than there is for it, but one is spoken whatever it takes', async () => {
  const { ask, admitted, finish } = openSlots({ limit: 100, bytesMax: 10 });
  ask('a0', { ...speech, bytesMax: 50 });
  ask('a1', { ...speech, bytesMax: 6 });
  await settle();
  expect(admitted).toEqual(['a0']);
  await finish('a0');
  ask('a2', { ...speech, bytesMax: 5 });
  await settle();
  expect(admitted).toEqual(['a0', 'a1']);
  await finish('a1');
  expect(admitted).toEqual(['a0', 'a1', 'a2']);
});
