// Tests an engine that is slower than speech: its callers wait for one another, however long that takes.
import { expect, test } from 'vitest';
import { callerOf, collect, openSpeech, streaming } from '../open-speech.ts';
import { never, openSchedule, seatAt, settle } from './open-schedule.ts';

const single = seatAt({ segmentsSpokenMax: 1 });

test('eight callers without pauses are all served, whatever their requests take', async () => {
  const { ask, admitted, refused, finish } = openSchedule();
  const tookMs = [1500, 9000, 4000, 2500, 8000, 12_000];
  for (let n = 0; n < 8; n++) ask(`a${n}`, single, { waitMsMax: 5000 });
  await settle();
  for (let n = 0; n < 100; n++) {
    expect(admitted).toHaveLength(n + 1);
    await finish(admitted.at(-1)!, tookMs[n % tookMs.length]);
    ask(`a${n + 8}`, single, { waitMsMax: 5000 });
    await settle();
  }
  expect(refused).toEqual([]);
});

test('what has been said of the wait holds: a deadline that would be missed is refused, a later one is not', async () => {
  const { ask, refused, finish, clock } = openSchedule();
  for (let n = 0; n < 6; n++) ask(`a${n}`, single);
  await settle();
  for (let n = 0; n < 3; n++) await finish(`a${n}`, 4000);
  // Two requests wait, so a further one begins in 12 s and takes 4 s.
  ask('b1', single, { owner: 'a', waitMsMax: 5000, deadlineMs: clock.ms + 15_900 });
  ask('b2', single, { owner: 'a', waitMsMax: 5000, deadlineMs: clock.ms + 16_100 });
  await settle();
  expect(refused).toEqual(['b1']);
});

test('callers that disconnect leave nothing behind that makes a later request be refused', async () => {
  const { schedule, ask, admitted, refused, finish, held, clock } = openSchedule();
  for (let n = 0; n < 4; n++) ask(`a${n}`, single);
  await settle();
  for (let n = 0; n < 4; n++) await finish(`a${n}`, 2000);
  for (let n = 0; n < 20; n++) {
    const leaving = new AbortController();
    ask(`x${n}`, single, {}, leaving.signal);
    ask(`y${n}`, single, { waitMsMax: 5000 }, leaving.signal);
    await settle();
    clock.ms += 1000;
    held.get(`x${n}`)!.end();
    await settle();
    expect(admitted.at(-1)).toBe(`y${n}`);
    leaving.abort(new Error('enough'));
    // The engine needs a while to stop, so the next request has to wait.
    ask(`b${n}`, single, { waitMsMax: 5000 });
    await settle();
    held.get(`y${n}`)!.end();
    await settle();
    expect(refused).toEqual([]);
    await finish(`b${n}`, 2000);
  }
  expect(schedule.state).toMatchObject({ speaking: 0, waiting: { interactive: 0 } });
});

test('with an engine, eight callers and callers that left before wait longer than may be, and all are served', async () => {
  const capabilities = { segmentsSpokenMax: 1, segmentsAtOnce: 1 };
  const { stream } = openSpeech({ capabilities, trouble: { pieceDelayMs: 8 } }, { waitMsMax: 40 });
  const say = (n: number, signal = never) =>
    collect(stream(streaming(`Caller ${n} is speaking now.`), signal, callerOf(`caller ${n}`)));
  for (let n = 0; n < 3; n++) await say(n);
  const repeat = async (n: number) => {
    for (let times = 0; times < 3; times++) expect((await say(n)).at(-1)?.type).toBe('done');
  };
  await Promise.all(Array.from({ length: 8 }, (_, n) => repeat(n)));
  const leaving = new AbortController();
  const left = Array.from({ length: 8 }, (_, n) => say(n, leaving.signal).catch(() => 'left'));
  await new Promise((resolve) => setTimeout(resolve, 60));
  leaving.abort(new Error('enough'));
  expect((await say(9)).at(-1)?.type).toBe('done');
  expect(await Promise.all(left)).toContain('left');
});
