// Tests overload on a manual clock: which requests are admitted, the order in which they wait, and early refusals.
import { expect, test } from 'vitest';
import { demandAt, never, openSchedule, seatAt, settle } from './open-schedule.ts';
import { simulateClients } from './simulated-streams.ts';

/** An engine that can speak all requests at once. */
const wide = seatAt({ segmentsSpokenMax: 1000 });
const single = seatAt({ segmentsSpokenMax: 1 });
const bulk = { kind: 'bulk' } as const;

/**
 * Runs requests that each take this long, one after the other while another waits, so that the scheduler has measured
 * the duration.
 */
async function openMeasured(ms: number) {
  const opened = openSchedule();
  opened.ask('a0', single);
  for (let n = 1; n <= 40; n++) {
    opened.ask(`a${n}`, single);
    await settle();
    await opened.finish(`a${n - 1}`, ms);
  }
  return opened;
}

test('64 polite clients are all served from the queue', async () => {
  const { refused, heard, firstMsMax } = await simulateClients({ seats: 2, polite: 64 });
  expect([refused, heard > 1000]).toEqual([0, true]);
  expect(firstMsMax).toBeLessThan(5000);
});

test.each([
  { offered: 10, leaveMs: 2000 },
  { offered: 3, leaveMs: 2000 },
  { offered: 10, leaveMs: 2000, owners: 20 },
  { offered: 10, leaveMs: 1000 },
])(
  'under overload, nine tenths of the capacity serve callers who have not given up: $offered times, $leaveMs ms',
  async (load) => {
    const { goodput } = await simulateClients({ seats: 2, ...load });
    expect(goodput).toBeGreaterThan(0.9);
  },
);

test('callers that disconnect while they wait, or soon after, do not make others be refused', async () => {
  const { ask, admitted, refused, held, clock } = await openMeasured(300);
  const leave = async (name: string, after: Promise<unknown>) => {
    const leaving = new AbortController();
    ask(name, single, { waitMsMax: 5000 }, leaving.signal);
    await after;
    leaving.abort(new Error('enough'));
    await settle();
    held.get(name)?.end();
  };
  for (let n = 0; n < 20; n++) await leave(`x${n}`, settle());
  held.get('a40')!.end();
  await settle();
  for (let n = 0; n < 20; n++) await leave(`y${n}`, settle());
  clock.ms += 1000;
  for (let n = 0; n < 10; n++) ask(`z${n}`, single, { waitMsMax: 5000 });
  await settle();
  expect(admitted.at(-1)).toBe('z0');
  expect(refused.filter((name) => name.startsWith('z'))).toEqual([]);
});

test('an engine whose requests wait does not keep those of another waiting', async () => {
  const { ask, admitted } = openSchedule();
  for (const name of ['a1', 'a2']) ask(name, single);
  ask('b1', seatAt({ segmentsSpokenMax: 1 }, { name: 'other' }));
  await settle();
  expect(admitted).toEqual(['a1', 'b1']);
});

test('an engine that states no seats has as many as requests may be spoken at once', async () => {
  const { ask, admitted, schedule } = openSchedule({ speakingMax: 3 });
  for (let n = 0; n < 5; n++) ask(`a${n}`, seatAt());
  await settle();
  expect([admitted.length, schedule.state.engines]).toEqual([3, [{ name: 'e', held: 3, waiting: 2 }]]);
});

test('interactive requests go before bulk ones, which get one turn after ten others', async () => {
  const { ask, admitted, finish, schedule } = openSchedule({ speakingMax: 1 });
  ask('a0', wide);
  for (const name of ['b1', 'b2']) ask(name, wide, bulk);
  for (let n = 1; n <= 12; n++) ask(`a${n}`, wide);
  await settle();
  expect(schedule.state.waiting).toEqual({ interactive: 12, bulk: 2 });
  for (let n = 0; n < 14; n++) await finish(admitted.at(-1)!);
  expect(admitted.indexOf('b1')).toBe(10);
  expect(admitted.at(-1)).toBe('b2');
});

test('where somebody has listened of late, bulk requests leave a seat of the engine, whatever model they need', async () => {
  const { ask, admitted, held, clock } = openSchedule();
  const at = (resource: string) => seatAt({ segmentsSpokenMax: 3, segmentsPerResource: 2 }, { resource });
  ask('a0', at('heard'));
  await settle();
  held.get('a0')!.end();
  for (const [n, name] of ['one', 'one', 'two', 'two'].entries()) ask(`b${n}`, at(name), bulk);
  await settle();
  expect(admitted).toEqual(['a0', 'b0', 'b1']);
  clock.ms = 20_000;
  ask('b4', at('two'), bulk);
  await settle();
  expect(admitted).toEqual(['a0', 'b0', 'b1', 'b2']);
});

