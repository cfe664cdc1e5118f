// Tests how speech with the tone engine ends: failures before and after the first audio, disconnected callers, readers
// that stop, and a hundred callers at once.
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors.ts';
import type { SpeechEvent } from '../../src/speech/speech-events.ts';
import { collect, fifty, joined, openSpeech as open } from './open-speech.ts';

describe('failure', () => {
  test('before the first sound: nothing has left', async () => {
    const { stream, schedule } = open({ trouble: { failsAfterSegments: 0 } });
    const seen: SpeechEvent[] = [];
    const read = async () => {
      for await (const event of stream({ text: 'Hello.' })) seen.push(event);
    };
    await expect(read()).rejects.toThrow(Failure);
    expect(seen).toEqual([]);
    expect(schedule.state.speaking).toBe(0);
  });

  test('after two segments: the sound before it has left, and the stream ends in the failure, never cleanly', async () => {
    const { stream, schedule, tone } = open({
      trouble: { failsAfterSegments: 2 },
      capabilities: { segmentCharsMax: 30 },
    });
    const seen: SpeechEvent[] = [];
    const read = async () => {
      for await (const event of stream({ text: fifty })) seen.push(event);
    };
    await expect(read()).rejects.toMatchObject({ reason: 'engine_error' });
    expect(joined(seen).length).toBeGreaterThan(44);
    expect(seen.some(({ type }) => type === 'done')).toBe(false);
    expect([schedule.state.speaking, tone.counts.running]).toEqual([0, 0]);
  });
});

describe('a caller that leaves', () => {
  test('a reader that returns stops the engine and frees the slot', async () => {
    const { stream, schedule, tone } = open({ capabilities: { segmentCharsMax: 30 } });
    for await (const event of stream({ text: fifty })) if (event.type === 'audio') break;
    expect(schedule.state.speaking).toBe(0);
    await expect.poll(() => tone.counts.running).toBe(0);
  });

  test("an abort while the engine hangs ends the stream with the signal's reason", async () => {
    const { stream, schedule, tone } = open({ trouble: { hangsAfterPieces: 1 } });
    const leaving = new AbortController();
    const reading = collect(stream({ text: fifty }, leaving.signal));
    setTimeout(() => leaving.abort(new Error('gone')), 20);
    await expect(reading).rejects.toThrow('gone');
    expect(schedule.state.speaking).toBe(0);
    await expect.poll(() => tone.counts.running).toBe(0);
  });

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

test('100 requests at once each give exactly what they give alone', async () => {
  const { whole } = open({ capabilities: { segmentCharsMax: 30 } });
  const say = (i: number) => whole({ text: `${i}. ${i * 7}.`, output_format: 'mp3' });
  const alone: Uint8Array[] = [];
  for (let i = 0; i < 100; i++) alone.push((await say(i)).audio);
  const together = await Promise.all(Array.from({ length: 100 }, (_, i) => say(i)));
  expect(together.filter(({ audio }, i) => Buffer.compare(audio, alone[i]!) !== 0)).toEqual([]);
});
