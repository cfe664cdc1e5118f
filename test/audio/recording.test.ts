// Tests that recordings of every supported kind decode to the original audio, mono, at their own rate, and that every
// malformed file is refused with a message. three-tones.opus is the signal below, encoded once: ffmpeg -i
// three-tones.wav -c:a libopus -b:a 24k -map_metadata -1 -bitexact three-tones.opus
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { decodeRecording, recordingBytesMax } from '../../src/audio/recording/recording.ts';
import type { Recording, RecordingFault } from '../../src/audio/recording/track.ts';
import { isInstalled } from '../programs.ts';
import { dominantFrequencyHz, noise, rms, tone } from './measure-tone.ts';
import {
  type Channels,
  flacFile,
  mp3File,
  oggFlacFile,
  oggPage,
  vorbisFile,
  type WavKind,
  wavFile,
} from './recording-files.ts';

const frequenciesHz = [440, 880, 660];
const secondsEach = 0.5;

/** Three tones one after the other, half a second each. */
const threeTones = (sampleRateHz: number): Float32Array =>
  Float32Array.from(
    frequenciesHz.flatMap((frequencyHz) => [...tone({ frequencyHz, sampleRateHz, seconds: secondsEach })]),
  );
const opusFile = () => readFile(new URL('three-tones.opus', import.meta.url));

const decode = (file: Uint8Array, secondsMax = 10) => decodeRecording(file, { secondsMax });
const faultOf = async (file: Uint8Array, secondsMax?: number): Promise<RecordingFault> => {
  const outcome = await decode(file, secondsMax).catch((error) => error);
  expect(outcome.name).toBe('RecordingFault');
  return outcome;
};

function expectThreeTones({ samples, sampleRateHz }: Recording, lengthSlackSeconds = 0): void {
  const seconds = samples.length / sampleRateHz;
  expect(seconds).toBeGreaterThanOrEqual(1.5 - 1 / sampleRateHz);
  expect(seconds).toBeLessThanOrEqual(1.5 + lengthSlackSeconds);
  for (const [n, frequencyHz] of frequenciesHz.entries()) {
    const from = Math.round((n * secondsEach + 0.15) * sampleRateHz);
    const heard = samples.subarray(from, from + Math.round(0.3 * sampleRateHz));
    expect(Math.abs(dominantFrequencyHz(heard, sampleRateHz) - frequencyHz)).toBeLessThan(2);
    expect(rms(heard)).toBeCloseTo(0.5 / Math.SQRT2, 1);
  }
}

describe('WAV', () => {
  test.each([
    { sampleRateHz: 24_000, bits: 8 },
    { sampleRateHz: 24_000, bits: 16 },
    { sampleRateHz: 44_100, bits: 24 },
    { sampleRateHz: 48_000, bits: 32 },
    { sampleRateHz: 16_000, bits: 32, isFloat: true },
    { sampleRateHz: 22_050, bits: 64, isFloat: true },
    { sampleRateHz: 96_000, bits: 24, isExtensible: true },
    { sampleRateHz: 24_000, bits: 32, isFloat: true, isExtensible: true },
    { sampleRateHz: 24_000, isLarge: true },
  ] as WavKind[])('%o', async (kind) => {
    const sound = threeTones(kind.sampleRateHz);
    const heard = await decode(wavFile([sound], kind));
    expect(heard.sampleRateHz).toBe(kind.sampleRateHz);
    expect(heard.samples.length).toBe(sound.length);
    const step = kind.isFloat ? 1e-6 : 2 ** (1 - Math.min(kind.bits ?? 16, 22));
    expect(heard.samples.every((sample, i) => Math.abs(sample - sound[i]!) <= step)).toBe(true);
  });

  test('of many channels is their mean', async () => {
    const sound = threeTones(24_000);
    const still = new Float32Array(sound.length);
    const { samples } = await decode(
      wavFile([sound, still, sound, still], { sampleRateHz: 24_000, bits: 32, isFloat: true }),
    );
    expect(samples.every((sample, i) => Math.abs(sample - sound[i]! / 2) < 1e-6)).toBe(true);
  });

  test.each([0, 0x7fff_f000, 0xffff_ffff])('whose size a stream left at %i goes to its end', async (dataBytes) => {
    const file = wavFile([threeTones(24_000)], { sampleRateHz: 24_000, dataBytes });
    expect((await decode(file)).samples.length).toBeGreaterThanOrEqual(36_000);
  });

  test.each([
    ['a size that it does not keep', { dataBytes: 1_000_000 }, 'is incomplete: it has 72026 of 1000000 bytes of audio'],
    ['a rate that no recording has', { sampleRateHz: 4_000_000_000 }, '4000000000 Hz'],
    ['a rate of nothing', { sampleRateHz: 0 }, '0 Hz'],
  ])('with %s', async (_, kind, words) => {
    const fault = await faultOf(wavFile([threeTones(24_000)], { sampleRateHz: 24_000, ...kind }));
    expect([fault.reason, fault.message]).toEqual(['audio_decode', expect.stringContaining(words)]);
  });

  test.each([
    ['no channels', 22, 0, '0 channels'],
    ['channels without end', 22, 65_535, '65535 channels'],
    ['a coding that is not read', 20, 6, 'an unsupported encoding (6)'],
    ['odd bits', 32, 5, '40 bits'],
  ])('with %s', async (_, at, value, words) => {
    const file = wavFile([threeTones(24_000)], { sampleRateHz: 24_000 });
    file.writeUInt16LE(value, at);
    expect((await faultOf(file)).message).toContain(words);
  });

  test('with samples that are no numbers, or none', async () => {
    const kind: WavKind = { sampleRateHz: 24_000, bits: 32, isFloat: true };
    expect((await faultOf(wavFile([Float32Array.of(0, Number.NaN)], kind))).message).toContain('not numbers');
    expect((await faultOf(wavFile([new Float32Array(0)], { ...kind, dataBytes: 1 }))).message).toContain('no audio');
  });
});

