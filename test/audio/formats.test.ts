// Tests WAV, PCM and MP3, read back as a player would: headers, frames and samples.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { audioFormats, mp3BitRates } from '../../src/audio/formats.ts';
import { toInt16 } from '../../src/audio/level.ts';
import { decodeRecording } from '../../src/audio/recording/recording.ts';
import { wavFile } from '../../src/audio/wav.ts';
import { join } from '../../src/platform/pcm.ts';
import { outputSampleRatesHz } from '../../src/speech/fields.ts';
import { encode } from './encode.ts';
import { pieces } from './in-pieces.ts';
import { dominantFrequencyHz, fitSine, middle, noise, tone } from './measure-tone.ts';
import { mp3Frames } from './mp3-frames.ts';

const { wav, pcm, mp3 } = audioFormats;
const sound = (sampleRateHz: number, seconds = 1) => tone({ frequencyHz: 700, sampleRateHz, seconds });

test.each(outputSampleRatesHz)('WAV at %d Hz is a header and the samples', async (sampleRateHz) => {
  const { stream: file } = await encode(wav, sampleRateHz, pieces(sound(sampleRateHz)));
  const view = new DataView(file.buffer);
  const text = (at: number) => Buffer.from(file).toString('latin1', at, at + 4);
  expect([text(0), text(8), text(12), text(36)]).toEqual(['RIFF', 'WAVE', 'fmt ', 'data']);
  const format = [view.getUint32(16, true), view.getUint16(20, true), view.getUint16(22, true)];
  expect(format).toEqual([16, 1, 1]);
  const rates = [
    view.getUint32(24, true),
    view.getUint32(28, true),
    view.getUint16(32, true),
    view.getUint16(34, true),
  ];
  expect(rates).toEqual([sampleRateHz, sampleRateHz * 2, 2, 16]);
  expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([0xffffffff, 0xffffffff]);
  expect(new Int16Array(file.buffer, 44)).toEqual(toInt16(sound(sampleRateHz)));
});

test('a complete WAV has its true sizes in the header, and the same samples', async () => {
  const { file, stream } = await encode(wav, 24000, pieces(sound(24000)));
  const view = new DataView(file.buffer);
  expect([view.getUint32(4, true), view.getUint32(40, true)]).toEqual([48036, 48000]);
  expect(file.slice(44)).toEqual(stream.slice(44));
  expect(wavFile(sound(24000), 24000)).toEqual(file);
});

test('a WAV without any sound is still a WAV, and its header comes first and once', async () => {
  const { file: empty } = await encode(wav, 24000, []);
  expect(empty.length).toBe(44);
  expect(new DataView(empty.buffer).getUint32(40, true)).toBe(0);
  const encoder = await wav.openEncoder(24000);
  expect(encoder.encode(new Float32Array(10)).length).toBe(64);
  expect(encoder.encode(new Float32Array(10)).length).toBe(20);
  expect(encoder.end().length).toBe(0);
});

test('PCM is the samples alone, little-endian', async () => {
  expect([...(await encode(pcm, 24000, [Float32Array.of(0.5, -1), Float32Array.of(2, Number.NaN)])).stream]).toEqual([
    0x00, 0x40, 0x00, 0x80, 0xff, 0x7f, 0, 0,
  ]);
  expect((await pcm.openEncoder(24000)).head).toBeUndefined();
});

test.each(outputSampleRatesHz)('MP3 at %d Hz is frames of 64 kbit/s and nothing else', async (sampleRateHz) => {
  const { stream: file } = await encode(mp3, sampleRateHz, pieces(sound(sampleRateHz, 2)));
  const frames = mp3Frames(file);
  for (const { kbps, channels, ...frame } of frames)
    expect([frame.sampleRateHz, kbps, channels]).toEqual([sampleRateHz, 64, 1]);
  const seconds = frames.reduce((sum, { samples }) => sum + samples, 0) / sampleRateHz;
  expect(seconds).toBeGreaterThan(2);
  expect(seconds).toBeLessThan(2.1);
  const text = Buffer.from(file).toString('latin1');
  for (const tag of ['ID3', 'TAG', 'Xing', 'Info']) expect(text).not.toContain(tag);
});

test('MP3 bytes lag the sound by little, and are the same for any input pieces', async () => {
  const samples = sound(44100, 3);
  const encoder = await mp3.openEncoder(44100);
  const out: Uint8Array[] = [];
  let bytes = 0;
  for (let from = 0; from < samples.length; from += 441) {
    out.push(encoder.encode(samples.subarray(from, from + 441)));
    bytes += out.at(-1)!.length;
    expect(Math.min(from + 441, samples.length) / 44100 - bytes / 8000).toBeLessThan(0.12);
  }
  out.push(encoder.end());
  expect(join(Uint8Array, out)).toEqual((await encode(mp3, 44100, [samples])).stream);
  expect(join(Uint8Array, out)).toEqual((await encode(mp3, 44100, pieces(samples))).stream);
});

