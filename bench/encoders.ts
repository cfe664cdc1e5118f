// What encoding costs, by format and sample rate, on speech. MP3 is taken against the same LAME compiled for this
// machine, inside ffmpeg, where that is installed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { audioFormats, type FormatName, outputSampleRatesHz } from '../src/audio/formats.ts';
import { toFloat } from '../src/audio/level.ts';
import { Resampler } from '../src/audio/resample.ts';
import { allAtOnce } from '../test/audio/in-pieces.ts';
import { isInstalled } from '../test/programs.ts';
import type { Bench, Cell, Goal } from './measuring/bench.ts';
import { openRawEngine } from './measuring/raw-engine.ts';
import { compare, cpuOf } from './measuring/rounds.ts';
import { passage } from './measuring/texts.ts';

const sliceSeconds = 0.25;
const formats = Object.keys(audioFormats) as FormatName[];
const goalMax = 1.5;
const hasNative = isInstalled('ffmpeg');

export const bench: Bench = {
  about: "wav, pcm and mp3; mp3 : ffmpeg's libmp3lame at the same bit rate",
  async run() {
    const { samples, sampleRateHz: inRateHz } = (await openRawEngine()).say('arthur', [passage(1000)]);
    const spoken = toFloat(samples, 0);
    const seconds = samples.length / inRateHz;
    const rows: Cell[][] = [];
    const goals: Goal[] = [];
    for (const sampleRateHz of outputSampleRatesHz) {
      const sound = allAtOnce(new Resampler({ inRateHz, outRateHz: sampleRateHz }), spoken);
      const costs = await compare(contenders(sound, sampleRateHz));
      const nativeMs = hasNative ? cpuOf(costs.native) - cpuOf(costs.nativeWithout) : undefined;
      for (const format of formats) {
        const cpuMs = cpuOf(costs[format]);
        const byteCount = await encode(format, sound, sampleRateHz);
        const throughput = byteCount / 2 ** 20 / (cpuMs / 1000);
        rows.push([sampleRateHz, format, cpuMs / seconds, byteCount / seconds, throughput]);
      }
      const mp3Ms = cpuOf(costs.mp3);
      if (!nativeMs) continue;
      rows.push([sampleRateHz, 'native mp3', nativeMs / seconds]);
      goals.push({ name: `mp3 / native, ${sampleRateHz} Hz`, figure: mp3Ms / nativeMs, digits: 2, max: goalMax });
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

/** The native encoder is what ffmpeg takes with it, less what it takes without. */
function contenders(sound: Float32Array, sampleRateHz: number) {
  const ffmpeg = (...output: string[]) => (hasNative ? runFfmpeg(sound, sampleRateHz, output) : undefined);
  return {
    wav: () => encode('wav', sound, sampleRateHz),
    pcm: () => encode('pcm', sound, sampleRateHz),
    mp3: () => encode('mp3', sound, sampleRateHz),
    native: () => ffmpeg('-c:a', 'libmp3lame', '-b:a', '64k', '-f', 'mp3'),
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
