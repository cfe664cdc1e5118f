// Derives the bytes of a clip from its id, so that its completeness can be checked.
import { crc32 } from 'node:zlib';
import { patternBytes } from '../../conformance/pattern-bytes.ts';

export function clipBytes(clipId: string): Buffer {
  const seed = crc32(clipId);
  return patternBytes(50_000 + (seed % 150_000), seed);
}