describe('FLAC, MP3, Ogg', () => {
  const rates = [16_000, 44_100];
  const twice = (sound: Float32Array): Channels => [sound, sound];

  test.each(rates)('at %i Hz', async (rate) => {
    const sound = threeTones(rate);
    const flac = await decode(flacFile(twice(sound), rate));
    expect(flac.samples.every((sample, i) => Math.abs(sample - sound[i]!) <= 2 ** -15)).toBe(true);
    expectThreeTones(flac);
    expectThreeTones(await decode(oggFlacFile([sound], rate)));
    // LAME adds samples before and after the audio.
    expectThreeTones(await decode(await mp3File(sound, rate)), 0.15);
    expectThreeTones(await decode(await vorbisFile(twice(sound), rate)), 0.05);
  });

  test('FLAC to its last sample, whatever its length', async () => {
    const sound = noise(9_000, 0.9);
    for (let length = 4_200; length <= 9_000; length += 101) {
      const { samples } = await decode(flacFile([sound.subarray(0, length)], 24_000));
      expect(samples.length).toBe(length);
    }
  });

  test('Opus, always at 48 kHz', async () => {
    const opus = await decode(await opusFile());
    expect(opus.sampleRateHz).toBe(48_000);
    expectThreeTones(opus);
  });

  test.skipIf(!isInstalled('ffmpeg')).each([
    ['one channel', ['-ac', '1']],
    ['two channels', ['-ac', '2']],
    ['eight channels', ['-ac', '8', '-mapping_family', '1']],
    ['short packets', ['-ac', '1', '-frame_duration', '2.5']],
    [
      'a packet on two pages',
      ['-ac', '1', '-frame_duration', '60', '-page_duration', '9000000', '-b:a', '256k', '-vbr', 'off'],
    ],
  ])('Opus to its last sample: %s', async (_, encoding) => {
    const wav = wavFile([threeTones(48_000).subarray(0, 70_001)], { sampleRateHz: 48_000 });
    const args = ['-v', 'error', '-i', '-', ...encoding, '-c:a', 'libopus', '-f', 'opus', '-'];
    const opus = execFileSync('ffmpeg', args, { input: wav });
    const { samples } = await decode(opus);
    expect(samples.length).toBe(70_001);
    expect(Math.abs(dominantFrequencyHz(samples.subarray(50_000, 65_000), 48_000) - frequenciesHz[2]!)).toBeLessThan(5);
  });

  test('behind ID3 tags, and before others', async () => {
    const mp3 = await mp3File(threeTones(24_000), 24_000);
    const tag = Buffer.concat([
      Buffer.from('ID3\x04\x00\x00\x00\x00\x02\x00', 'latin1'),
      Buffer.alloc(256, 0xff),
      Buffer.alloc(7),
    ]);
    const old = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125, 0x20)]);
    expectThreeTones(await decode(Buffer.concat([tag, tag, mp3, old])), 0.15);
    expectThreeTones(await decode(Buffer.concat([tag, flacFile([threeTones(24_000)], 24_000)])));
  });
});

