// Encodes CBOR (RFC 8949). The same value always has the same bytes.

/** Encodes a value. Objects and Maps become CBOR maps without their undefined members. */
export function encodeCbor(value: unknown): Buffer {
  if (value === null) return Buffer.of(0xf6);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)]);
  const entries = value instanceof Map ? [...value] : Object.entries(value as object);
  const kept = entries.filter(([, member]) => member !== undefined);
  return Buffer.concat([head(5, kept.length), ...kept.flat().map(encodeCbor)]);
}

function head(major: number, number: number): Buffer {
  if (number < 24) return Buffer.of((major << 5) | number);
  const size = [0, 1, 2, 3].find((each) => number < 2 ** (8 * 2 ** each))!;
  const digits = number.toString(16).padStart(2 ** (size + 1), '0');
  return Buffer.concat([Buffer.of((major << 5) | (24 + size)), Buffer.from(digits, 'hex')]);
}
