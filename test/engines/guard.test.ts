// Tests the guard around an engine: nothing hangs, nothing is sent twice, and temporary failures are retried.
import { expect, test } from 'vitest';
import type { Engine, EngineCapabilities, Segment } from '../../src/engines/engine.ts';
import { createEngineGuard } from '../../src/engines/guard.ts';
import { Failure } from '../../src/platform/errors.ts';
import { Schedule } from '../../src/speech/schedule.ts';
import { noteMetrics } from '../platform/telemetry/noted-metrics.ts';
import { openGuard, segmentOf } from './open-guard.ts';
import { cloneMark, openTone, type ToneTrouble } from './tone-engine.ts';

const never = new AbortController().signal;
const passing = new Failure('engine_error', { retryAfterSeconds: 0 }, new Error('500'));

function guardTone(trouble: ToneTrouble, capabilities: Partial<EngineCapabilities> = {}) {
  const tone = openTone({ trouble, capabilities });
  const ended: string[] = [];
  /** Seconds of audio or work, with their labels. */
  const paces: [name: string, model: string | undefined, seconds: number][] = [];
  let retries = 0;
  const metrics = noteMetrics((name, { outcome, model }, value) => {
    if (name === 'sonant_engine_segments_total') ended.push(outcome!);
    if (name === 'sonant_engine_retries_total') retries++;
    if (/_(sound|work)_seconds_total$/.test(name)) paces.push([name, model, value]);
  });
  const guard = openGuard(tone, metrics);
  const speak = (signal = never, more: Partial<Segment> = {}) =>
    Array.fromAsync(guard.speak({ ...segmentOf(tone), ...more }, 'caller', signal));
  return { tone, guard, speak, ended, paces, retries: () => retries };
}

test('a retryable failure before the first sound is retried', async () => {
  const { tone, speak, ended, retries } = guardTone({ failure: passing, failsAfterPieces: 0 });
  setTimeout(() => (tone.trouble = {}), 20);
  expect((await speak()).length).toBe(3);
  expect(retries()).toBe(1);
  expect(ended).toEqual(['engine_error', 'spoken']);
});

test('of a segment that was spoken whole, its sound is told and how long the engine took for it', async () => {
  const { speak, ended, paces, tone } = guardTone({ failure: passing, failsAfterPieces: 0 });
  setTimeout(() => (tone.trouble = {}), 20);
  const since = performance.now();
  const pieces = await speak(never, { voice: { ...tone.voices[0]!, labels: { model: 'm' } } });
  const took = (performance.now() - since) / 1000;
  const soundSeconds = pieces.reduce((sum, { samples, sampleRateHz }) => sum + samples.length / sampleRateHz, 0);
  expect(ended).toEqual(['engine_error', 'spoken']);
  expect(paces.map(([name, model]) => [name, model])).toEqual([
    ['sonant_engine_sound_seconds_total', 'm'],
    ['sonant_engine_work_seconds_total', 'm'],
  ]);
  const [[, , sound], [, , work]] = paces as [(typeof paces)[0], (typeof paces)[0]];
  expect(sound).toBeCloseTo(soundSeconds);
  expect(work).toBeLessThan(took);
  expect(work).toBeGreaterThan(0);
});

test('work in the background waits while a segment is tried again', async () => {
  const tone = openTone({ trouble: { failure: passing, failsAfterPieces: 0 } });
  const schedule = new Schedule({ speakingMax: 1, waitingMax: 1, processors: 2 });
  let isTried = false;
  const spoken: string[] = [];
  const metrics = noteMetrics((name) => {
    if (name !== 'sonant_engine_retries_total') return;
    isTried = true;
    tone.trouble = {};
  });
  const guard = createEngineGuard(tone, metrics);
  const speaking = Array.fromAsync(
    guard.speak(segmentOf(tone), never, {
      async take(seat, _, by) {
        if (isTried) spoken.push('segment');
        return schedule.turn('caller', seat, 'first', by);
      },
    }),
  );
  const working = schedule.background('job', never, async () => spoken.push('job'));
  await Promise.all([speaking, working]);
  expect(spoken).toEqual(['segment', 'job']);
});

