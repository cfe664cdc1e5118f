// Tests the output of the resampler: the input tone at the right time, and no other tone.
import { expect, test } from 'vitest';
import { Resampler } from '../../src/audio/resample.ts';
import { allAtOnce, inPieces } from './in-pieces.ts';
import { fitSine, middle, noise, peak, rms, toDb, tone } from './measure-tone.ts';

const pairs = [16000, 22050, 24000].flatMap((inRateHz) =>
  [24000, 44100, 48000].filter((outRateHz) => outRateHz !== inRateHz).map((outRateHz) => ({ inRateHz, outRateHz })),
);
const down = [
  { inRateHz: 48000, outRateHz: 24000 },
  { inRateHz: 44100, outRateHz: 24000 },
  { inRateHz: 48000, outRateHz: 44100 },
];

const resampledTone = (rates: { inRateHz: number; outRateHz: number }, frequencyHz: number, seconds = 0.5) =>
  allAtOnce(new Resampler(rates), tone({ frequencyHz, sampleRateHz: rates.inRateHz, seconds }));

test.each([...pairs, ...down])('from $inRateHz to $outRateHz a tone stays that tone and no other', (rates) => {
  const found = (frequencyHz: number) =>
    fitSine(middle(resampledTone(rates, frequencyHz)), frequencyHz, rates.outRateHz);
  expect(found(1000).snrDb).toBeGreaterThan(110);
  expect(found(1000).amplitude).toBeCloseTo(0.5, 4);
  const treble = 0.45 * Math.min(rates.inRateHz, rates.outRateHz);
  for (const part of [0.1, 0.5, 0.8, 0.9, 1]) expect(found(part * treble).snrDb).toBeGreaterThan(98);
  expect(toDb(found(0.9 * treble).amplitude / 0.5)).toBeGreaterThan(-0.1);
  expect(toDb(found(treble).amplitude / 0.5)).toBeGreaterThan(-1);
});

test.each(down)('from $inRateHz to $outRateHz nothing folds down', (rates) => {
  const nyquist = rates.outRateHz / 2;
  const above = [1.05, 1.1, 1.25, 1.5, 1.9].map((part) => part * nyquist).filter((hz) => hz < rates.inRateHz / 2);
  for (const frequencyHz of above)
    expect(toDb(rms(middle(resampledTone(rates, frequencyHz))) / 0.35)).toBeLessThan(-95);
});

test.each([...pairs, ...down])('from $inRateHz to $outRateHz the sound comes neither late nor early', (rates) => {
  const out = middle(resampledTone(rates, 1000, 0.2));
  const meant = middle(tone({ frequencyHz: 1000, sampleRateHz: rates.outRateHz, seconds: 0.2 }));
  expect(peak(out.map((sample, i) => sample - meant[i]!))).toBeLessThan(1e-5);
});

test.each([...pairs, ...down])('from $inRateHz to $outRateHz pieces give the same bits as the whole', (rates) => {
  const sound = noise(20000, 1);
  expect(inPieces(new Resampler(rates), sound)).toEqual(allAtOnce(new Resampler(rates), sound));
});

test('the length is the exact one, rounded up', () => {
  for (const rates of [...pairs, ...down])
    for (const length of [0, 1, 2, 31, 32, 33, 63, 64, 65, 159, 160, 161, 4095, 4096, 4097]) {
      const out = allAtOnce(new Resampler(rates), noise(length, 1));
      expect(out.length).toBe(Math.ceil((length * rates.outRateHz) / rates.inRateHz));
    }
});

test('a steady level stays steady', () => {
  const out = middle(allAtOnce(new Resampler({ inRateHz: 16000, outRateHz: 44100 }), new Float32Array(8000).fill(0.5)));
  for (const sample of out) expect(sample).toBeCloseTo(0.5, 6);
});

test('equal rates pass exactly', () => {
  const sound = noise(1000, 1);
  expect(inPieces(new Resampler({ inRateHz: 24000, outRateHz: 24000 }), sound)).toEqual(sound);
});

test('after many minutes the tone is as clean as at first', () => {
  const rates = { inRateHz: 22050, outRateHz: 24000 };
  const resampler = new Resampler(rates);
  const piece = tone({ frequencyHz: 1000, sampleRateHz: rates.inRateHz, seconds: 2 });
  let out = new Float32Array(0);
  for (let seconds = 0; seconds < 300; seconds += 2) out = Float32Array.from(resampler.process(piece));
  expect(out.length).toBe(48000);
  expect(fitSine(out, 1000, rates.outRateHz).snrDb).toBeGreaterThan(110);
});

test('all common rates can be converted to all rates of the API', () => {
  const rates = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000];
  for (const inRateHz of rates) for (const outRateHz of rates.slice(0, 9)) new Resampler({ inRateHz, outRateHz });
});

test('rates that are none, or have nothing in common, are refused', () => {
  for (const inRateHz of [0, -16000, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 44_101, 191_999, 99_999_989])
    expect(() => new Resampler({ inRateHz, outRateHz: 44100 })).toThrow(RangeError);
});