test('a bulk request makes room in a full queue for an interactive one', async () => {
  const { ask, refused, schedule } = openSchedule({ speakingMax: 1, waitingMax: 2 });
  ask('a0', wide);
  for (const name of ['b1', 'b2']) ask(name, wide, bulk);
  ask('c1', wide);
  await settle();
  expect([refused, schedule.state.waiting.interactive]).toEqual([['b2'], 1]);
});

test('a request that cannot be heard by its deadline is refused at once, and one that can waits', async () => {
  const { ask, admitted, refused, failures, finish, clock, schedule } = await openMeasured(300);
  ask('b1', single, { deadlineMs: clock.ms + 500, waitMsMax: 5000 });
  ask('b2', single, { deadlineMs: clock.ms + 2000, waitMsMax: 5000 });
  await settle();
  expect(refused).toEqual(['b1']);
  expect(failures[0]).toMatchObject({ reason: 'overloaded', facts: { retryAfterSeconds: expect.any(Number) } });
  expect(schedule.state.waiting.interactive).toBe(1);
  while (!admitted.includes('b2')) await finish(admitted.at(-1)!, 300);
  expect(refused).toEqual(['b1']);
});

test('a deadline is no reason to refuse a request that need not wait', async () => {
  const { ask, admitted, clock } = openSchedule();
  ask('a0', wide, { deadlineMs: clock.ms + 1 });
  await settle();
  expect(admitted).toEqual(['a0']);
});

test('a burst after a quiet time waits as the one before it did', async () => {
  const { ask, admitted, refused, finish, clock } = openSchedule();
  const burst = async (names: readonly string[]) => {
    for (const name of names) ask(name, single, { waitMsMax: 5000 });
    await settle();
    for (const name of names) await finish(name, 100);
  };
  await burst(['a1', 'a2', 'a3']);
  clock.ms += 10_000;
  await burst(['b1', 'b2', 'b3']);
  expect([admitted, refused]).toEqual([['a1', 'a2', 'a3', 'b1', 'b2', 'b3'], []]);
});

test('what would be refused at once is known before, and takes nothing', async () => {
  const { schedule, ask, admitted } = openSchedule({ waitingMax: 1 });
  const check = (owner: string) => schedule.check(demandAt(single, { owner }));
  check('a');
  ask('a0', single);
  check('a');
  ask('a1', single);
  expect(() => check('a')).toThrow(expect.objectContaining({ reason: 'overloaded' }));
  await settle();
  expect([admitted, schedule.state.waiting.interactive]).toEqual([['a0'], 1]);
});

test('those who are refused are told to come back one after the other, as fast as the queue moves', async () => {
  const { ask, failures } = openSchedule({ speakingMax: 1, waitingMax: 0 });
  ask('a0', wide);
  for (let n = 1; n <= 5; n++) ask(`a${n}`, wide);
  await settle();
  const told = failures.map(({ reason, facts }) => [reason, facts.retryAfterSeconds]);
  expect(told).toEqual([1, 2, 3, 4, 5].map((seconds) => ['overloaded', seconds]));
});

test('audio takes no more memory than there is for it, but one request is spoken whatever it takes', async () => {
  const { ask, admitted, finish } = openSchedule({ bytesMax: 10 });
  ask('a0', wide, { bytesMax: 50 });
  ask('a1', wide, { bytesMax: 6 });
  await settle();
  expect(admitted).toEqual(['a0']);
  await finish('a0');
  ask('a2', wide, { bytesMax: 5 });
  ask('b3', wide, { bytesMax: 1 });
  await settle();
  // No request overtakes a request that waits for memory.
  expect(admitted).toEqual(['a0', 'a1']);
  await finish('a1');
  expect(admitted).toEqual(['a0', 'a1', 'a2', 'b3']);
});

test('a request whose first segment needs another engine gives its seat back and waits there', async () => {
  const { ask, held, schedule } = openSchedule();
  const other = seatAt({ segmentsSpokenMax: 1 }, { name: 'other' });
  ask('a0', single);
  await settle();
  const turn = await held.get('a0')!.turn(other, true, never);
  expect(schedule.state.engines.map(({ held }) => held)).toEqual([0, 1]);
  turn.end();
  held.get('a0')!.end();
  expect(schedule.state.speaking).toBe(0);
});

test('a seat that is not needed is given back with the first sound: a text may begin with silence', async () => {
  const { ask, held, admitted } = openSchedule();
  ask('a0', single);
  ask('b0', single);
  await settle();
  held.get('a0')!.heard();
  await settle();
  expect(admitted).toEqual(['a0', 'b0']);
});