test('a reused MP3 encoder starts clean, however its last stream ended', async () => {
  const samples = sound(24000);
  const { stream: fresh } = await encode(mp3, 24000, [samples]);
  expect((await encode(mp3, 24000, [samples])).stream).toEqual(fresh);
  const abandoned = await mp3.openEncoder(48000);
  abandoned.encode(noise(30000, 1));
  abandoned.close();
  abandoned.close();
  expect((await encode(mp3, 24000, [samples])).stream).toEqual(fresh);
  expect(() => abandoned.encode(samples)).toThrow();
  expect(() => abandoned.end()).toThrow();
  await encode(mp3, 24000, [new Float32Array(2000).fill(Number.NaN), Float32Array.of(9, Infinity)]);
  expect((await encode(mp3, 24000, [samples])).stream).toEqual(fresh);
});

test('concurrent MP3 streams do not mix', async () => {
  const samples = sound(24000);
  const { stream: alone } = await encode(mp3, 24000, [samples]);
  const encoders = await Promise.all(Array.from({ length: 12 }, () => mp3.openEncoder(24000)));
  const outs: Uint8Array[][] = encoders.map(() => []);
  for (const piece of pieces(samples))
    for (const [n, encoder] of encoders.entries()) outs[n]!.push(encoder.encode(piece));
  for (const [n, encoder] of encoders.entries()) outs[n]!.push(encoder.end());
  for (const out of outs) expect(join(Uint8Array, out)).toEqual(alone);
});

test('bytes that were handed out are not written over later', async () => {
  const encoder = await mp3.openEncoder(24000);
  const first = encoder.encode(sound(24000));
  const copy = first.slice();
  encoder.encode(noise(24000, 1));
  encoder.end();
  expect(first).toEqual(copy);
});

const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0;
if (!hasFfmpeg) console.log('ffmpeg is not here: MP3 is not decoded in this run');

test.skipIf(!hasFfmpeg).each(outputSampleRatesHz)('MP3 at %d Hz decodes to the tone that went in', async (rate) => {
  const { stream: file } = await encode(mp3, rate, pieces(sound(rate)));
  const { stdout } = spawnSync('ffmpeg', ['-v', 'error', '-i', '-', '-f', 'f32le', '-'], { input: file });
  const heard = middle(new Float32Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.length)));
  expect(Math.abs(dominantFrequencyHz(heard, rate) - 700)).toBeLessThan(0.5);
  expect(fitSine(heard, 700, rate).amplitude).toBeCloseTo(0.5, 1);
  expect(fitSine(heard, 700, rate).snrDb).toBeGreaterThan(40);
});

test.each([8000, 22_050, 24_000, 44_100].flatMap((rate) => mp3BitRates.map((kbps) => [kbps, rate] as const)))(
  'MP3 of %d kbit/s at %d Hz has this bit rate, or the nearest one of the rate, and the level that went in',
  async (kbps, rate) => {
    const { stream: file } = await encode(audioFormats[`mp3_${kbps}`], rate, pieces(sound(rate)));
    const most = rate < 16_000 ? 64 : rate < 32_000 ? 160 : 320;
    expect(new Set(mp3Frames(file).map((frame) => frame.kbps))).toEqual(new Set([Math.min(kbps, most)]));
    expect(audioFormats[`mp3_${kbps}`].bytesPerSecond(rate)).toBe(Math.min(kbps, most) * 125);
    const { samples } = await decodeRecording(file, { secondsMax: 3 });
    expect(fitSine(middle(samples), 700, rate).amplitude).toBeCloseTo(0.5, 2);
  },
);

test.each([
  ['wav_f32le', 3, 4, 1e-6],
  ['wav_ulaw', 7, 1, 0.03],
  ['wav_alaw', 6, 1, 0.03],
] as const)('%s states its coding in the header, with the number of samples', async (name, tag, bytes, noiseMax) => {
  const samples = sound(8000);
  const { file, stream } = await encode(audioFormats[name], 8000, pieces(samples));
  const view = new DataView(file.buffer);
  const text = (at: number) => Buffer.from(file).toString('latin1', at, at + 4);
  expect([text(0), text(12), text(38), text(50)]).toEqual(['RIFF', 'fmt ', 'fact', 'data']);
  expect([view.getUint32(4, true), view.getUint32(16, true)]).toEqual([file.length - 8, 18]);
  const form = [view.getUint16(20, true), view.getUint32(28, true), view.getUint16(32, true), view.getUint16(34, true)];
  expect(form).toEqual([tag, 8000 * bytes, bytes, bytes * 8]);
  expect([view.getUint32(46, true), view.getUint32(54, true)]).toEqual([8000, 8000 * bytes]);
  expect(file.length).toBe((audioFormats[name].headBytes ?? 0) + 8000 * bytes);
  expect(new DataView(stream.buffer).getUint32(54, true)).toBe(0xffffffff);
  if (!hasFfmpeg) return;
  for (const input of [file, stream]) {
    const heard = await decodedByFfmpeg(input);
    expect(heard).toHaveLength(samples.length);
    for (const [i, sample] of samples.entries()) expect(Math.abs(heard[i]! - sample)).toBeLessThan(noiseMax);
  }
});

async function decodedByFfmpeg(input: Uint8Array): Promise<Float32Array> {
  const { stdout } = spawnSync('ffmpeg', ['-v', 'error', '-i', '-', '-f', 'f32le', '-'], { input });
  return new Float32Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.length));
}
