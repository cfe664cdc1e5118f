// Tests that Ogg Opus pages can be parsed, and that ffmpeg and Sonant's reader of recordings (libopus) decode them.
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { audioFormats } from '../../src/audio/formats.ts';
import { oggPages, pageBody } from '../../src/audio/recording/ogg-pages.ts';
import { decodeRecording } from '../../src/audio/recording/recording.ts';
import { join } from '../../src/platform/pcm.ts';
import { outputSampleRatesHz } from '../../src/speech/fields.ts';
import { isInstalled } from '../programs.ts';
import { encode, encodedRateOf } from './encode.ts';
import { pieces } from './in-pieces.ts';
import { dominantFrequencyHz, fitSine, middle, noise, tone } from './measure-tone.ts';
import { oggPage } from './recording-files.ts';

const { opus } = audioFormats;
const rateOf = (sampleRateHz: number) => encodedRateOf('opus', sampleRateHz);
const sound = (sampleRateHz: number, seconds = 1) =>
  tone({ frequencyHz: 700, sampleRateHz: rateOf(sampleRateHz), seconds });
const decode = async (file: Uint8Array) => (await decodeRecording(file, { secondsMax: 600 })).samples;

/** The pages, each of which must be complete and consistent. */
const pagesOf = (file: Uint8Array) =>
  [...oggPages(Buffer.from(file))].map((page) => ({
    flags: page[5]!,
    position: Number(page.readBigInt64LE(6)),
    number: page.readUInt32LE(18),
    packets: page.subarray(27, 27 + page[26]!).filter((size) => size < 255).length,
    body: pageBody(page),
  }));

describe.each(outputSampleRatesHz)('Opus at %i Hz', (sampleRateHz) => {
  test('is a head, its tags and pages of a fifth of a second', async () => {
    const [head, tags, ...others] = pagesOf((await encode(opus, sampleRateHz, pieces(sound(sampleRateHz)))).stream);
    expect([head!.flags, head!.position, head!.body.toString('latin1', 0, 8)]).toEqual([2, 0, 'OpusHead']);
    const skipped = head!.body.readUInt16LE(10);
    expect([head!.body[8], head!.body[9], skipped, head!.body.readUInt32LE(12)]).toEqual([1, 1, 312, sampleRateHz]);
    expect([tags!.flags, tags!.position]).toEqual([0, 0]);
    expect(tags!.body.toString('latin1')).toMatch(/^OpusTags.\0\0\0libopus [\d.]+\0\0\0\0$/s);
    for (const [i, { flags, number, position, packets }] of others.entries()) {
      const isLast = i === others.length - 1;
      expect([flags, number]).toEqual([isLast ? 4 : 0, i + 2]);
      if (!isLast) expect([packets, position]).toEqual([10, (i + 1) * 9_600]);
    }
    expect(others.at(-1)!.position).toBe(48_000 + skipped);
  });

  test('has, trimmed, the length of what went in', async () => {
    const rate = rateOf(sampleRateHz);
    for (const length of [rate / 5, rate / 5 + 1, 2 * rate - 312, 3 * rate + 17]) {
      const { stream: file } = await encode(opus, sampleRateHz, pieces(noise(length, 0.3)));
      expect((await decode(file)).length, `${length} samples`).toBe((length * 48_000) / rate);
    }
  });

  test('is the tone that went in, where it went in', async () => {
    const silence = new Float32Array(rateOf(sampleRateHz) / 2);
    const heard = await decode((await encode(opus, sampleRateHz, [silence, sound(sampleRateHz), silence])).stream);
    const within = middle(heard.subarray(24_000, 72_000));
    expect(Math.abs(dominantFrequencyHz(within, 48_000) - 700)).toBeLessThan(0.5);
    expect(fitSine(within, 700, 48_000).amplitude).toBeCloseTo(0.5, 1);
    expect(fitSine(within, 700, 48_000).snrDb).toBeGreaterThan(20);
    const onset = heard.findIndex((sample) => Math.abs(sample) > 0.1);
    expect(Math.abs(onset - 24_000) / 48).toBeLessThan(3);
  });
});

test('without any sound it is still a file, of no length', async () => {
  const pages = pagesOf((await encode(opus, 24_000, [])).stream);
  expect(pages.map(({ flags, position }) => [flags, position])).toEqual([
    [2, 0],
    [0, 0],
    [4, 312],
  ]);
});

