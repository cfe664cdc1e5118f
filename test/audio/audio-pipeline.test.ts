// Tests the pipeline from an engine's samples to bytes: gain, tempo, sample rate, limiter, encoder.
import { expect, test } from 'vitest';
import { type AudioPipelineOptions, openAudioPipeline } from '../../src/audio/audio-pipeline.ts';
import { audioFormats, type FormatName } from '../../src/audio/formats.ts';
import { fundamentalHz, peak, rms, tone } from './measure-tone.ts';

const inRateHz = 16_000;
const second = Int16Array.from(
  tone({ frequencyHz: 300, sampleRateHz: inRateHz, seconds: 1, amplitude: 0.25 }),
  (s) => s * 32768,
);

async function run(options: Partial<AudioPipelineOptions>, pushes = 4) {
  const pipeline = await openAudioPipeline({
    format: audioFormats.pcm,
    inRateHz,
    outRateHz: 24_000,
    gainDb: 0,
    tempo: 1,
    ...options,
  });
  const bytes: Uint8Array[] = [];
  for (let i = 0; i < pushes; i++) bytes.push(pipeline.push(second));
  bytes.push(pipeline.end());
  pipeline.close();
  const pcm = Buffer.concat(bytes);
  const samples = Float32Array.from(new Int16Array(new Uint8Array(pcm).buffer), (s) => s / 32768);
  return { seconds: pipeline.seconds, samples };
}

test('the rate changes, and the length does not', async () => {
  for (const outRateHz of [24_000, 44_100, 48_000]) {
    const { samples, seconds } = await run({ outRateHz });
    expect(samples.length / outRateHz).toBeCloseTo(4, 3);
    expect(seconds).toBeCloseTo(4, 3);
    expect(fundamentalHz(samples, outRateHz)).toBeCloseTo(300, -1);
  }
});

test.each([0.5, 2])('tempo %d changes the length and keeps the pitch', async (tempo) => {
  const { samples, seconds } = await run({ tempo });
  expect(samples.length / 24_000).toBeCloseTo(4 / tempo, 1);
  expect(seconds).toBeCloseTo(4 / tempo, 1);
  expect(fundamentalHz(samples, 24_000)).toBeCloseTo(300, -1);
});

test('gain raises the level, and peaks are limited, not clipped', async () => {
  const [plain, louder, tooLoud] = [await run({}), await run({ gainDb: 6 }), await run({ gainDb: 18 })];
  expect(rms(louder.samples) / rms(plain.samples)).toBeCloseTo(10 ** (6 / 20), 2);
  expect(peak(tooLoud.samples)).toBeGreaterThan(0.65);
  expect(peak(tooLoud.samples)).toBeLessThan(0.74);
});

test.each(Object.keys(audioFormats) as FormatName[])(
  '%s: silence is made in blocks, with the same bytes',
  async (name) => {
    const outRateHz = 24_000;
    const format = audioFormats[name];
    const encodedRateHz = format.encodedRateHz?.(outRateHz) ?? outRateHz;
    const open = () => openAudioPipeline({ format, inRateHz, outRateHz, gainDb: 0, tempo: 1.2 });
    const [whole, inBlocks] = [await open(), await open()];
    const expected = [whole.push(second), whole.endInput()];
    whole.setInput({ inRateHz: encodedRateHz, gainDb: 0, tempo: 1 });
    expected.push(whole.push(new Int16Array(60 * encodedRateHz)));
    whole.setInput({ inRateHz, gainDb: 0, tempo: 1.2 });
    expected.push(whole.push(second), whole.end());
    const bytes = [inBlocks.push(second)];
    let [blocks, longest] = [0, 0];
    for (let { seconds } = inBlocks, silence = inBlocks.silence(60); ; seconds = inBlocks.seconds) {
      const { done, value } = silence.next();
      if (done) break;
      bytes.push(value);
      blocks++;
      longest = Math.max(longest, inBlocks.seconds - seconds);
    }
    bytes.push(inBlocks.push(second), inBlocks.end());
    expect(Buffer.concat(bytes).equals(Buffer.concat(expected))).toBe(true);
    expect(blocks).toBeGreaterThan(50);
    expect(longest).toBeLessThan(1.1);
    for (const pipeline of [whole, inBlocks]) pipeline.close();
  },
);
