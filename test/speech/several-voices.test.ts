// Tests several voices in one text, from engines with different sample rates: permissions, loudness, absence of clicks,
// and fallback to the next engine.
import { expect, onTestFinished, test } from 'vitest';
import type { Caller } from '../../src/accounts/keys/caller.ts';
import { Failure } from '../../src/platform/errors.ts';
import { type StoredVoice, StoredVoices } from '../../src/speech/stored-voices.ts';
import { openTone, type ToneOptions } from '../engines/tone-engine.ts';
import { collect, joined, samplesOf, speechOf } from './open-speech.ts';
import { storedVoice } from './stored-voice.ts';

function open(kept: readonly StoredVoice[] = [], other: ToneOptions = {}, first: ToneOptions = {}) {
  const tone = openTone({ sampleRateHz: 16_000, ...first });
  const bell = openTone({ name: 'bell', sampleRateHz: 22_050, ...other });
  for (const each of [tone, bell]) onTestFinished(() => each.close());
  const speech = speechOf([tone, bell], { stored: new StoredVoices(kept) });
  const stream = (body: string, caller?: Caller) => {
    const fields = { voice_id: 'tone-low', output_format: 'pcm', ssml: `<speak>${body}</speak>` };
    return speech.stream(fields, undefined, caller);
  };
  return { tone, bell, stream };
}

const choir = (more: Partial<StoredVoice> = {}) => {
  const bindings = ['bell', 'tone'].map((engine) => ({ engine, speakerId: `${engine}-high` }));
  return storedVoice({ voiceId: 'choir', bindings, ...more });
};

const dialogue = 'One two. <voice name="bell-high">Three four.</voice> Five, <voice name="bell-low">six</voice> seven.';

test('each part is spoken by the engine of its voice', async () => {
  const { tone, bell, stream } = open();
  const [info] = await collect(stream(dialogue));
  expect(tone.segments.map(({ text }) => text)).toEqual(['One two.', 'Five,', 'seven.']);
  expect(bell.segments.map(({ text, voice }) => `${voice.voiceId} ${text}`)).toEqual([
    'bell-high Three four.',
    'bell-low six',
  ]);
  expect(info).toMatchObject({ voice: { voiceId: 'tone-low' }, others: [{ voice: { voiceId: 'bell-high' } }, {}] });
});

test('there is no click where voices change', async () => {
  const { stream } = open();
  const stepOf = async (body: string) => {
    const samples = samplesOf(joined(await collect(stream(body))));
    return samples.reduce((max, sample, i) => Math.max(max, Math.abs(sample - (samples[i - 1] ?? sample))), 0);
  };
  const apart = await Promise.all(
    ['One two five six seven', '<voice name="bell-high">Three four six</voice>'].map(stepOf),
  );
  expect(await stepOf(dialogue)).toBeLessThanOrEqual(Math.max(...apart) * 1.1);
});

test('a key speaks with the voices that it may use, and with no other', async () => {
  const { stream } = open();
  const failure = await collect(stream(dialogue, { callerId: 'x', accountId: 'x', voiceIds: ['tone-low'] })).catch(
    (error) => error,
  );
  expect(failure).toMatchObject({ reason: 'voice_not_found' });
  expect((failure as Failure).facts.details).toMatchObject([{ field: 'ssml' }]);
  await collect(stream(dialogue, { callerId: 'x', accountId: 'x', voiceIds: ['tone-low', 'bell-low', 'bell-high'] }));
});

test('a private voice of another account does not exist, and one that is not ready says so', async () => {
  const body = '<voice name="choir">One.</voice>';
  const reasonOf = async (more: Partial<StoredVoice>) => {
    const failure = await collect(open([choir(more)]).stream(body, { callerId: 'x', accountId: 'mine' })).catch(
      (e) => e,
    );
    return failure instanceof Failure ? failure.reason : 'none';
  };
  expect(await reasonOf({ access: 'private', ownerId: 'theirs' })).toBe('voice_not_found');
  expect(await reasonOf({ access: 'private', ownerId: 'mine' })).toBe('none');
  expect(await reasonOf({ status: 'disabled' })).toBe('voice_not_ready');
});

test('where the engine of a second voice fails before any sound, the next one of that voice takes over', async () => {
  const { tone, bell, stream } = open([choir()], { trouble: { failsAfterSegments: 0 } });
  const events = await collect(stream('<voice name="choir">One.</voice> Two.'));
  expect(events[0]).toMatchObject({ warnings: ['fallback_engine'] });
  expect(bell.counts.failed).toBeGreaterThan(0);
  expect(tone.segments.map(({ text, voice }) => `${voice.voiceId} ${text}`)).toContain('tone-high One.');
});

test('speech ends when one of its voices may not be heard any more', async () => {
  const ending = new AbortController();
  const { stream } = open([choir({ ended: ending.signal })], {}, { trouble: { pieceDelayMs: 20 } });
  const reading = collect(stream('One two three four five six. <voice name="choir">Seven.</voice>'));
  ending.abort(new Failure('voice_not_ready'));
  await expect(reading).rejects.toMatchObject({ reason: 'voice_not_ready' });
});
