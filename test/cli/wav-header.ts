// The header of a WAV file that a command has written.
import { expect } from 'vitest';

/** Rate, channels and seconds of a WAV file, from its header. */
export function wavOf(bytes: Buffer) {
  expect(bytes.toString('latin1', 0, 4) + bytes.toString('latin1', 8, 12)).toBe('RIFFWAVE');
  const headBytes = bytes.indexOf('data') + 8;
  const [channels, rateHz] = [bytes.readUInt16LE(22), bytes.readUInt32LE(24)];
  const dataBytes = bytes.readUInt32LE(headBytes - 4);
  return { headBytes, channels, rateHz, dataBytes, seconds: dataBytes / 2 / rateHz };
}
