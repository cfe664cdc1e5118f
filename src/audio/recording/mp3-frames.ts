// Splits an MP3 (MPEG-1, 2 and 2.5 Audio Layer III; ISO/IEC 11172-3, 13818-3) into frames. Bits of a frame header:
//     11: all 1 | 2: version (3, 2, or 0 for 2.5) | 2: layer (1 is III) | 1 | 4: bit rate | 2: rate | 1: padded | 9
// A file may begin with ID3v2 tags ("ID3", 2: version, flags, 4 bytes of 7 bits: size) and end with other tags.
// The decoder loops forever on bytes that it cannot parse, so it receives only complete frames of one version and rate.
import { unreadable } from './track.ts';

interface FrameHeader {
  bytes: number;
  /** Version and sample rate, which are the same in all frames of a file. */
  kind: number;
}

// Bit rates in kbit/s by the index in the header. 0 marks the free format and the reserved index: both unsupported.
const bitRates1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0];
const bitRates2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0];
const sampleRates1 = [44_100, 48_000, 32_000];
/** Divisor of the MPEG-1 sample rate, indexed by the version bits. */
const divisors = [4, 0, 2, 1];
const tagsAtEnd = ['TAG', 'APETAGEX', 'LYRICSBEGIN', 'ID3', '3DI'];

function frameHeader(file: Buffer, at: number): FrameHeader | undefined {
  if (at + 4 > file.length) return undefined;
  const head = file.readUInt32BE(at);
  const version = (head >>> 19) & 3;
  const divisor = divisors[version]!;
  const sampleRateHz = (sampleRates1[(head >>> 10) & 3] ?? 0) / divisor;
  const kbps = (version === 3 ? bitRates1 : bitRates2)[(head >>> 12) & 15]!;
  const isLayer3 = ((head >>> 17) & 3) === 1;
  if (head >>> 21 !== 0x7ff || divisor === 0 || !isLayer3 || sampleRateHz === 0 || kbps === 0) return undefined;
  const bytes = Math.floor(((version === 3 ? 144 : 72) * kbps * 1000) / sampleRateHz) + ((head >>> 9) & 1);
  return { bytes, kind: (head >>> 10) & 0x603 };
}

/** Returns the offset after ID3v2 tags and the zeros that some writers append. */
export function skipTags(file: Buffer): number {
  let at = 0;
  while (at + 10 <= file.length && file.toString('latin1', at, at + 3) === 'ID3') {
    const hasFoot = (file[at + 5]! & 0x10) !== 0;
    const size = [6, 7, 8, 9].reduce((sum, i) => sum * 128 + (file[at + i]! & 0x7f), 0);
    at += 10 + size + (hasFoot ? 10 : 0);
    while (file[at] === 0) at++;
  }
  return Math.min(at, file.length);
}

/** Whether a frame begins at this offset and another frame, a tag or the end of the file follows. */
export function isMp3(file: Buffer, at: number): boolean {
  const first = frameHeader(file, at);
  if (!first) return false;
  const next = at + first.bytes;
  return next >= file.length - 4 || frameHeader(file, next)?.kind === first.kind || isTag(file, next);
}

/** Returns the complete frames. A truncated last frame is dropped. */
export function* mp3Frames(file: Buffer, from: number): Generator<Buffer> {
  const kind = frameHeader(file, from)?.kind;
  for (let at = from; at < file.length && !isTag(file, at); ) {
    const head = frameHeader(file, at);
    if (!head || head.kind !== kind) {
      if (isPadding(file.subarray(at))) return;
      throw unreadable(`is damaged: no MP3 frame at byte ${at}`);
    }
    if (at + head.bytes > file.length) return;
    yield file.subarray(at, at + head.bytes);
    at += head.bytes;
  }
}

const isTag = (file: Buffer, at: number): boolean =>
  tagsAtEnd.some((name) => file.toString('latin1', at, at + name.length) === name);

/** Whether the rest of the file is only zeros, or shorter than a header. */
const isPadding = (rest: Buffer): boolean => rest.length < 4 || rest.every((byte) => byte === 0);
