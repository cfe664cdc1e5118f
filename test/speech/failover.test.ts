// Tests one voice with two engines: the second engine is used only if the first fails before any audio was sent.
import { expect, onTestFinished, test, vi } from 'vitest';
import { Failure } from '../../src/platform/errors.ts';
import { type StoredVoice, StoredVoices } from '../../src/speech/stored-voices.ts';
import { openTone } from '../engines/tone-engine.ts';
import { collect, sentence, speechOf } from './open-speech.ts';
import { storedVoice } from './stored-voice.ts';

const lost = new Failure('engine_unavailable', { retryAfterSeconds: 0 }, new Error('gone'));

function openPair(asked: Partial<StoredVoice> = {}) {
  const first = openTone({ name: 'first', languageCodes: ['en'] });
  const second = openTone({ name: 'second', sampleRateHz: 24_000 });
  for (const tone of [first, second]) onTestFinished(() => tone.close());
  const ending = new AbortController();
  const ada = storedVoice({
    languageCodes: ['en', 'de'],
    bindings: [
      { engine: 'absent', speakerId: 'nobody' },
      { engine: 'first', speakerId: 'first-low' },
      { engine: 'second', speakerId: 'second-high' },
    ],
    ended: ending.signal,
    ...asked,
  });
  const { voices, speech, stream: streamOf } = speechOf([first, second], { stored: new StoredVoices([ada]) });
  const stream = (fields: object = {}) => streamOf({ voice_id: 'ada', text: 'One two three.', ...fields });
  const restMs = () => speech.restMs(voices.find('first-low').bindings[0]!);
  return { first, second, restMs, stream, ending };
}
const speakerOf = (events: Awaited<ReturnType<typeof collect>>) =>
  events.flatMap((event) => (event.type === 'info' ? [event.speaker.engine, event.voice.voiceId] : []));

test('the best engine speaks while it can', async () => {
  const { stream, second } = openPair();
  expect(speakerOf(await collect(stream()))).toEqual(['first', 'ada']);
  expect(second.counts.begun).toBe(0);
});

test.each(['engine_error', 'engine_unavailable', 'engine_timeout'] as const)(
  'another one where it fails with %s before anything is heard',
  async (reason) => {
    const { stream, first } = openPair();
    first.trouble = { failure: new Failure(reason), failsAfterPieces: 0 };
    const events = await collect(stream());
    expect(speakerOf(events)).toEqual(['second', 'ada']);
    expect(events.at(-1)?.type).toBe('done');
  },
);

test('the other engine gets the instructions and the seed; what it does not take is a warning', async () => {
  const { stream, first, second } = openPair();
  first.capabilities = { ...first.capabilities, instructions: true, seed: true };
  second.capabilities = { ...second.capabilities, seed: true };
  first.trouble = { failure: lost, failsAfterPieces: 0 };
  const manner = { instructions: 'Whisper.', seed: 7 };
  const [info] = await collect(stream(manner));
  expect(info).toMatchObject({ warnings: ['fallback_engine', 'ignored:instructions'] });
  expect(first.segments[0]).toMatchObject(manner);
  expect(second.segments[0]).toMatchObject({ seed: 7 });
  expect(second.segments[0]).not.toHaveProperty('instructions');
});

test('never in the middle: a stream that has begun does not change its voice', async () => {
  const { stream, first, second } = openPair();
  first.trouble = { failure: lost, failsAfterPieces: 2 };
  const text = Array.from({ length: 9 }, (_, i) => sentence(i)).join(' ');
  await expect(collect(stream({ text, method: 'streaming' }))).rejects.toBe(lost);
  expect(second.counts.begun).toBe(0);
});

test('where all fail, the last failure is returned; an internal error is not failed over', async () => {
  const { stream, first, second } = openPair();
  first.trouble = { failure: new Failure('engine_unavailable'), failsAfterPieces: 0 };
  second.trouble = { failsAfterPieces: 0 };
  await expect(collect(stream())).rejects.toMatchObject({ reason: 'engine_error' });
  first.trouble = { failure: new TypeError('a bug'), failsAfterPieces: 0 };
  await expect(collect(stream())).rejects.toThrow('a bug');
});

test('a language goes to the engine that speaks it', async () => {
  const { stream } = openPair();
  expect(speakerOf(await collect(stream({ language_code: 'de' })))).toEqual(['second', 'ada']);
  const fault = expect.objectContaining({ field: 'language_code', reason: 'unsupported_language' });
  await expect(collect(stream({ language_code: 'fr' }))).rejects.toMatchObject({ facts: { details: [fault] } });
});

test.each(['pending', 'failed', 'disabled', 'consent_revoked'] as const)(
  'one that is %s cannot speak',
  async (status) => {
    const { stream } = openPair({ status });
    await expect(collect(stream())).rejects.toMatchObject({ reason: 'voice_not_ready' });
  },
);

test('nor one whose engines are not set up here', async () => {
  const { stream } = openPair({ bindings: [{ engine: 'absent', speakerId: 'nobody' }] });
  await expect(collect(stream())).rejects.toMatchObject({ reason: 'engine_unavailable' });
});

test('one that ends is not heard for another moment, and another engine does not help', async () => {
  const { stream, first, second, ending } = openPair();
  first.trouble = { pieceDelayMs: 5 };
  const ended = new Failure('voice_not_ready', { message: 'withdrawn' });
  const heard = (async () => {
    for await (const event of stream({ text: sentence(1).repeat(40) })) if (event.type === 'audio') ending.abort(ended);
  })();
  await expect(heard).rejects.toBe(ended);
  await expect.poll(() => first.counts.running).toBe(0);
  expect(second.counts.begun).toBe(0);
});

test('an engine killed in the middle of a hundred streams: all fail at once, the other serves, and it comes back', async () => {
  // The clock of the breaker stands still, so that the engine rests until all have failed, however long that takes.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { stream, restMs, first, second } = openPair();
  // Slow enough that no stream can end before all have begun, even on a busy machine.
  first.trouble = { pieceDelayMs: 20 };
  const text = Array.from({ length: 40 }, (_, i) => sentence(i)).join(' ');
  const begun = new Set<number>();
  const streams = Array.from({ length: 100 }, async (_, i) => {
    for await (const event of stream({ text }))
      if (event.type === 'audio' && begun.add(i).size === 100) first.trouble = { failure: lost, failsAfterPieces: 0 };
  });
  const failures = (await Promise.allSettled(streams)).map((end) =>
    end.status === 'rejected' ? end.reason.reason : 'ended',
  );
  expect(failures).toEqual(Array(100).fill('engine_unavailable'));
  expect(restMs()).toBeGreaterThan(0);
  expect(second.counts.begun).toBe(0);

  const begunBefore = first.counts.begun;
  expect(speakerOf(await collect(stream()))).toEqual(['second', 'ada']);
  expect(first.counts.begun, 'nobody waits for the first').toBe(begunBefore);

  first.trouble = {};
  vi.advanceTimersByTime(Math.ceil(restMs()));
  expect(restMs()).toBe(0);
  expect(speakerOf(await collect(stream()))).toEqual(['first', 'ada']);
}, 90_000);
