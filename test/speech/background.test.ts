// Tests background work: interactive speech precedes it, and the owners of requests take turns.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createBackground } from '../../src/speech/background.ts';
import { openJobsGateway } from '../clips/jobs/open-jobs.ts';

const { signal } = new AbortController();

test('one segment at a time where there are two processors, and owners take turns', async () => {
  const turns = createBackground(2);
  const order: string[] = [];
  let running = 0;
  const work = (name: string) => async () => {
    expect(++running).toBe(1);
    await sleep(5);
    order.push(name);
    running--;
  };
  const asked = ['a1', 'a2', 'a3', 'b1'].map((name) => turns.run(name[0]!, signal, work(name)));
  await Promise.all(asked);
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('interactive speech interrupts a job segment, which is repeated afterwards', async () => {
  const turns = createBackground(2);
  const attempts: AbortSignal[] = [];
  const begun = Promise.withResolvers<void>();
  const made = turns.run('a', signal, async (until) => {
    attempts.push(until);
    begun.resolve();
    await sleep(attempts.length === 1 ? 60_000 : 1, undefined, { signal: until });
    return 'made';
  });
  await begun.promise;
  const leave = turns.enter();
  expect(attempts[0]!.aborted).toBe(true);
  await sleep(300);
  expect(attempts).toHaveLength(1);
  leave();
  expect(await made).toBe('made');
  expect(attempts).toHaveLength(2);
});

test('work that leaves its processor to other work is not interrupted, and waits to take one again', async () => {
  const turns = createBackground(2);
  const order: string[] = [];
  const left = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const first = turns.run('a', signal, async (until, place) => {
    place.leave();
    left.resolve();
    await goOn.promise;
    expect(until.aborted).toBe(false);
    await place.take();
    order.push('a');
  });
  await left.promise;
  await turns.run('b', signal, async () => void order.push('b'));
  const leave = turns.enter();
  goOn.resolve();
  await sleep(1);
  order.push('interactive');
  leave();
  await first;
  expect(order).toEqual(['b', 'interactive', 'a']);
});

test('where a processor is left, both go on; what was asked to end, ends', async () => {
  const turns = createBackground(4);
  const leave = turns.enter();
  const leaving = new AbortController();
  const attempts: AbortSignal[] = [];
  const made = turns.run('a', leaving.signal, async (until) => {
    attempts.push(until);
    await sleep(60_000, undefined, { signal: until });
  });
  await sleep(10);
  const others = [turns.enter(), turns.enter()];
  expect(attempts.map(({ aborted }) => aborted)).toEqual([true]);
  for (const each of [...others, leave]) each();
  leaving.abort(new Error('enough'));
  await expect(made).rejects.toThrow('enough');
  await expect(turns.run('a', signal, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('one that has waited for ten seconds is begun though somebody always speaks, one in ten seconds, and not ended', async () => {
  const clock = { ms: 0 };
  const turns = createBackground(2, () => clock.ms);
  let leave = turns.enter();
  const speakOn = async (ms: number) => {
    clock.ms += ms;
    const before = leave;
    leave = turns.enter();
    before();
    await sleep(0);
  };
  const begun: AbortSignal[] = [];
  const ends: (() => void)[] = [];
  const made = ['a', 'b'].map((owner) =>
    turns.run(owner, signal, async (until) => {
      begun.push(until);
      await new Promise<void>((resolve) => ends.push(resolve));
      return owner;
    }),
  );
  await speakOn(9_999);
  expect(begun).toHaveLength(0);
  await speakOn(1);
  expect(begun).toHaveLength(1);
  await speakOn(9_999);
  ends[0]!();
  expect([await made[0], begun.length, begun[0]!.aborted]).toEqual(['a', 1, false]);
  await speakOn(1);
  ends[1]!();
  expect([await made[1], begun.length]).toEqual(['b', 2]);
});

test('a request for speech is heard while a job is spoken, and the job after it', async () => {
  const { speak, tone, create, untilEnded } = await openJobsGateway({ trouble: { pieceDelayMs: 20 } });
  const { id } = await create({ chapters: [{ text: 'A long sentence that goes on and on and on. '.repeat(3) }] });
  while (tone.counts.running === 0) await sleep(5);
  expect((await speak({ text: 'Now.', return_format: 'buffer' })).status).toBe(200);
  expect((await untilEnded(id)).status).toBe('succeeded');
});
