// Tests interrupts at 1000 random moments, with the tone engine and the embedded engine: the events after
// `interrupted`, how soon the engine stops, and how often the reported text is right to the word.
import { expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { interruptTurns, watchEnd } from '../api/interrupts.ts';
import { openTone } from '../engines/tone-engine.ts';
import { modelTexts } from '../model-texts.ts';
import { createRandom } from '../text/random-text.ts';

const { COUNT = '1000' } = process.env;
const count = Number(COUNT);
const stopMsMax = 50;
const texts = modelTexts.slice(0, 40).map(({ text }) => text);

test.each([
  ['the tone engine', 'tone-low', async () => openTone({ sampleRateHz: 24_000, trouble: { pieceDelayMs: 1 } })],
  ['the embedded engine', 'clara', () => openFlite({ threads: 2 })],
] as const)('%s', async (name, voiceId, open: () => Promise<Engine>) => {
  const engine = await open();
  const watched = watchEnd(engine);
  const fields = { voice_id: voiceId, language_code: 'en-US' };
  const all = await interruptTurns(watched, fields, { texts, count, delayMsMax: 60, random: createRandom(21) });
  await engine.close();
  const bytes = all.reduce((sum, { bytesAfter }) => sum + bytesAfter, 0);
  const inTime = all.filter(({ engineMs }) => engineMs <= stopMsMax).length;
  const wrong = all.filter(({ isExact }) => !isExact);
  const slowest = Math.max(...all.map(({ engineMs }) => engineMs));
  console.log(
    `${name}: ${count} interrupts: ${bytes} bytes after interrupted; stopped within ${stopMsMax} ms: ${inTime}, the slowest ` +
      `${slowest.toFixed(1)} ms; text_spoken right to the word: ${count - wrong.length}`,
  );
  for (const { told, expected } of wrong.slice(0, 10))
    console.log(JSON.stringify([told.slice(-40), expected.slice(-40)]));
  expect(bytes).toBe(0);
});
