// Measures the cost of encoding speech, by format and sample rate. If ffmpeg is installed, MP3 is compared with native
// LAME, Opus with libopus, and FLAC with ffmpeg's encoder. Sonant's FLAC encoder is TypeScript, so it has no vector
// instructions.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { audioFormats, type FormatName } from '../src/audio/formats.ts';
import { toFloat } from '../src/audio/level.ts';
import { Resampler } from '../src/audio/resample.ts';
import { formatNames, outputSampleRatesHz } from '../src/speech/fields.ts';
import { allAtOnce } from '../test/audio/in-pieces.ts';
import { isInstalled } from '../test/programs.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { openRawEngine } from './measuring/raw-engine.ts';
import { compare, cpuOf, type Work } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const sliceSeconds = 0.25;
/**
 * Goals: maximum cost relative to native code. Native code processes four or eight samples at a time, WebAssembly and
 * JavaScript one.
 */
const goalsMax = { mp3: 1.5, opus: 4, flac: 10 } as const;
const isCompared = (format: FormatName): format is keyof typeof goalsMax => format in goalsMax;
const hasNative = isInstalled('ffmpeg');

export const bench: Bench = {
  about: "every output format; MP3, Opus and FLAC compared with ffmpeg's encoders",
  async run() {
    const { samples, sampleRateHz: inRateHz } = (await openRawEngine()).say('arthur', [passage(1000)]);
    const spoken = toFloat(samples, 0);
    const seconds = samples.length / inRateHz;
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    for (const sampleRateHz of outputSampleRatesHz) {
      const at = (outRateHz: number) => allAtOnce(new Resampler({ inRateHz, outRateHz }), spoken);
      const rateOf = (format: FormatName) => audioFormats[format].encodedRateHz?.(sampleRateHz) ?? sampleRateHz;
      const sound = Object.fromEntries(formatNames.map((format) => [format, at(rateOf(format))])) as Sounds;
      const costs = await compare(contenders(sound, sampleRateHz));
      for (const format of formatNames) {
        const cpuMs = cpuOf(costs[format]);
        const byteCount = await encode(format, sound[format], sampleRateHz);
        const throughput = byteCount / 2 ** 20 / (cpuMs / 1000);
        rows.push([sampleRateHz, format, cpuMs / seconds, byteCount / seconds, throughput]);
        if (!hasNative || !isCompared(format)) continue;
        const nativeMs = cpuOf(costs[`native ${format}`]) - cpuOf(costs.nativeWithout);
        rows.push([sampleRateHz, `native ${format}`, nativeMs / seconds]);
        const figure = cpuMs / nativeMs;
        goals.push({ name: `${format} / native, ${sampleRateHz} Hz`, figure, digits: 2, max: goalsMax[format] });
      }
    }
    const columns = [
      { name: 'Hz' },
      { name: 'format' },
      { name: 'CPU ms/s', digits: 2 },
      { name: 'bytes/s' },
      { name: 'MiB per CPU s', digits: 1 },
    ];
    const title = `CPU per second of sound, over ${seconds.toFixed(0)} s of speech`;
    return { tables: [{ title, columns, rows }], goals };
  },
};

/** The audio of each format, at the rate of its encoder. */
type Sounds = Record<FormatName, Float32Array>;

/**
 * The cost of a native encoder is the cost of ffmpeg with that encoder, minus the cost of ffmpeg without an encoder
 * (`nativeWithout`).
 */
function contenders(sound: Sounds, sampleRateHz: number) {
  const ffmpeg = (...output: string[]) => (hasNative ? runFfmpeg(sound.mp3, sampleRateHz, output) : undefined);
  const ours = formatNames.map((format) => [format, () => encode(format, sound[format], sampleRateHz)]);
  return {
    ...(Object.fromEntries(ours) as Record<FormatName, Work>),
    'native mp3': () => ffmpeg('-c:a', 'libmp3lame', '-b:a', '64k', '-f', 'mp3'),
    'native opus': () => ffmpeg('-c:a', 'libopus', '-b:a', '32k', '-compression_level', '5', '-f', 'opus'),
    'native flac': () => ffmpeg('-sample_fmt', 's16', '-c:a', 'flac', '-f', 'flac'),
    nativeWithout: () => ffmpeg('-c:a', 'pcm_f32le', '-f', 'f32le'),
  };
}

async function encode(format: FormatName, sound: Float32Array, sampleRateHz: number): Promise<number> {
  const encoder = await audioFormats[format].openEncoder(sampleRateHz);
  const slice = sliceSeconds * sampleRateHz;
  let byteCount = 0;
  for (let from = 0; from < sound.length; from += slice)
    byteCount += encoder.encode(sound.subarray(from, from + slice)).length;
  return byteCount + encoder.end().length;
}

async function runFfmpeg(sound: Float32Array, sampleRateHz: number, output: readonly string[]): Promise<void> {
  const input = ['-f', 'f32le', '-ar', String(sampleRateHz), '-ac', '1', '-i', 'pipe:0'];
  const args = ['-nostdin', '-loglevel', 'error', '-threads', '1', ...input, ...output, '-y', '/dev/null'];
  const child = spawn('ffmpeg', args, { stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.end(Buffer.from(sound.buffer, sound.byteOffset, sound.byteLength));
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`ffmpeg ended with ${code}`);
}
