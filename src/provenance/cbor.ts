// CBOR (RFC 8949) as C2PA manifests use it: without floats and without items of indefinite length. Tags are skipped.

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

const depthMax = 32;
const itemsMax = 10_000;

/** Decodes one value; CBOR maps become Maps. Throws an Error unless the bytes are exactly one value. */
export function decodeCbor(bytes: Buffer): unknown {
  let at = 0;
  let items = 0;
  const take = (length: number): Buffer => {
    if (length > bytes.length - at) throw new Error('CBOR ends too early');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const read = (depth: number): unknown => {
    const first = take(1)[0]!;
    const [major, info] = [first >> 5, first & 31];
    if (info > 27 || depth > depthMax || ++items > itemsMax) throw new Error('CBOR of a kind that C2PA does not use');
    const number = info < 24 ? info : Number(`0x${take(2 ** (info - 24)).toString('hex')}`);
    if (major < 2) return major === 0 ? number : -1 - number;
    if (major < 4) return major === 2 ? take(number) : take(number).toString();
    if (major > 5) return major === 6 ? read(depth + 1) : first === 0xf5 ? true : first === 0xf4 ? false : null;
    // Each item has at least one byte.
    if (number > bytes.length - at) throw new Error('CBOR ends too early');
    if (major === 4) {
      const list: unknown[] = [];
      while (list.length < number) list.push(read(depth + 1));
      return list;
    }
    const map = new Map<unknown, unknown>();
    for (let n = 0; n < number; n++) map.set(read(depth + 1), read(depth + 1));
    return map;
  };
  const value = read(0);
  if (at < bytes.length) throw new Error('CBOR with bytes after its end');
  return value;
}
