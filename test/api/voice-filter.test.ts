// Tests the filter for lists of voices: the text that is searched is computed once per voice, however many words and
// queries there are.
import { expect, test } from 'vitest';
import { toPredicate } from '../../src/api/voice-filter.ts';
import { createVoices } from '../../src/speech/voice.ts';
import { openTone } from '../engines/tone-engine.ts';

test('the text of a voice is folded once for all words and queries', () => {
  const tone = openTone();
  let reads = 0;
  const counted = Object.defineProperty({ ...tone.voices[0]! }, 'description', {
    enumerable: true,
    get() {
      reads++;
      return 'Reads one of TWO.';
    },
  });
  const [offered] = createVoices([{ ...tone, voices: [counted] }]).list();
  const finds = (text: string) => toPredicate({ languageCode: '', engine: '', text })(offered!);
  expect(['one two reads of', 'ONE one', 'three', ''].map(finds)).toEqual([true, true, false, true]);
  expect(reads).toBe(1);
});
