// Measures the resampler's quality, and its CPU time per second of audio. A tone must come out as that tone: everything
// else in the output (noise, images and aliases together) is measured against it.
import { Resampler } from '../src/audio/resample.ts';
import { allAtOnce } from '../test/audio/in-pieces.ts';
import { fitSine, middle, rms, toDb, tone } from '../test/audio/measure-tone.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { compare, cpuOf } from './measuring/rounds.ts';

const inRatesHz = [16_000, 22_050, 24_000];
const outRatesHz = [24_000, 44_100, 48_000];
/** Rates of engines above the output rate. Frequencies above the new Nyquist frequency must be removed. */
const downward = [
  { inRateHz: 48_000, outRateHz: 24_000 },
  { inRateHz: 44_100, outRateHz: 24_000 },
];
const amplitude = 0.5;
const toneSeconds = 1;
const costSeconds = 60;

interface Rates {
  inRateHz: number;
  outRateHz: number;
}

export const bench: Bench = {
  about: 'quality at every pair of rates, and CPU per second of sound (10 ms/s is 1 % of a core)',
  async run() {
    const upward = inRatesHz.flatMap((inRateHz) => outRatesHz.map((outRateHz) => ({ inRateHz, outRateHz })));
    const pairs = [...upward.filter(({ inRateHz, outRateHz }) => inRateHz !== outRateHz), ...downward];
    const rows: Cell[][] = [];
    for (const rates of pairs) rows.push(await measure(rates));
    const table = {
      title:
        'A tone at 1 kHz, and the worst of tones up to 0.9 of the lower Nyquist; level at 0.9; tones above the new Nyquist',
      columns: [
        { name: 'from Hz' },
        { name: 'to Hz' },
        { name: 'SNR 1 kHz dB', digits: 1 },
        { name: 'worst SNR dB', digits: 1 },
        { name: 'level dB', digits: 2 },
        { name: 'alias dB', digits: 1 },
        { name: 'CPU ms/s', digits: 2 },
      ],
      rows,
    };
    const column = (n: number) => rows.map((row) => row[n]).filter((cell) => typeof cell === 'number');
    const imageDb = Math.max(-Math.min(...column(3)), ...column(5));
    return {
      tables: [table],
      goals: [
        { name: 'SNR at 1 kHz, dB, worst pair', figure: Math.min(...column(2)), digits: 1, min: 100 },
        { name: 'loudest image, alias or noise beside a tone, dB', figure: imageDb, digits: 1, max: -90 },
        {
          name: 'share of a core per real-time stream, %, worst pair',
          figure: Math.max(...column(6)) / 10,
          digits: 2,
          max: 1,
        },
      ],
    };
  },
};

async function measure(rates: Rates): Promise<Cell[]> {
  const { inRateHz, outRateHz } = rates;
  const nyquist = Math.min(inRateHz, outRateHz) / 2;
  const found = (frequencyHz: number) => fitSine(resampledTone(rates, frequencyHz), frequencyHz, outRateHz);
  const sweep = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9].map((part) => found(part * nyquist).snrDb);
  const sound = tone({ frequencyHz: 440, sampleRateHz: inRateHz, seconds: costSeconds });
  const second = inRateHz;
  const { resampler } = await compare({
    resampler() {
      const resampler = new Resampler(rates);
      for (let from = 0; from < sound.length; from += second) resampler.process(sound.subarray(from, from + second));
      resampler.flush();
    },
  });
  const level = toDb(found(0.9 * nyquist).amplitude / amplitude);
  return [
    inRateHz,
    outRateHz,
    found(1000).snrDb,
    Math.min(...sweep),
    level,
    aliasDb(rates),
    cpuOf(resampler) / costSeconds,
  ];
}

const resampledTone = (rates: Rates, frequencyHz: number): Float32Array =>
  middle(
    allAtOnce(
      new Resampler(rates),
      tone({ frequencyHz, sampleRateHz: rates.inRateHz, seconds: toneSeconds, amplitude }),
    ),
  );

/** Level of the loudest alias of tones above the new Nyquist frequency. Undefined if the rate rises. */
function aliasDb(rates: Rates): number | undefined {
  const { inRateHz, outRateHz } = rates;
  const above = [1.1, 1.25, 1.5, 1.7].map((part) => (part * outRateHz) / 2).filter((hz) => hz < inRateHz / 2);
  if (above.length === 0) return undefined;
  return Math.max(...above.map((hz) => toDb(rms(resampledTone(rates, hz)) / (amplitude / Math.SQRT2))));
}
