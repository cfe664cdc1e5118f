// Tests that an engine's own limits are shared fairly, counted in segments instead of time.
import { expect, test } from 'vitest';
import { Failure } from '../../../src/platform/errors.ts';
import { callerOf, collect, openSpeech, sentence, streaming } from '../open-speech.ts';
import { demandAt, never, openSchedule, seatAt, settle } from './open-schedule.ts';

const text = Array.from({ length: 12 }, (_, i) => sentence(i)).join(' ');

test('one greedy key with twenty long streams does not delay another’s first sound by more than a segment', async () => {
  const { tone, stream } = openSpeech({ capabilities: { segmentsSpokenMax: 1, segmentsAtOnce: 2 } });
  const leaving = new AbortController();
  const greedy = Array.from({ length: 20 }, () =>
    Array.fromAsync(stream(streaming(text), leaving.signal, callerOf('greedy'))).catch(() => {}),
  );
  while (tone.segments.length < 30) await new Promise((resolve) => setImmediate(resolve));
  const begunBefore = tone.segments.length;
  const guest = { voice_id: 'tone-high', ...streaming('Let me in.') };
  for await (const event of stream(guest, leaving.signal, callerOf('guest'))) if (event.type === 'audio') break;
  const first = tone.segments.findIndex(({ voice }) => voice.voiceId === 'tone-high');
  // Besides the segments that had begun, at most one segment precedes the guest's segment.
  expect(first - begunBefore).toBeLessThanOrEqual(1);
  leaving.abort(new Error('enough'));
  await Promise.all(greedy);
});

test('nor does one that has twenty requests waiting for their first', async () => {
  const { schedule } = openSchedule();
  const begun: string[] = [];
  const take = async (callerId: string, urgent: boolean) => {
    const { end } = await schedule.turn(callerId, seatAt({ segmentsSpokenMax: 1 }), urgent ? 'first' : 'later', never);
    begun.push(callerId);
    setImmediate(end);
  };
  const greedy = Array.from({ length: 40 }, (_, i) => take('greedy', i % 2 === 0));
  const others = [take('guest', true), take('reader', false)];
  await Promise.all([...greedy, ...others]);
  expect(begun.indexOf('guest')).toBeLessThanOrEqual(2);
  // The reader's later segment comes after all first segments, and then in turn.
  expect(begun.indexOf('reader')).toBeLessThanOrEqual(23);
});

test('clones and voices of the engine share its seats, and are admitted in their order', async () => {
  const { schedule } = openSchedule();
  const begun: string[] = [];
  const take = async (isClone: boolean, name: string) => {
    const seat = seatAt({ segmentsSpokenMax: 1, cloneSegmentsPerMinute: 30 }, { isClone });
    const { end } = await schedule.turn('ada', seat, 'first', never);
    begun.push(name);
    setImmediate(end);
  };
  await Promise.all([take(true, 'clone 1'), take(true, 'clone 2'), take(false, 'own 1'), take(false, 'own 2')]);
  expect(begun).toEqual(['clone 1', 'clone 2', 'own 1', 'own 2']);
});

test('a request that would wait too long for a seat is refused at once; one that is heard already waits', async () => {
  const { ask, finish, refused, failures, admitted, held } = openSchedule({ speakingMax: 10 });
  const seat = seatAt({ segmentsSpokenMax: 1 });
  for (const name of ['a1', 'a2', 'a3']) {
    ask(name, seat);
    await settle();
    if (name !== 'a3') await finish(name, 4000);
  }
  // Eight requests may wait for a slow engine in any case.
  const waiting = ['b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7', 'b8'];
  for (const name of [...waiting, 'b9']) ask(name, seat, { waitMsMax: 5000 });
  await settle();
  expect([admitted, refused]).toEqual([['a1', 'a2', 'a3'], ['b9']]);
  expect(failures[0]).toMatchObject({ reason: 'overloaded', facts: { retryAfterSeconds: 36 } });
  const first = await held.get('a3')!.turn(seat, true, never);
  const later = held.get('a3')!.turn(seat, false, never);
  first.end();
  held.get('a3')!.heard();
  await settle();
  expect(admitted).toEqual(['a1', 'a2', 'a3', 'b1']);
  for (const name of waiting) {
    held.get(name)!.end();
    await settle();
  }
  (await later).end();
});

