// Tests the reports of segments at the end of a stream: the words as written, the voice and engine of each segment, its
// place in the audio, and the result of its checks.
import { expect, test } from 'vitest';
import type { SegmentReport, SpeechEvent } from '../../src/speech/speech-events.ts';
import { collect, openSpeech, streaming } from './open-speech.ts';

const reportsOf = (events: readonly SpeechEvent[]): readonly SegmentReport[] => {
  const done = events.at(-1)!;
  return done.type === 'done' ? (done.segments ?? []) : [];
};

test('each segment has the words as written, its voice and its engine', async () => {
  const { stream } = openSpeech();
  const texts = ['😀 It costs $5. “Really”, 3 of them!', '...', 'Good-bye.'];
  const reports = reportsOf(await collect(stream({ ...streaming(...texts), output_format: 'pcm' })));
  expect(reports.map(({ text, chunkIndex, offset }) => [text, chunkIndex, offset])).toEqual([
    ['It costs $5', 0, 2],
    ['Really”, 3 of them', 0, 16],
    ['Good-bye', 2, 0],
  ]);
  for (const report of reports) expect(report).toMatchObject({ voiceId: 'tone-low', engine: 'tone', takes: 1 });
});

test('the words of markup are written without tags', async () => {
  const { stream } = openSpeech();
  const ssml = '<speak>I <emphasis>use</emphasis> <sub alias="Amazon Web Services">AWS</sub> at the caf&#233;.</speak>';
  const [report] = reportsOf(await collect(stream({ ssml, output_format: 'pcm' })));
  expect(report!.text).toBe('I use AWS at the café');
});

test.each(['pcm', 'mp3'])('the segments follow each other in the audio (%s)', async (output_format) => {
  const { stream } = openSpeech();
  const texts = ['One two three. Four five six.', 'Seven eight nine.'];
  const events = await collect(stream({ ...streaming(...texts), output_format }));
  const reports = reportsOf(events);
  expect(reports).toHaveLength(3);
  const done = events.at(-1)!;
  let end = 0;
  for (const { startSeconds, seconds } of reports) {
    expect(startSeconds).toBeGreaterThanOrEqual(end - 0.001);
    expect(seconds).toBeGreaterThan(0.1);
    end = startSeconds + seconds;
  }
  expect(done.type === 'done' && end <= done.seconds + 0.06).toBe(true);
});

test('a stated seed is reported', async () => {
  const { stream } = openSpeech({ capabilities: { seed: true } });
  const reports = reportsOf(await collect(stream({ text: 'One two three.', seed: 7, output_format: 'pcm' })));
  expect(reports).toMatchObject([{ takes: 1, seed: 7 }]);
});
