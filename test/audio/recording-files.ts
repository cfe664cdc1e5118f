// Writes recordings for tests: every kind of WAV, uncompressed FLAC, Ogg pages with checksums; also MP3 and Ogg Vorbis,
// with encoders that share no code with the decoders.
import { readFile } from 'node:fs/promises';
import { createEncoder } from 'wasm-media-encoders';
import { openMp3Encoder } from '../../src/audio/mp3.ts';
import { crcOf } from '../../src/audio/recording/ogg-pages.ts';
import { wavHeader } from '../../src/audio/wav.ts';

/** Channels of equal length, full scale at +-1. */
export type Channels = readonly Float32Array[];

export interface WavKind {
  sampleRateHz: number;
  bits?: 8 | 16 | 24 | 32 | 64;
  isFloat?: boolean;
  isExtensible?: boolean;
  /** A wrong size for the data chunk. */
  dataBytes?: number;
  /** Writes RF64, with the true size in its ds64 chunk. */
  isLarge?: boolean;
}

const chunk = (name: string, body: Buffer, size = body.length): Buffer => {
  const head = Buffer.from(`${name}....`, 'latin1');
  head.writeUInt32LE(size, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
};

export function wavFile(channels: Channels, kind: WavKind): Buffer {
  const { sampleRateHz, bits = 16, isFloat = false, isExtensible = false, isLarge = false } = kind;
  const bytes = bits / 8;
  const frames = channels[0]?.length ?? 0;
  const data = Buffer.alloc(frames * channels.length * bytes);
  for (let i = 0; i < frames; i++)
    for (const [n, channel] of channels.entries())
      writeSample(data, (i * channels.length + n) * bytes, channel[i]!, bits, isFloat);
  const format = Buffer.alloc(isExtensible ? 40 : 16);
  const tag = isFloat ? 3 : 1;
  format.writeUInt16LE(isExtensible ? 0xfffe : tag, 0);
  format.writeUInt16LE(channels.length, 2);
  format.writeUInt32LE(sampleRateHz, 4);
  format.writeUInt32LE((sampleRateHz * channels.length * bytes) % 2 ** 32, 8);
  format.writeUInt16LE(channels.length * bytes, 12);
  format.writeUInt16LE(bits, 14);
  if (isExtensible) {
    format.writeUInt16LE(22, 16);
    format.writeUInt16LE(bits, 18);
    format.writeUInt16LE(tag, 24);
    format.write('000000001000800000aa00389b71', 26, 'hex');
  }
  const ds64 = Buffer.alloc(28);
  ds64.writeBigUInt64LE(BigInt(data.length), 8);
  const body = Buffer.concat([
    Buffer.from('WAVE'),
    ...(isLarge ? [chunk('ds64', ds64)] : []),
    chunk('fmt ', format),
    // Odd chunks before and after the audio, as editors write them.
    chunk('LIST', Buffer.from('INFOx')),
    chunk('data', data, kind.dataBytes ?? (isLarge ? 0xffff_ffff : data.length)),
    chunk('LIST', Buffer.from('INFO and the rest')),
  ]);
  return chunk(isLarge ? 'RF64' : 'RIFF', body);
}

/** A WAV of bytes of 16-bit samples, with one channel. */
export const wavOfBytes = (sampleRateHz: number, sound: Uint8Array): Buffer =>
  Buffer.concat([wavHeader(sampleRateHz, sound.length), sound]);

function writeSample(data: Buffer, at: number, sample: number, bits: number, isFloat: boolean): void {
  const whole = Math.max(-(2 ** (bits - 1)), Math.min(2 ** (bits - 1) - 1, Math.round(sample * 2 ** (bits - 1))));
  if (isFloat && bits === 32) data.writeFloatLE(sample, at);
  else if (isFloat) data.writeDoubleLE(sample, at);
  else if (bits === 8) data[at] = whole + 128;
  else data.writeIntLE(whole, at, bits / 8);
}

function crc(bytes: Buffer, bits: number, polynomial: number): number {
  const top = 2 ** (bits - 1);
  let rest = 0;
  for (const byte of bytes) {
    rest ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) rest = ((rest << 1) ^ (rest & top ? polynomial : 0)) & (2 * top - 1);
  }
  return rest;
}

const flacRates: Readonly<Record<number, number>> = { 16000: 5, 24000: 7, 32000: 8, 44100: 9, 48000: 10 };
const flacBlock = 4_096;

/** The STREAMINFO block (RFC 9639, 8.2), which may be marked as the last block. */
function flacInfo(channels: number, sampleRateHz: number, samples: number, isLast: boolean): Buffer {
  const info = Buffer.alloc(38);
  info[0] = isLast ? 0x80 : 0;
  info[3] = 34;
  info.writeUInt16BE(flacBlock, 4);
  info.writeUInt16BE(flacBlock, 6);
  info.writeBigUInt64BE(
    (BigInt(sampleRateHz) << 44n) | (BigInt(channels - 1) << 41n) | (15n << 36n) | BigInt(samples),
    14,
  );
  return info;
}