test('bytes follow the sound by a fifth of a second, none before there is sound, and in any pieces they are the same', async () => {
  const samples = sound(48_000, 2);
  const encoder = await opus.openEncoder(48_000);
  const out: Uint8Array[] = [];
  expect(encoder.encode(new Float32Array()).length).toBe(0);
  for (let from = 0; from < samples.length; from += 960) out.push(encoder.encode(samples.subarray(from, from + 960)));
  expect(out.map(({ length }, i) => (length > 0 ? i : -1)).filter((i) => i >= 0)).toEqual(
    Array.from({ length: 10 }, (_, i) => i * 10 + 9),
  );
  out.push(encoder.end());
  expect(join(Uint8Array, out)).toEqual((await encode(opus, 48_000, [samples])).stream);
  expect(join(Uint8Array, out)).toEqual((await encode(opus, 48_000, pieces(samples))).stream);
});

test('many streams at once keep apart, whatever goes into one of them, and none is of use after its end', async () => {
  const samples = sound(24_000);
  const { stream: alone } = await encode(opus, 24_000, [samples]);
  const encoders = await Promise.all(Array.from({ length: 12 }, () => opus.openEncoder(24_000)));
  const odd = await opus.openEncoder(48_000);
  const outs: Uint8Array[][] = encoders.map(() => []);
  for (const piece of pieces(samples)) {
    for (const [n, encoder] of encoders.entries()) outs[n]!.push(encoder.encode(piece));
    odd.encode(Float32Array.of(...Array(2_000).fill(Number.NaN), 9, -Infinity));
  }
  odd.close();
  odd.close();
  expect(() => odd.encode(samples)).toThrow();
  for (const [n, encoder] of encoders.entries()) outs[n]!.push(encoder.end());
  for (const out of outs) expect(join(Uint8Array, out)).toEqual(alone);
  expect(() => encoders[0]!.encode(samples)).toThrow();
});

test('pages end with the file, also after a page without a body, and a file that is cut in a page is refused', () => {
  const packet = Buffer.alloc(300, 1);
  const ends = [329, 356, 685];
  const file = Buffer.concat([
    oggPage([packet], { flags: 2 }),
    oggPage([], { page: 1 }),
    oggPage([packet], { flags: 4, page: 2 }),
  ]);
  // Reads one page more than there are at most, since a loop that never ends would block this process.
  const read = (bytes: Buffer) => [...oggPages(bytes).take(4)].map(({ length }) => length);
  expect(read(file)).toEqual([329, 27, 329]);
  for (let length = 1; length < file.length; length++)
    if (!ends.includes(length)) expect(() => read(file.subarray(0, length)), `${length}`).toThrow('ends too early');
  for (const end of ends)
    expect(() => read(Buffer.concat([file.subarray(0, end), Buffer.alloc(27)]))).toThrow('an Ogg page is missing');
});

const hasFfmpeg = isInstalled('ffmpeg');

const ffmpegHears = (input: Uint8Array): Float32Array => {
  const { stdout, stderr } = spawnSync('ffmpeg', ['-v', 'warning', '-i', '-', '-f', 'f32le', '-'], { input });
  expect(stderr.toString()).toBe('');
  return new Float32Array(stdout.buffer.slice(stdout.byteOffset, stdout.byteOffset + stdout.length));
};

test.skipIf(!hasFfmpeg)('ffmpeg finds the length of the shortest sounds', async () => {
  for (const length of [1, 100, 648, 960, 9_288, 9_289])
    expect(ffmpegHears((await encode(opus, 48_000, [noise(length, 0.3)])).stream).length).toBe(length);
});

test.skipIf(!hasFfmpeg).each(outputSampleRatesHz)('ffmpeg hears it at %i Hz, and its length', async (sampleRateHz) => {
  const heard = ffmpegHears((await encode(opus, sampleRateHz, pieces(sound(sampleRateHz, 1.2345)))).stream);
  expect(heard.length).toBe((Math.round(1.2345 * rateOf(sampleRateHz)) * 48_000) / rateOf(sampleRateHz));
  expect(fitSine(middle(heard), 700, 48_000).snrDb).toBeGreaterThan(20);
});
