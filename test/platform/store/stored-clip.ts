// The row of a clip, and the bytes of one: they derive from its id, so that its completeness can be checked.
import { crc32 } from 'node:zlib';
import type { ClipRow } from '../../../src/clips/clip-rows.ts';
import { createId } from '../../../src/platform/runtime/id.ts';
import { patternBytes } from '../../conformance/pattern-bytes.ts';

export function clipBytes(clipId: string): Buffer {
  const seed = crc32(clipId);
  return patternBytes(50_000 + (seed % 150_000), seed);
}

export function clipRow(given: Partial<ClipRow> = {}): ClipRow {
  return {
    clipId: createId('aud', 128),
    ownerId: 'key_owner',
    accountId: null,
    cacheKey: createId('any'),
    fingerprint: null,
    origin: null,
    speechCheck: null,
    format: 'wav',
    byteCount: 200_000,
    seconds: 2.5,
    chars: 40,
    sampleRateHz: 44_100,
    voiceId: 'voice',
    voiceName: 'Voice',
    otherVoiceIds: null,
    warnings: '',
    createdAtMs: 1_000,
    expiresAtMs: 2 ** 45,
    deletedAtMs: null,
    usedAtMs: null,
    ...given,
  };
}
