// Voices: one id each, and the languages they cover.
import { expect, test } from 'vitest';
import { createVoices, isSpokenBy } from '../../src/speech/voice.ts';
import { openTone } from '../engines/tone-engine.ts';

test('a voice is found with its engine, and an unknown one is a failure', () => {
  const tone = openTone();
  const voices = createVoices([tone]);
  const speaker = tone.voices[0]!;
  expect(voices.find('tone-low')).toMatchObject({
    voice: speaker,
    status: 'ready',
    bindings: [{ engine: tone, speaker }],
  });
  expect(() => voices.find('nobody')).toThrow(expect.objectContaining({ reason: 'voice_not_found' }));
  expect(voices.list().map(({ voice }) => voice.voiceId)).toEqual(['tone-low', 'tone-high']);
});

test('two engines with the same voice id are refused', () => {
  expect(() => createVoices([openTone(), openTone()])).toThrow('tone-low');
});

test.each([
  ['en', 'en-US', true],
  ['en', 'en', true],
  ['en', 'EN-gb', true],
  ['pt-BR', 'pt', true],
  ['pt-BR', 'pt-PT', false],
  ['en', 'eng', false],
  ['de', 'en-US', false],
])('a voice of %s asked for %s: %s', (range, asked, spoken) => {
  const [voice] = openTone({ languageCodes: [range] }).voices;
  expect(isSpokenBy(voice!, asked)).toBe(spoken);
});
