// Reads the headers of MP3 frames (ISO/IEC 11172-3 and 13818-3).
import { expect } from 'vitest';

/** Bit rates in kbit/s by the index in the header, for MPEG-1, and for MPEG-2 and MPEG-2.5. */
const bitRates = {
  1: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  2: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};

/** The frames of a constant-bitrate Layer III stream, which must be contiguous. */
export function mp3Frames(
  file: Uint8Array,
): { sampleRateHz: number; kbps: number; samples: number; channels: number }[] {
  const frames = [];
  for (let at = 0; at < file.length; ) {
    const [sync, version, rates, mode] = [file[at]!, file[at + 1]!, file[at + 2]!, file[at + 3]!];
    expect(sync === 0xff && (version & 0xe6) === 0xe2).toBe(true);
    const isMpeg1 = (version & 0x18) === 0x18;
    const isMpeg25 = (version & 0x18) === 0;
    const kbps = bitRates[isMpeg1 ? 1 : 2][(rates >> 4) - 1]!;
    const sampleRateHz = [44100, 48000, 32000][(rates >> 2) & 3]! / (isMpeg1 ? 1 : isMpeg25 ? 4 : 2);
    const samples = isMpeg1 ? 1152 : 576;
    frames.push({ sampleRateHz, kbps, samples, channels: mode >> 6 === 3 ? 1 : 2 });
    at += Math.floor(((samples / 8) * kbps * 1000) / sampleRateHz) + ((rates >> 1) & 1);
    expect(at).toBeLessThanOrEqual(file.length);
  }
  return frames;
}