test('a retry waits for the Retry-After of the engine', async () => {
  const { tone, speak } = guardTone({
    failure: new Failure('engine_unavailable', { retryAfterSeconds: 0.6 }),
    failsAfterPieces: 0,
  });
  const startMs = performance.now();
  setTimeout(() => (tone.trouble = {}), 20);
  expect((await speak()).length).toBe(3);
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(600);
  expect(tone.counts.begun).toBe(2);
});

test('a persistent failure is tried three times, and then returned', async () => {
  const { tone, speak } = guardTone({ failure: passing, failsAfterPieces: 0 });
  await expect(speak()).rejects.toBe(passing);
  expect(tone.counts.begun).toBe(3);
});

test.each([
  ['a failure that will not pass', new Failure('engine_error'), 0],
  ['a login that is refused', new Failure('engine_unavailable'), 0],
  ['an engine that wants a minute', new Failure('engine_unavailable', { retryAfterSeconds: 60 }), 0],
  ['a failure after the first sound', passing, 1],
])('%s is told at once', async (_, failure, failsAfterPieces) => {
  const { tone, speak, retries } = guardTone({ failure, failsAfterPieces });
  await expect(speak()).rejects.toBe(failure);
  expect([tone.counts.begun, retries()]).toEqual([1, 0]);
});

test('an engine is not called before its Retry-After, and all callers get the true wait', async () => {
  const { tone, guard, speak } = guardTone({
    failure: new Failure('engine_unavailable', { retryAfterSeconds: 30 }),
    failsAfterPieces: 0,
  });
  await expect(speak()).rejects.toMatchObject({ reason: 'engine_unavailable' });
  const refusal = await speak().catch((error) => error);
  expect(refusal.facts.retryAfterSeconds).toBeGreaterThan(29);
  expect(refusal.facts.retryAfterSeconds).toBeLessThanOrEqual(30);
  expect([tone.counts.begun, guard.state]).toEqual([1, 'open']);
});

test.each([
  ['the first sound', 0],
  ['more of it', 1],
])('an engine that is silent is not waited for longer than it says: %s', async (_, hangsAfterPieces) => {
  const { tone, speak } = guardTone({ hangsAfterPieces }, { firstSoundMsMax: 30, stallMsMax: 30 });
  await expect(speak()).rejects.toMatchObject({ reason: 'engine_timeout' });
  await expect.poll(() => tone.counts.running).toBe(0);
  expect(tone.counts.begun).toBe(1);
});

test('not even one that does not listen to its signal', async () => {
  const tone = openTone({ capabilities: { firstSoundMsMax: 30 } });
  const deaf: Engine = {
    ...tone,
    speak: async function* () {
      await new Promise(() => {});
      yield { samples: new Int16Array(1), sampleRateHz: 16_000 };
    },
  };
  const spoken = openGuard(deaf).speak(segmentOf(tone), 'caller', never);
  await expect(Array.fromAsync(spoken)).rejects.toMatchObject({ reason: 'engine_timeout' });
});

