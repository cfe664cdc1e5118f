// Writes the header of a FLAC frame with one channel of 16 bits (RFC 9639, section 9.1), whole bytes:
//     15: 7FFC | 1: blocks vary | 4 code of the length | 4 of the rate | 4: 0, mono | 3: 4, 16 bits | 1: 0
//        | 8 to 56 number of the frame, or where blocks vary of its first sample | 16 length - 1, where the code says so | 8 CRC-8
import { BitWriter, crc8 } from './bit-writer.ts';

/** 256 times 2^(code - 8); code 7 means that the length follows. */
const lengthCodes: Readonly<Record<number, number>> = { 2048: 11, 4096: 12 };
const lengthFollows = 7;
const rateCodes: Readonly<Record<number, number>> = { 24000: 7, 44100: 9, 48000: 10 };

export interface FrameHeader {
  length: number;
  sampleRateHz: number;
  number: number;
  /** Whether frames are of various lengths, so that `number` counts samples. */
  blocksVary?: boolean;
}

export function flacFrameHeader({ length, sampleRateHz, number, blocksVary = false }: FrameHeader): Uint8Array {
  const bits = new BitWriter();
  const lengthCode = lengthCodes[length] ?? lengthFollows;
  bits.put((0x3ffe << 2) | Number(blocksVary), 16);
  bits.put(lengthCode, 4);
  bits.put(rateCodes[sampleRateHz]!, 4);
  bits.put(0b0000_100_0, 8);
  for (const byte of inUtf8(number)) bits.put(byte, 8);
  if (lengthCode === lengthFollows) bits.put(length - 1, 16);
  bits.put(crc8(bits.bytes()), 8);
  return bits.bytes();
}

/** Coded like a code point in UTF-8, extended to 36 bits. */
function inUtf8(number: number): number[] {
  if (number < 0x80) return [number];
  const rest: number[] = [];
  let left = number;
  do {
    rest.unshift(0x80 | (left % 64));
    left = Math.floor(left / 64);
  } while (left >= 2 ** (6 - rest.length));
  return [((0xff00 >> (rest.length + 1)) & 0xff) | left, ...rest];
}
