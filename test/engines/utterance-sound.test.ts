// Tests how an utterance is computed in windows: each frame once, no more silence than is sent, and parts of a model that
// see their neighbours give the same frames as at once. The models here are formulas.
import { describe, expect, test } from 'vitest';
import { cutFrames, keepFrames } from '../../src/engines/onnx/kept-frames.ts';
import { speakPart } from '../../src/engines/onnx/utterance-sound.ts';
import { joinPcm } from './open-guard.ts';

const sampleRateHz = 16_000;
const frameSamples = 160;
const phonemes = [...'ˈabc.'];

/** Speaks 5 s, whose phonemes end after 3.5 s, and whose sound ends after `soundSeconds`. */
async function speak(soundSeconds: number) {
  const frames = 500;
  const rendered: number[] = [];
  const begin = async () => ({
    frames,
    frameSamples,
    starts: [50, 50, 150, 250, 350, 450],
    async render(from: number, to: number) {
      rendered.push(to);
      const at = from * frameSamples;
      const sample = (_: unknown, n: number) => (at + n < soundSeconds * sampleRateHz ? 0.5 * Math.sin(at + n) : 0);
      return Float32Array.from({ length: to * frameSamples - at }, sample);
    },
  });
  const model = { sampleRateHz, earlySeconds: 0, windowSeconds: [0.5, 1], begin };
  const how = { speakers: [], speed: 1, seed: 0, level: 0.01, timings: true };
  const words = [{ from: 0, to: 4, first: 0, end: 4, isBeforeSpace: false, isBeforePause: true }];
  const pieces = await Array.fromAsync(speakPart(model, { phonemes, words }, how, 0));
  const samples = joinPcm(pieces);
  return { rendered, seconds: samples.length / sampleRateHz, pieces };
}

describe('the windows of an utterance', () => {
  test('end with the sound, without the silence after it', async () => {
    const { rendered, seconds, pieces } = await speak(3.3);
    // The first window begins shortly before the first phoneme; the last one takes the rest.
    expect(rendered).toEqual([94, 194, 294, 356]);
    // From where the windows begin, and with the tail.
    expect(seconds).toBeCloseTo(3.3 - 0.44 + 0.135, 2);
    expect(pieces.map(({ secondsLeft }) => secondsLeft)).toEqual([2.62, 1.62, 0.62, 0]);
    expect(pieces.flatMap(({ words = [] }) => words)).toMatchObject([{ from: 0, to: 4 }]);
  });

  test('go on while there is sound', async () => {
    const { rendered, seconds } = await speak(4.6);
    expect(rendered).toEqual([94, 194, 294, 356, 456, 500]);
    expect(seconds).toBeCloseTo(4.6 - 0.44 + 0.135, 2);
  });
});

describe('a part that sees its neighbours', () => {
  const frames = 101;
  const context = 3;
  const columns = 2;
  const rows = 2;
  const source = Float32Array.from({ length: rows * columns * frames }, (_, n) => (n * n) % 17);
  /** The sums of the columns that a frame sees. */
  function compute(from: number, to: number) {
    const { data } = cutFrames({ data: source, dims: [1, rows, columns * frames] }, columns * from, columns * to);
    const width = columns * (to - from);
    const sums = data.map((_, n) => {
      const place = n % width;
      const first = n - Math.min(place, columns * context);
      return data
        .slice(first, n + 1 + Math.min(width - 1 - place, columns * context))
        .reduce((sum, each) => sum + each, 0);
    });
    return { data: sums, dims: [1, rows, width] };
  }

  test.each([1, 2])('gives the same frames as at once, and computes few twice, in steps of %d', async (step) => {
    let computed = 0;
    const kept = keepFrames({
      frames,
      context,
      columns,
      step,
      async compute(from, to) {
        expect([from % step, to === frames ? 0 : to % step]).toEqual([0, 0]);
        computed += to - from;
        return compute(from, to);
      },
    });
    const whole = compute(0, frames);
    const ranges = [
      [4, 30],
      [25, 45],
      [45, 46],
      [46, 90],
      [80, 101],
      [95, 101],
    ];
    for (const [from, to] of ranges)
      expect(await kept(from!, to!)).toEqual(cutFrames(whole, columns * from!, columns * to!));
    expect(computed).toBeLessThanOrEqual(frames + 10 * (context + step));
  });
});