test('a slow reader does not cause an engine timeout', async () => {
  const tone = openTone({ capabilities: { stallMsMax: 20 } });
  const whole = await Array.fromAsync(openGuard(tone).speak(segmentOf(tone), 'caller', never));
  let samples = 0;
  for await (const piece of openGuard(tone).speak(segmentOf(tone), 'caller', never)) {
    samples += piece.samples.length;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect(samples).toBe(whole.reduce((sum, piece) => sum + piece.samples.length, 0));
});

test('an abort ends the wait for a retry, and is no failure of the engine', async () => {
  const { tone, speak, guard } = guardTone({
    failure: new Failure('engine_error', { retryAfterSeconds: 2 }),
    failsAfterPieces: 0,
  });
  const leaving = new AbortController();
  const spoken = speak(leaving.signal);
  await expect.poll(() => tone.counts.failed).toBe(1);
  leaving.abort(new Error('left'));
  await expect(spoken).rejects.toThrow('left');
  expect([tone.counts.begun, guard.state]).toEqual([1, 'closed']);
});

test('repeated refusals of one text do not open the circuit breaker', async () => {
  const { guard, speak, tone } = guardTone({ failsAfterPieces: 0 });
  for (let i = 0; i < 20; i++) await expect(speak()).rejects.toMatchObject({ reason: 'engine_error' });
  expect([tone.counts.begun, guard.state]).toEqual([20, 'closed']);
});

test('clones have a quota of their own where the engine says so', async () => {
  const { guard, tone, speak } = guardTone({}, { segmentsPerMinute: 1_000, cloneSegmentsPerMinute: 2 });
  const clone = { clone: Buffer.from(`${cloneMark} 1`) };
  await speak(never, clone);
  await speak(never, clone);
  await expect(speak(never, clone)).rejects.toMatchObject({ reason: 'engine_unavailable' });
  expect((await speak()).length).toBe(3);
  expect([tone.counts.begun, guard.state]).toEqual([3, 'closed']);
});

test('and where that is spent at the engine itself, its own voices go on', async () => {
  const failure = new Failure('engine_unavailable', { retryAfterSeconds: 30 });
  const { guard, tone, speak } = guardTone({ failure, failsAfterPieces: 0 }, { cloneSegmentsPerMinute: 30 });
  await expect(speak(never, { clone: Buffer.from(`${cloneMark} 1`) })).rejects.toBe(failure);
  expect(guard.restMs('tone-low', true)).toBeGreaterThan(0);
  tone.trouble = {};
  expect((await speak()).length).toBe(3);
});

test('where speakers fail one by one, one that does keeps nobody from the others', async () => {
  const failure = new Failure('engine_unavailable', { retryAfterSeconds: 60 });
  const { guard, tone, speak } = guardTone({ failure, failsAfterPieces: 0 }, { speakersFailAlone: true });
  await expect(speak()).rejects.toBe(failure);
  tone.trouble = {};
  await expect(speak()).rejects.toMatchObject({ reason: 'engine_unavailable' });
  expect((await speak(never, { voice: tone.voices[1]! })).length).toBe(3);
  expect([guard.restMs('tone-low', false) > 0, guard.restMs('tone-high', false), guard.state]).toEqual([
    true,
    0,
    'open',
  ]);
});

test('turns that came when the engine was left in peace count for nothing', async () => {
  const { tone, guard, speak } = guardTone(
    { failure: new Failure('engine_unavailable', { retryAfterSeconds: 30 }), failsAfterPieces: 0, pieceDelayMs: 0 },
    { segmentsPerMinute: 10, segmentsSpokenMax: 1 },
  );
  const ends = await Promise.allSettled(Array.from({ length: 10 }, () => speak()));
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true);
  expect([tone.counts.begun, guard.state]).toEqual([1, 'open']);
  const waits = ends.map((end) => (end as PromiseRejectedResult).reason.facts.retryAfterSeconds);
  expect(Math.max(...waits)).toBeLessThanOrEqual(30);
});

test('clones and built-in voices share the slots of an engine', async () => {
  const { tone, speak } = guardTone({ pieceDelayMs: 5 }, { segmentsSpokenMax: 1, cloneSegmentsPerMinute: 30 });
  let most = 0;
  const watching = setInterval(() => (most = Math.max(most, tone.counts.running)), 1);
  await Promise.all([speak(), speak(never, { clone: Buffer.from(`${cloneMark} 1`) }), speak()]);
  clearInterval(watching);
  expect([most, tone.counts.finished]).toEqual([1, 3]);
});

test('what speaks two segments at once is given two, and callers take turns at it', async () => {
  const tone = openTone({ trouble: { pieceDelayMs: 5 }, capabilities: { segmentsPerResource: 2 } });
  const guard = openGuard({ ...tone, resourceOf: () => 'model' });
  let most = 0;
  const watching = setInterval(() => (most = Math.max(most, tone.counts.running)), 1);
  const ends: string[] = [];
  const speak = async (caller: string) => {
    await Array.fromAsync(guard.speak({ ...segmentOf(tone), urgent: false }, caller, never));
    ends.push(caller);
  };
  await Promise.all([...Array.from({ length: 10 }, () => speak('greedy')), speak('other'), speak('third')]);
  clearInterval(watching);
  expect(most).toBe(2);
  expect(ends.indexOf('other')).toBeLessThanOrEqual(5);
  expect(ends.indexOf('third')).toBeLessThanOrEqual(5);
});
