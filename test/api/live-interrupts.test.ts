// Tests turns that are interrupted at random moments, even within a segment whose words have not been reported yet.
import { expect, test } from 'vitest';
import { openTone } from '../engines/tone-engine.ts';
import { modelTexts } from '../model-texts.ts';
import { createRandom } from '../text/random-text.ts';
import { interruptTurns, watchEnd } from './interrupts.ts';

test('nothing follows an interrupt, the engine ends, and what was heard is told to the word', async () => {
  const tone = openTone({ sampleRateHz: 24_000, trouble: { pieceDelayMs: 1 } });
  const watched = watchEnd(tone);
  const texts = modelTexts.slice(0, 12).map(({ text }) => text);
  const options = { texts, count: 60, delayMsMax: 40, random: createRandom(5) };
  const all = await interruptTurns(watched, { voice_id: 'tone-low', language_code: 'en' }, options);
  expect(all.filter(({ bytesAfter }) => bytesAfter > 0)).toEqual([]);
  expect(all.filter(({ isExact }) => !isExact)).toEqual([]);
  expect(all.filter(({ told }) => told !== '').length).toBeGreaterThan(10);
  expect(watched.running()).toBe(0);
  await tone.close();
});