describe('is refused', () => {
  test.each([
    ['nothing', '', 'is empty'],
    ['a byte', 'R', 'is not a known audio format'],
    ['text', 'Good morning, this is my voice.', 'is not a known audio format'],
    ['MP4', '\0\0\0\x20ftypM4A ', 'is an MP4 or M4A file'],
    ['WebM', '\x1a\x45\xdf\xa3\x01\0\0\0', 'is a WebM or Matroska file'],
    ['the head of a WAV', 'RIFF\x24\0\0\0WAVE', 'ends before its samples'],
    ['the head of a FLAC file', 'fLaC', 'ends before its samples'],
    ['the head of an Ogg page', 'OggS\0\x02', 'ends too early'],
    ['an ID3 tag and nothing else', 'ID3\x04\0\0\x7f\x7f\x7f\x7f', 'is not a known audio format'],
  ])('%s', async (_, bytes, words) => {
    expect((await faultOf(Buffer.from(bytes, 'latin1'))).message).toContain(words);
  });

  test('what is cut off, damaged, or of several parts', async () => {
    const sound = threeTones(24_000);
    const [flac, vorbis, opus] = [flacFile([sound], 24_000), await vorbisFile([sound], 24_000), await opusFile()];
    expect((await faultOf(flac.subarray(0, -100))).message).toMatch(
      /incomplete: only \d+ of 36000 samples can be read/,
    );
    expect((await faultOf(vorbis.subarray(0, -100))).message).toBe('ends too early');
    expect((await faultOf(opus.subarray(0, -1))).message).toBe('ends too early');
    expect((await faultOf(Buffer.concat([opus, opus]))).message).toContain('more than one audio stream');
    const damaged = Buffer.from(opus);
    damaged[1_000]! ^= 1;
    expect((await faultOf(damaged)).message).toContain('checksum');
    const mp3 = await mp3File(sound, 24_000);
    expect((await faultOf(Buffer.concat([mp3, Buffer.from('and then some words')]))).message).toContain('no MP3 frame');
  });

  test('an Ogg file of another kind, or with channels without end', async () => {
    const head = (text: string, channels: number, fill = 1) => {
      const packet = Buffer.alloc(60, fill);
      packet.write(text, 'latin1');
      packet[text === 'OpusHead' ? 9 : 11] = channels;
      return oggPage([packet], { flags: 2 });
    };
    expect((await faultOf(head('\x80theora', 1))).message).toContain('with an unsupported codec');
    expect((await faultOf(head('OpusHead', 255))).message).toContain('255 channels');
    expect((await faultOf(head('OpusHead', 2, 200))).message).toContain('Opus header is invalid');
    expect((await faultOf(head('\x01vorbis', 0))).message).toContain('0 channels');
  });

  test('what is too large', async () => {
    expect((await faultOf(new Uint8Array(recordingBytesMax + 1))).message).toBe('is larger than 25 MiB');
  });

  test('what lasts longer than is wanted, as soon as it does', async () => {
    const sound = threeTones(48_000);
    const files = [
      wavFile([sound], { sampleRateHz: 48_000 }),
      flacFile([sound], 48_000),
      await mp3File(sound, 48_000),
      await vorbisFile([sound], 48_000),
      await opusFile(),
    ];
    for (const file of files) expect((await faultOf(file, 1)).reason).toBe('audio_too_long');
  });

  test('a small file of hours of silence, soon', async () => {
    // Packets of three bytes: 20 ms of silence each, 255 per page.
    const head = Buffer.from('OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0', 'latin1');
    const tags = Buffer.from('OpusTags\0\0\0\0\0\0\0\0', 'latin1');
    const nothing = Array.from({ length: 255 }, () => Buffer.of(0xf8, 0xff, 0xfe));
    const silence = Array.from({ length: 1_000 }, (_, n) => oggPage(nothing, { page: n + 2, position: n * 255 * 960 }));
    const file = Buffer.concat([oggPage([head], { flags: 2 }), oggPage([tags], { page: 1 }), ...silence]);
    expect(file.length).toBeLessThan(2 ** 21);
    expect((await faultOf(file, 60)).reason).toBe('audio_too_long');
  });
});
