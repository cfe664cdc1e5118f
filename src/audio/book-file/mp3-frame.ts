// The frames that the MP3 encoder writes (mp3.ts): how many for so much sound, how long each is, and a silent one.
//     header 11: all 1 | 2: version, 3 or 2 | 2: layer, 1 for III | 1: no CRC | 4: bit rate | 2: sample rate | 1: padded
//            1: 0 | 2: mode, 3 for mono | 6 more | side information of 17 bytes in MPEG-1, 9 in MPEG-2
// Side information of zeros says that a frame refers to no earlier one and holds no sound.

const bitsPerSecond = 64_000;
/** At lower rates MPEG-2, with half the samples. */
const mpeg1RateMinHz = 32_000;
export const mp3HeaderBytes = 4;
/** LAME's delay before the sound, and what it adds after it at least. */
export const mp3EncoderDelay = 576;
const paddingMin = 576;

const isMpeg1 = (sampleRateHz: number): boolean => sampleRateHz >= mpeg1RateMinHz;

export const mp3FrameSamples = (sampleRateHz: number): number => (isMpeg1(sampleRateHz) ? 1152 : 576);

/** How many frames LAME makes of so many samples. */
export const mp3FrameCount = (sampleCount: number, sampleRateHz: number): number =>
  Math.ceil((sampleCount + mp3EncoderDelay + paddingMin) / mp3FrameSamples(sampleRateHz));

/** The bytes of the first `count` frames of a file: at 44.1 kHz most are one byte longer than the first. */
export function mp3FrameBytes(count: number, sampleRateHz: number): number {
  const bitsPerFrame = (mp3FrameSamples(sampleRateHz) / 8) * bitsPerSecond;
  const rest = bitsPerFrame % sampleRateHz;
  return count * Math.floor(bitsPerFrame / sampleRateHz) + Math.ceil((Math.max(0, count - 1) * rest) / sampleRateHz);
}

export const mp3SideBytes = (sampleRateHz: number): number => (isMpeg1(sampleRateHz) ? 17 : 9);

/** As the encoder begins its first frame, which is not padded. */
export function mp3SilentFrame(sampleRateHz: number): Buffer {
  const frame = Buffer.alloc(mp3FrameBytes(1, sampleRateHz));
  const version = isMpeg1(sampleRateHz) ? 3 : 2;
  const bitRateIndex = isMpeg1(sampleRateHz) ? 5 : 8;
  const rateIndex = { 24000: 1, 44100: 0, 48000: 1 }[sampleRateHz]!;
  frame.writeUInt32BE(
    ((0x7ff << 21) | (version << 19) | (1 << 17) | (1 << 16) | (bitRateIndex << 12) | (rateIndex << 10) | 0xc4) >>> 0,
  );
  return frame;
}
