// The bytes of a clip, told from its id, so that whoever finds the clip can tell whether it is whole.
import { crc32 } from 'node:zlib';
import { patternBytes } from '../conformance/pattern-bytes.ts';

export function clipBytes(clipId: string): Buffer {
  const seed = crc32(clipId);
  return patternBytes(50_000 + (seed % 150_000), seed);
}
