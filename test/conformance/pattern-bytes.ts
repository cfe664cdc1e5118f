// Bytes that differ everywhere and between seeds, so that no part can be mistaken for another.

export function patternBytes(byteCount: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(byteCount);
  let state = seed;
  for (let i = 0; i < byteCount; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[i] = state >>> 16;
  }
  return bytes;
}
