// CBOR (RFC 8949), as far as C2PA manifests use it: no floats, and no items of indefinite length.

/** A value with a tag, such as 18 for COSE_Sign1. */
export class Tagged {
  readonly tag: number;
  readonly value: unknown;

  constructor(tag: number, value: unknown) {
    this.tag = tag;
    this.value = value;
  }
}

/** An object becomes a map with text keys, without its undefined members; a Map may have other keys. */
export function encodeCbor(value: unknown): Buffer {
  if (value === null || typeof value === 'boolean') return Buffer.of(value === null ? 0xf6 : value ? 0xf5 : 0xf4);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)]);
  if (value instanceof Tagged) return Buffer.concat([head(6, value.tag), encodeCbor(value.value)]);
  const entries = value instanceof Map ? [...value] : Object.entries(value as object);
  const kept = entries.filter(([, member]) => member !== undefined);
  return Buffer.concat([head(5, kept.length), ...kept.flat().map(encodeCbor)]);
}

function head(major: number, number: number): Buffer {
  if (number < 24) return Buffer.of((major << 5) | number);
  const size = [1, 2, 4, 8].findIndex((bytes) => number < 2 ** (8 * bytes));
  const bytes = Buffer.alloc(9);
  bytes.writeBigUInt64BE(BigInt(number), 1);
  const from = 9 - 2 ** size;
  bytes[from - 1] = (major << 5) | (24 + size);
  return bytes.subarray(from - 1);
}

const depthMax = 32;

/** Maps become a Map. Throws an Error if the bytes are not one such value. */
export function decodeCbor(bytes: Buffer): unknown {
  let at = 0;
  const take = (length: number): Buffer => {
    if (length > bytes.length - at) throw new Error('CBOR ends too early');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const read = (depth: number): unknown => {
    const first = take(1)[0]!;
    const [major, info] = [first >> 5, first & 31];
    if (info > 27 || depth > depthMax) throw new Error('CBOR of a kind that C2PA does not use');
    const number = info < 24 ? info : Number(`0x${take(2 ** (info - 24)).toString('hex')}`);
    if (major === 0) return number;
    if (major === 1) return -1 - number;
    if (major === 2) return take(number);
    if (major === 3) return take(number).toString();
    if (major === 6) return new Tagged(number, read(depth + 1));
    if (major === 7) return info === 20 || info === 21 ? info === 21 : info < 24 ? null : number;
    // Each item has at least one byte.
    if (number > bytes.length - at) throw new Error('CBOR ends too early');
    if (major === 4) return Array.from({ length: number }, () => read(depth + 1));
    return new Map(Array.from({ length: number }, () => [read(depth + 1), read(depth + 1)]));
  };
  const value = read(0);
  if (at < bytes.length) throw new Error('CBOR with bytes after its end');
  return value;
}