test('a request whose engine has no turn for it in time is refused', async () => {
  const capabilities = { segmentsSpokenMax: 1, segmentsAtOnce: 1 };
  const { tone, stream } = openSpeech({ capabilities }, { waitMsMax: 300 });
  const leaving = new AbortController();
  const holder = stream(streaming(text), leaving.signal, callerOf('a'))[Symbol.asyncIterator]();
  const endTurns: (() => void)[] = [];
  const { speak } = tone;
  tone.speak = async function* (...asked) {
    await new Promise<void>((resolve) => endTurns.push(resolve));
    yield* speak(...asked);
  };
  const holding = holder.next();
  while (endTurns.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await expect(collect(stream(streaming('Let me in.'), leaving.signal, callerOf('b')))).rejects.toMatchObject({
    reason: 'overloaded',
    facts: { retryAfterSeconds: expect.any(Number) },
  });
  for (const end of endTurns.splice(0)) end();
  await holding;
  leaving.abort(new Error('enough'));
  for (const end of endTurns.splice(0)) end();
});

test('a stalled reader does not block the engine for others', async () => {
  const { stream } = openSpeech({ capabilities: { segmentsSpokenMax: 1 } });
  const leaving = new AbortController();
  const streamTo = (id: string) => stream(streaming(text), leaving.signal, callerOf(id));
  const stalled = streamTo('stalled');
  for await (const event of stalled) if (event.type === 'audio') break;
  const half = streamTo('half');
  await half.next();
  const whole = await Array.fromAsync(streamTo('other'));
  expect(whole.at(-1)?.type).toBe('done');
  leaving.abort(new Error('enough'));
  await half.return();
});

test('requests a minute are limited, and longer waits fail with a correct retryAfterSeconds', async () => {
  const { schedule, clock } = openSchedule();
  const seat = seatAt({ segmentsPerMinute: 30 });
  const take = (urgent = true, signal = never) => schedule.turn('a', seat, urgent ? 'first' : 'later', signal);
  for (let i = 0; i < 30; i++) {
    (await take()).end();
    clock.ms += 100;
  }
  const refused = await take().catch((error: Failure) => error);
  expect(refused).toBeInstanceOf(Failure);
  expect(refused).toMatchObject({ reason: 'engine_unavailable', facts: { retryAfterSeconds: 57 } });
  clock.ms += 57_000;
  (await take()).end();
  const leaving = new AbortController();
  const waiting = take(false, leaving.signal);
  leaving.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
});

test('200 clients of 20 keys at an engine of 30 a minute: 30 begin each minute, and all are served when they were told', async () => {
  const { schedule, clock } = openSchedule();
  const seat = seatAt({ segmentsPerMinute: 30 });
  clock.ms = 1_000;
  const clients = Array.from({ length: 200 }, (_, i) => ({
    callerId: `key-${i % 20}`,
    comesAtMs: clock.ms,
    visits: 0,
  }));
  const begunAtMs: number[] = [];
  const begunOf = new Map<string, number>();
  for (let left = clients; left.length > 0; ) {
    clock.ms = Math.min(...left.map(({ comesAtMs }) => comesAtMs));
    for (const client of left.filter(({ comesAtMs }) => comesAtMs === clock.ms)) {
      client.visits++;
      const { callerId } = client;
      try {
        const { turn, end } = await schedule.begin(demandAt(seat, { owner: callerId }), never);
        (await turn(seat, true, never)).end();
        end();
        begunAtMs.push(clock.ms);
        begunOf.set(callerId, (begunOf.get(callerId) ?? 0) + 1);
        client.comesAtMs = Infinity;
      } catch (error) {
        client.comesAtMs = clock.ms + (error as Failure).facts.retryAfterSeconds! * 1000;
      }
    }
    left = left.filter(({ comesAtMs }) => comesAtMs < Infinity);
    const counts = [...begunOf.values()];
    expect(Math.max(...counts) - Math.min(...counts, begunOf.size < 20 ? 0 : Infinity)).toBeLessThanOrEqual(2);
  }
  const perMinute = Map.groupBy(begunAtMs, (at) => Math.floor((at - 1_000) / 60_000));
  expect([...perMinute.values()].map(({ length }) => length)).toEqual([30, 30, 30, 30, 30, 30, 20]);
  expect(Math.max(...clients.map(({ visits }) => visits))).toBe(2);
});

test('the same through streamSpeech: exactly 30 of 200 are spoken, and the others are refused', async () => {
  const { tone, stream } = openSpeech({ capabilities: { segmentsPerMinute: 30 } });
  const say = (i: number) => collect(stream({ text: 'Hi.' }, never, callerOf(`key-${i % 20}`)));
  const ends = await Promise.allSettled(Array.from({ length: 200 }, (_, i) => say(i)));
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Failure] : []));
  expect([ends.length - refused.length, tone.counts.begun]).toEqual([30, 30]);
  const waits = refused.map(({ reason, facts }) => [reason, Math.ceil(facts.retryAfterSeconds! / 60)]);
  expect(new Set(waits.map(([reason]) => reason))).toEqual(new Set(['engine_unavailable']));
  const minutes = Map.groupBy(waits, ([, minute]) => minute);
  expect([...minutes].map(([minute, { length }]) => [minute, length])).toEqual([
    ...[1, 2, 3, 4, 5].map((minute) => [minute, 30]),
    [6, 20],
  ]);
});
