// Tests that FLAC is lossless to the last bit, decoded by Sonant's reader of recordings (libFLAC) and by ffmpeg.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { audioFormats } from '../../src/audio/formats.ts';
import { toInt16 } from '../../src/audio/level.ts';
import { decodeRecording } from '../../src/audio/recording/recording.ts';
import { join } from '../../src/platform/pcm.ts';
import { liveSampleRatesHz } from '../../src/speech/fields.ts';
import { isInstalled } from '../programs.ts';
import { encode } from './encode.ts';
import { pieces } from './in-pieces.ts';
import { noise, tone } from './measure-tone.ts';

const { flac } = audioFormats;
const sound = (sampleRateHz: number, seconds = 0.5) => tone({ frequencyHz: 700, sampleRateHz, seconds });

/** Decodes with libFLAC, which reports incomplete or inconsistent files. Its sample 1.0 stands for 32767. */
async function decode(file: Uint8Array): Promise<Int16Array> {
  const { samples } = await decodeRecording(file, { secondsMax: 600 });
  return Int16Array.from(samples, (sample) => Math.max(Math.round(sample * 32_767), -32_768));
}
const bytesOf = (samples: Float32Array) => new Uint8Array(toInt16(samples).buffer);

const voiced = (length: number) =>
  Float32Array.from({ length }, (_, i) => 0.4 * Math.sin(i * 0.03) * Math.sin(i * 0.0007) + 0.05 * Math.sin(i * 0.9));
const sounds: readonly (readonly [string, Float32Array])[] = [
  ['one sample', Float32Array.of(0.5)],
  ['two samples', Float32Array.of(-1, 1)],
  ['a few samples', noise(13, 0.7)],
  ['a frame', voiced(2048)],
  ['a sample more than a frame', voiced(2049)],
  ['frames and an odd rest', voiced(3 * 2048 + 1031)],
  ['silence', new Float32Array(9_000)],
  ['silence, and then a click', Float32Array.from({ length: 9_000 }, (_, i) => (i === 8_191 ? 1 : 0))],
  ['the loudest noise', noise(9_000, 1)],
  ['a square at full scale', Float32Array.from({ length: 9_000 }, (_, i) => (i % 50 < 25 ? 1 : -1))],
  ['the highest tone', Float32Array.from({ length: 9_000 }, (_, i) => (i % 2 === 0 ? 1 : -1))],
  ['the faintest noise', noise(9_000, 2 ** -15)],
  ['full scale that stays', new Float32Array(5_000).fill(-0.999)],
  ['what is no number', Float32Array.of(0.1, Number.NaN, Infinity, -Infinity, 0.2)],
];

describe('FLAC gives back', () => {
  test.each(sounds)('%s', async (_, samples) => {
    const { file } = await encode(flac, 24_000, pieces(samples));
    expect(Buffer.compare(bytesOf(samples), new Uint8Array((await decode(file)).buffer))).toBe(0);
    expect(file.length).toBeLessThanOrEqual(42 + samples.length * 2 + 20 * Math.ceil(samples.length / 2048));
  });

  test.each(liveSampleRatesHz)('a tone at %i Hz, in half of the bytes', async (sampleRateHz) => {
    const { stream: file } = await encode(flac, sampleRateHz, pieces(sound(sampleRateHz)));
    expect((await decodeRecording(file, { secondsMax: 600 })).sampleRateHz).toBe(sampleRateHz);
    expect(await decode(file)).toEqual(toInt16(sound(sampleRateHz)));
    expect(file.length).toBeLessThan(sound(sampleRateHz).length);
  });
});

test('a stream does not state its length; a whole file states all there is to state', async () => {
  const samples = voiced(5_000);
  const view = (file: Uint8Array) => Buffer.from(file);
  const encoded = await encode(flac, 44_100, pieces(samples));
  const [streamed, whole] = [view(encoded.stream), view(encoded.file)];
  for (const file of [streamed, whole]) {
    expect(file.toString('latin1', 0, 8)).toBe('fLaC\x80\0\0\x22');
    expect([file.readUInt16BE(8), file.readUInt16BE(10)]).toEqual([4096, 4096]);
    expect(file.readUIntBE(18, 3) >> 4).toBe(44_100);
  }
  expect(streamed.subarray(12, 18).equals(Buffer.alloc(6))).toBe(true);
  expect(streamed.subarray(22, 42).equals(Buffer.alloc(20))).toBe(true);
  expect(whole.readUInt32BE(22)).toBe(5_000);
  expect(whole.toString('hex', 26, 42)).toBe(createHash('md5').update(bytesOf(samples)).digest('hex'));
  const [least, most] = [whole.readUIntBE(12, 3), whole.readUIntBE(15, 3)];
  expect([least + most, least <= most]).toEqual([whole.length - 42, true]);
  expect(whole.subarray(42).equals(streamed.subarray(42))).toBe(true);
});

test('without any sound it is a header that says so', async () => {
  const file = Buffer.from((await encode(flac, 24_000, [])).file);
  expect([file.length, file.readUIntBE(12, 6), file.readUInt32BE(22)]).toEqual([42, 0, 0]);
});

test('frames are emitted as sound arrives, and are the same for any input pieces', async () => {
  const samples = sound(48_000, 2);
  const encoder = await flac.openEncoder(48_000);
  const out: Uint8Array[] = [];
  expect(encoder.encode(new Float32Array()).length).toBe(0);
  for (let from = 0; from < samples.length; from += 480) {
    out.push(encoder.encode(samples.subarray(from, from + 480)));
    if (from < 4_096 - 480) expect(out.at(-1)!.length, 'nothing leaves before there is sound').toBe(0);
  }
  const gaps = out.map(({ length }, i) => (length > 0 ? i : -1)).filter((i) => i >= 0);
  expect(Math.max(...gaps.slice(1).map((at, i) => at - gaps[i]!))).toBeLessThanOrEqual(9);
  out.push(encoder.end());
  expect(join(Uint8Array, out)).toEqual((await encode(flac, 48_000, [samples])).stream);
  expect(join(Uint8Array, out)).toEqual((await encode(flac, 48_000, pieces(samples))).stream);
});

const hasFfmpeg = isInstalled('ffmpeg') && isInstalled('ffprobe');

test.skipIf(!hasFfmpeg)(
  'ffmpeg reads it, frame numbers of any length too, and finds the length that it has',
  async () => {
    const quiet = new Float32Array(2_048 * 2_060);
    quiet.set(voiced(70_000), quiet.length - 70_000);
    const { file: whole, stream: streamed } = await encode(flac, 24_000, [quiet]);
    for (const input of [whole, streamed]) {
      const args = ['-v', 'warning', '-err_detect', 'explode', '-i', '-', '-f', 's16le', '-'];
      const { stdout, stderr } = spawnSync('ffmpeg', args, { input, maxBuffer: 2 ** 24 });
      expect(stderr.toString()).toBe('');
      expect(stdout.equals(bytesOf(quiet))).toBe(true);
    }
    const probe = ['-v', 'error', '-show_entries', 'stream=duration_ts,sample_rate,channels', '-of', 'csv=p=0', '-'];
    expect(spawnSync('ffprobe', probe, { input: whole }).stdout.toString().trim()).toBe(`24000,1,${quiet.length}`);
  },
);
