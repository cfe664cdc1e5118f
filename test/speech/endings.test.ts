// Tests that a caller that leaves frees its slot, and that a reader that stops stops the engine.
import { expect, test } from 'vitest';
import { collect, fifty, openSpeech as open } from './open-speech.ts';

test('an abort frees the slot even of a reader that has stopped reading', async () => {
  const { stream, schedule } = open();
  const leaving = new AbortController();
  const events = stream({ text: fifty }, leaving.signal);
  await events.next();
  expect(schedule.state.speaking).toBe(1);
  leaving.abort(new Error('gone'));
  expect(schedule.state.speaking).toBe(0);
  await expect(collect(events)).rejects.toThrow('gone');
});

test('a reader that stops, stops the engine', async () => {
  const { stream, tone } = open({ capabilities: { segmentCharsMax: 30 } });
  const events = stream({ text: fifty });
  await events.next();
  await events.next();
  const { begun, pieces } = tone.counts;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(tone.counts.begun).toBe(begun);
  expect(tone.counts.pieces - pieces).toBeLessThanOrEqual(1);
  expect(begun).toBeLessThanOrEqual(2);
  await events.return();
});
