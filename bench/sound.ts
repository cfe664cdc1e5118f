// Measures the CPU time of audio processing, from an engine's samples to the bytes of each format, and of each stage
// alone. The input is speech, a quarter of a second at a time, as an engine sends it.
import { openAudioPipeline } from '../src/audio/audio-pipeline.ts';
import { audioFormats, type FormatName } from '../src/audio/formats.ts';
import { factorOf, limit, toFloat, toInt16 } from '../src/audio/level.ts';
import { Resampler } from '../src/audio/resample.ts';
import { createSoundCheck } from '../src/engines/sound-check.ts';
import type { Bench, Cell } from './measuring/bench.ts';
import { openRawEngine } from './measuring/raw-engine.ts';
import { compare, cpuOf, cpuRatio, type Work } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const sliceSeconds = 0.25;
/**
 * `max` is the goal, if there is one: the largest CPU cost, as a share of the embedded engine's CPU for the same text.
 */
const outputs: readonly { format: FormatName; outRateHz: number; max?: number }[] = [
  { format: 'pcm', outRateHz: 24_000, max: 0.15 },
  { format: 'wav', outRateHz: 44_100, max: 0.2 },
  { format: 'mp3', outRateHz: 24_000, max: 0.45 },
  { format: 'mp3', outRateHz: 44_100 },
  { format: 'flac', outRateHz: 44_100 },
  { format: 'opus', outRateHz: 48_000 },
];
const nameOf = ({ format, outRateHz }: (typeof outputs)[number]) => `${outRateHz} Hz ${format}`;

export const bench: Bench = {
  about: 'CPU time from an engine’s samples to the bytes of each format, and of each stage',
  async run() {
    const text = passage(300);
    const raw = await openRawEngine();
    const { samples, sampleRateHz: inRateHz } = raw.say('arthur', [text]);
    const seconds = samples.length / inRateHz;
    const size = inRateHz * sliceSeconds;
    const slices = Array.from({ length: Math.ceil(samples.length / size) }, (_, n) =>
      samples.subarray(n * size, (n + 1) * size),
    );
    const floats = slices.map((slice) => toFloat(slice, 0));
    const resample = (outHz: number) => () => {
      const resampler = new Resampler({ inRateHz, outRateHz: outHz });
      for (const slice of slices) resampler.pass(slice, factorOf(1), () => {});
      resampler.passRest(() => {});
    };
    const stages: Record<string, Work> = {
      engine: () => raw.say('arthur', [text]),
      'sound check': () => {
        const voice = { voiceId: 'bench' } as Parameters<typeof createSoundCheck>[0]['voice'];
        const check = createSoundCheck({
          voice,
          text,
          languageCode: 'en',
          speakingRate: 1,
          timings: false,
          urgent: false,
        });
        for (const slice of slices) check.add({ samples: slice, sampleRateHz: inRateHz });
      },
      'level, 16 bits to floats': () => slices.map((slice) => toFloat(slice, 1)),
      limiter: () => floats.map(limit),
      'floats to 16 bits': () => floats.map(toInt16),
      'resampler to 24000 Hz': resample(24_000),
      'resampler to 44100 Hz': resample(44_100),
    };
    const whole = outputs.map((output) => {
      const run = async () => {
        const { format, outRateHz } = output;
        const options = { format: audioFormats[format], inRateHz, outRateHz, gainDb: 1, tempo: 1 };
        const pipeline = await openAudioPipeline(options);
        for (const slice of slices) pipeline.push(slice);
        pipeline.end();
        pipeline.close();
      };
      return [nameOf(output), run] as const;
    });
    const costs = await compare({ ...stages, ...Object.fromEntries(whole) });
    const perSecond = (name: string) => cpuOf(costs[name]!) / seconds;
    const rows: Cell[][] = Object.keys(costs).map((name) => [name, perSecond(name)]);
    const columns = [{ name: 'of a second of sound' }, { name: 'CPU ms', digits: 3 }];
    const goals = outputs.flatMap((output) => {
      const figure = cpuRatio([costs[nameOf(output)]!], [costs.engine!]);
      const { max } = output;
      return max === undefined ? [] : [{ name: `${nameOf(output)} / engine`, figure, digits: 3, max }];
    });
    const title = `${seconds.toFixed(0)} s of speech at ${inRateHz} Hz, ${sliceSeconds} s at a time`;
    return { tables: [{ title, columns, rows }], goals };
  },
};
