// Tests that the last word ends when its sound does, in every API and at any speed, with an engine that times its words.
import { afterAll, expect, test } from 'vitest';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { loudFrom } from '../../src/speech/sample-filters.ts';
import { eventsIn, soundIn } from '../transports/http/event-reader.ts';
import { openTestGateway } from '../transports/http/open-gateway.ts';

const flite = await openFlite({ threads: 1 });
afterAll(() => flite.close());
const { send } = await openTestGateway({ engines: [flite] }, afterAll);

test.each([
  ['Good morning, all of you.', 1],
  ['How are you?', 1],
  ['It is a fine day. And we speak of it today', 1],
  ['Good morning, all of you.', 0.7],
  ['Good morning, all of you.', 1.6],
])('the last word of “%s” at speed %d', async (text, speaking_rate) => {
  const form = { output_format: 'pcm', sample_rate: 24_000, timestamps: 'word', speaking_rate };
  const answer = await send('/api/audio/speech/sse', { body: { text_chunks: [text], voice_id: 'clara', ...form } });
  const events = eventsIn(await answer.text());
  const audio = soundIn(events);
  const samples = Array.from({ length: audio.length / 2 }, (_, i) => audio.readInt16LE(i * 2));
  const lastLoud = samples.findLastIndex((sample) => Math.abs(sample) >= loudFrom());
  const { words } = events.findLast(({ event }) => event === 'speech.audio.timestamps')!.data;
  expect(Math.abs((words as { end: number }[]).at(-1)!.end - lastLoud / 24_000)).toBeLessThan(0.03);
});