/** Frames (RFC 9639, 9) of 16 bits with verbatim subframes: header, CRC-8, samples of each channel, CRC-16. */
function flacFrames(channels: Channels, sampleRateHz: number): Buffer[] {
  const frames: Buffer[] = [];
  for (let from = 0; from < channels[0]!.length; from += flacBlock) {
    const blocks = channels.map((channel) => channel.subarray(from, from + flacBlock));
    const length = blocks[0]!.length;
    const head = Buffer.from([
      0xff,
      0xf8,
      0x70 | flacRates[sampleRateHz]!,
      ((channels.length - 1) << 4) | 8,
      frames.length,
      0,
      0,
    ]);
    head.writeUInt16BE(length - 1, 5);
    const subframes = blocks.map((block) => {
      const subframe = Buffer.alloc(1 + 2 * length, 2);
      block.forEach((sample, i) => {
        subframe.writeInt16BE(Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768))), 1 + 2 * i);
      });
      return subframe;
    });
    const frame = Buffer.concat([head, Buffer.from([crc(head, 8, 0x07)]), ...subframes, Buffer.alloc(2)]);
    frame.writeUInt16BE(crc(frame.subarray(0, -2), 16, 0x8005), frame.length - 2);
    frames.push(frame);
  }
  return frames;
}

export const flacFile = (channels: Channels, sampleRateHz: number): Buffer =>
  Buffer.concat([
    Buffer.from('fLaC'),
    flacInfo(channels.length, sampleRateHz, channels[0]!.length, true),
    ...flacFrames(channels, sampleRateHz),
  ]);

/** FLAC in Ogg (RFC 9639, 10.1): one packet per page. */
export function oggFlacFile(channels: Channels, sampleRateHz: number): Buffer {
  const length = channels[0]!.length;
  const first = Buffer.concat([
    Buffer.from('\x7fFLAC\x01\x00\x00\x01fLaC', 'latin1'),
    flacInfo(channels.length, sampleRateHz, length, false),
  ]);
  const comment = Buffer.from('840000080000000000000000', 'hex');
  const packets = [first, comment, ...flacFrames(channels, sampleRateHz)];
  return Buffer.concat(
    packets.map((packet, n) => {
      const position = n < 2 ? 0 : Math.min(length, (n - 1) * flacBlock);
      const flags = n === 0 ? 2 : n === packets.length - 1 ? 4 : 0;
      return oggPage([packet], { flags, position, page: n });
    }),
  );
}

export function oggPage(packets: readonly Buffer[], { flags = 0, position = 0, page = 0 }): Buffer {
  const sizes = packets.flatMap(({ length }) => [...Array(Math.floor(length / 255)).fill(255), length % 255]);
  const head = Buffer.alloc(27);
  head.write('OggS', 'latin1');
  head[5] = flags;
  head.writeBigInt64LE(BigInt(position), 6);
  head.writeUInt32LE(7, 14);
  head.writeUInt32LE(page, 18);
  head[26] = sizes.length;
  return withChecksums(Buffer.concat([head, Buffer.from(sizes), ...packets]));
}

/** Corrects the checksums of Ogg pages that were changed. */
export function withChecksums(file: Buffer): Buffer {
  const mended = Buffer.from(file);
  for (let at = 0; at + 27 <= mended.length && mended.toString('latin1', at, at + 4) === 'OggS'; ) {
    const sizes = mended.subarray(at + 27, at + 27 + mended[at + 26]!);
    const page = mended.subarray(
      at,
      sizes.reduce((sum, size) => sum + size, at + 27 + sizes.length),
    );
    page.writeUInt32LE(crcOf(page), 22);
    at += page.length;
  }
  return mended;
}

export async function mp3File(samples: Float32Array, sampleRateHz: number): Promise<Buffer> {
  const encoder = await openMp3Encoder(sampleRateHz, undefined, 64);
  return Buffer.concat([encoder.encode(samples), encoder.end()]);
}

export async function vorbisFile(channels: Channels, sampleRateHz: number): Promise<Buffer> {
  const wasm = await readFile(new URL(import.meta.resolve('wasm-media-encoders/wasm/ogg')));
  const encoder = await createEncoder('audio/ogg', wasm);
  encoder.configure({ sampleRate: sampleRateHz, channels: channels.length as 1 | 2, vbrQuality: 3 });
  return Buffer.concat([encoder.encode([...channels] as [Float32Array]).slice(), encoder.finalize().slice()]);
}
