// A whole WAV: RIFF (Multimedia Programming Interface and Data Specifications 1.0), the tags of RFC 2361, and RF64 (EBU
// Tech 3306) for sizes beyond 32 bits. A row of chunks, little-endian, each with a name, a size and an even number of bytes:
//     "RIFF" | size | "WAVE"                        "RF64" where "ds64" tells the true sizes
//     "ds64" | size | 8: size of RF64 | 8: size of data | ...
//     "fmt " | size | 2: tag | 2: channels | 4: samples a second | 4: bytes a second | 2: bytes a frame | 2: bits
//              of tag 0xFFFE also: 2: size | 2: valid bits | 4: speakers | 16: a GUID that begins with the true tag
//     "data" | size | frames: a sample of each channel, 8 bits unsigned, 16 to 32 signed, floats of 32 or 64 bits
// Sizes are promises: one that is left open, as streams do, is to the end; one that the file does not keep is a fault.
import { RecordingFault, refuseOddShape, type Track, unreadable } from './track.ts';

interface Format {
  channels: number;
  sampleRateHz: number;
  bytesPerSample: number;
  isFloat: boolean;
}

const pcmTag = 1;
const floatTag = 3;
const extensibleTag = 0xfffe;
const guidTail = Buffer.from('000000001000800000aa00389b71', 'hex');
/** What writers put where they do not know the size, or anything that large: no upload is. */
const openSizeMin = 0x7fff_0000;
const blockFrames = 16_384;

export function readWav(file: Buffer, secondsMax: number, track: Track): void {
  const { format, data } = findChunks(file);
  const { channels, sampleRateHz, bytesPerSample } = format;
  const frameBytes = channels * bytesPerSample;
  const frames = Math.floor(data.length / frameBytes);
  // Known before a sample is read, so none is.
  if (frames > secondsMax * sampleRateHz)
    throw new RecordingFault('audio_too_long', `lasts more than ${secondsMax} seconds`);
  const read = sampleReader(data, format);
  for (let from = 0; from < frames; from += blockFrames) {
    const length = Math.min(blockFrames, frames - from);
    const block = Array.from({ length: channels }, (_, channel) =>
      Float32Array.from({ length }, (_, i) => read((from + i) * frameBytes + channel * bytesPerSample)),
    );
    track.add(block, sampleRateHz);
  }
}

function findChunks(file: Buffer): { format: Format; data: Buffer } {
  let format: Format | undefined;
  let dataBytes64: number | undefined;
  for (let at = 12; at + 8 <= file.length; ) {
    const name = file.toString('latin1', at, at + 4);
    const size = file.readUInt32LE(at + 4);
    const body = file.subarray(at + 8);
    if (name === 'data') {
      if (!format) throw unreadable('is a WAV that does not say what its samples are');
      return { format, data: sized(body, size === 0xffff_ffff ? (dataBytes64 ?? size) : size) };
    }
    if (name === 'ds64' && body.length >= 16) dataBytes64 = Number(body.readBigUInt64LE(8));
    if (name === 'fmt ') format = parseFormat(body.subarray(0, size));
    at += 8 + size + (size % 2);
  }
  throw unreadable('is a WAV that ends before its samples');
}

function sized(body: Buffer, size: number): Buffer {
  if (size === 0 || size >= openSizeMin) return body;
  if (size > body.length) throw unreadable(`is cut off: ${body.length} bytes of sound are left of ${size}`);
  return body.subarray(0, size);
}

function parseFormat(body: Buffer): Format {
  if (body.length < 16) throw unreadable('is a WAV that does not say what its samples are');
  const channels = body.readUInt16LE(2);
  const sampleRateHz = body.readUInt32LE(4);
  refuseOddShape(channels, sampleRateHz);
  const tag = tagOf(body);
  const bytesPerSample = body.readUInt16LE(12) / channels;
  const sizes = tag === pcmTag ? [1, 2, 3, 4] : tag === floatTag ? [4, 8] : [];
  if (sizes.length === 0)
    throw unreadable(`is a WAV of a kind that is not read here (${tag}); send plain PCM or floats`);
  if (!sizes.includes(bytesPerSample)) throw unreadable(`is a WAV with ${8 * bytesPerSample} bits a sample`);
  return { channels, sampleRateHz, bytesPerSample, isFloat: tag === floatTag };
}

function tagOf(body: Buffer): number {
  const tag = body.readUInt16LE(0);
  const isExtended = tag === extensibleTag && body.length >= 40 && body.subarray(26, 40).equals(guidTail);
  return isExtended ? body.readUInt16LE(24) : tag;
}

/** Reads the sample at an offset. Samples with fewer valid bits than room fill the room from the top. */
function sampleReader(data: Buffer, { bytesPerSample, isFloat }: Format): (offset: number) => number {
  if (isFloat) return bytesPerSample === 4 ? (at) => data.readFloatLE(at) : (at) => data.readDoubleLE(at);
  if (bytesPerSample === 1) return (at) => (data[at]! - 128) / 128;
  if (bytesPerSample === 2) return (at) => data.readInt16LE(at) / 2 ** 15;
  if (bytesPerSample === 3) return (at) => data.readIntLE(at, 3) / 2 ** 23;
  return (at) => data.readInt32LE(at) / 2 ** 31;
}
