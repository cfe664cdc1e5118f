// DER (X.690), as far as certificates and time-stamp requests need it.

export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const bytes = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag), Buffer.from(bytes), ...parts]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
export const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
export const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes);
/** A random positive number. */
export const serial = (bytes: Uint8Array): Buffer => der(0x02, Buffer.of(0x40), bytes);

/** The values in a constructed value, each with its head. Throws an Error if one does not fit. */
export function derParts(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = contentStart(bytes); at < bytes.length; at += parts.at(-1)!.length) {
    const rest = bytes.subarray(at);
    const start = contentStart(rest);
    const length = rest[1]! < 128 ? rest[1]! : Number(`0x${rest.toString('hex', 2, start)}`);
    if (!(start + length <= rest.length)) throw new Error('DER ends too early');
    parts.push(rest.subarray(0, start + length));
  }
  return parts;
}

const contentStart = (bytes: Buffer): number => (bytes[1]! < 128 ? 2 : 2 + (bytes[1]! & 127));
