// Reads the header of a WAV file that a command has written, with tags before the samples.
import { expect } from 'vitest';

/** Rate, channels and seconds of a WAV file, from its header, and the offset of its samples. */
export function wavOf(bytes: Buffer) {
  expect(bytes.toString('latin1', 0, 4) + bytes.toString('latin1', 8, 12)).toBe('RIFFWAVE');
  const start = bytes.indexOf('data', 36, 'latin1') + 8;
  const [channels, rateHz, dataBytes] = [bytes.readUInt16LE(22), bytes.readUInt32LE(24), bytes.readUInt32LE(start - 4)];
  return { channels, rateHz, start, dataBytes, seconds: dataBytes / 2 / rateHz };
}
