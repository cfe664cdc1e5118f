// Tests the embedded voice, for properties that only real speech shows: seams within a sentence add no pause, parallel
// requests do not affect each other, speeds are as requested, and formats agree on the length.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { openFlite } from '../../src/engines/flite/flite.ts';
import { join } from '../../src/platform/pcm.ts';
import { segmentOf } from '../engines/open-guard.ts';
import { speechOf } from './open-speech.ts';
import { findGaps } from './silences.ts';

let flite: Engine;
let speech: ReturnType<typeof speechOf>;
beforeAll(async () => {
  flite = await openFlite({ threads: 2 });
  speech = speechOf([flite]);
});
afterAll(() => flite.close());

const say = (fields: object) => speech.whole({ voice_id: 'otto', output_format: 'pcm', ...fields });

test('a sentence in three chunks lasts as long as in one', async () => {
  const chunks = ['The old harbour master walked', 'slowly along the stone pier', 'every single evening.'];
  const [apart, whole] = await Promise.all([
    say({ method: 'streaming', text_chunks: chunks }),
    say({ text: chunks.join(' ') }),
  ]);
  expect(Math.abs(apart.seconds - whole.seconds)).toBeLessThan(0.25);
});

test('the pause of a sentence is left as the engine makes it', async () => {
  const two = ['This is the first.', 'This is the second.'];
  // The level of this voice is not changed, so silences are the same in the engine's audio and in the output.
  const voice = flite.voices.find(({ voiceId }) => voiceId === 'fergus')!;
  const raw: Int16Array[] = [];
  for (const text of two) {
    const segment = segmentOf(flite, { voice, text });
    for await (const { samples } of flite.speak(segment, new AbortController().signal)) raw.push(samples);
  }
  const { audio } = await say({ method: 'streaming', text_chunks: two, voice_id: 'fergus' });
  const longestPause = (samples: Int16Array, rateHz: number) =>
    Math.max(...findGaps(samples, rateHz, 0.1).map(({ startSeconds, endSeconds }) => endSeconds - startSeconds));
  const heard = longestPause(new Int16Array(audio.buffer, audio.byteOffset, audio.length / 2), 24000);
  expect(heard).toBeGreaterThan(0.25);
  expect(heard).toBeCloseTo(longestPause(join(Int16Array, raw), 16000), 2);
});

test('100 requests at once, each with words of its own, give exactly what they give alone', async () => {
  const texts = Array.from({ length: 100 }, (_, i) => `Number ${i} is not ${(i * 37) % 100}.`);
  const alone: Uint8Array[] = [];
  for (const text of texts) alone.push((await say({ text })).audio);
  const together = await Promise.all(texts.map((text) => say({ text })));
  expect(together.filter(({ audio }, i) => Buffer.compare(audio, alone[i]!) !== 0)).toEqual([]);
  expect(new Set(alone.map((audio) => Buffer.from(audio).toString('base64'))).size).toBe(100);
});

test.each([0.25, 0.5, 0.75, 1.25, 1.5, 2, 3, 4])(
  'at speed %d it lasts as long as asked, within 3 %%',
  async (speaking_rate) => {
    const text = 'The old harbour master walked slowly along the stone pier, every single evening. Nobody knew why.';
    const [normal, changed] = await Promise.all([say({ text }), say({ text, speaking_rate })]);
    // The silence before and after the speech always has the same length.
    const spoken = [normal, changed].map(({ seconds }) => seconds - 0.16);
    expect(Math.abs((spoken[1]! * speaking_rate) / spoken[0]! - 1)).toBeLessThan(0.03);
  },
);

test('formats and rates agree on the length, within 1 %', async () => {
  const text = 'One text, six files, and each of them says the same.';
  const seconds = await Promise.all(
    [24000, 44100, 48000].flatMap((sample_rate) => [
      say({ text, output_format: 'wav', sample_rate }).then(({ audio }) => (audio.length - 44) / 2 / sample_rate),
      // An MP3 file has 64 kbit/s, and at most a tenth of a second of padding.
      say({ text, output_format: 'mp3', sample_rate }).then(({ audio }) => audio.length / 8000 - 0.05),
    ]),
  );
  expect(Math.max(...seconds) - Math.min(...seconds)).toBeLessThan(0.01 * seconds[0]! + 0.05);
});

/** Times in seconds at which sound begins after a tenth of a second of silence. */
function onsetsIn(samples: Int16Array, sampleRateHz: number): number[] {
  const onsets: number[] = [];
  let quiet = Infinity;
  for (const [i, sample] of samples.entries()) {
    if (Math.abs(sample) < 300) quiet++;
    else {
      if (quiet >= sampleRateHz / 10) onsets.push(i / sampleRateHz);
      quiet = 0;
    }
  }
  return onsets;
}

test.each([
  ['engine', 1, 0.04],
  ['engine', 1.5, 0.04],
  ['estimated', 1, 0.1],
])(
  'words after pauses are told where they are heard: times by the %s, at speed %d',
  async (quality, rate, errorMax) => {
    const capabilities = { ...flite.capabilities, timings: quality === 'engine' };
    const text = 'No. Maybe. Never. Now. More. Neither.';
    const form = { output_format: 'pcm', timestamps: 'word', speaking_rate: rate };
    const spoken = speechOf([{ ...flite, capabilities }]).whole({ voice_id: 'clara', text, ...form });
    const { audio, timestamps } = await spoken;
    const heard = onsetsIn(new Int16Array(audio.buffer, audio.byteOffset, audio.length / 2), 24000);
    const reported = timestamps.flatMap(({ words }) => words.map(({ startSeconds }) => startSeconds));
    expect([reported.length, heard.length]).toEqual([6, 6]);
    const errors = reported.map((seconds, i) => Math.abs(seconds - heard[i]!));
    expect(Math.max(...errors), `told ${reported}, heard ${heard}`).toBeLessThan(errorMax);
  },
);
