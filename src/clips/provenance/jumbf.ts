// JUMBF (ISO 19566-5): labelled boxes, in which C2PA stores a manifest. Numbers are big-endian:
//     length | "jumb" | length | "jumd" | type, 16 bytes | 3 | label, 0 | boxes, each: length | name | content
import { createHash } from 'node:crypto';

const headBytes = 8;
const typeRest = Buffer.from('00110010800000aa00389b71', 'hex');

export function box(name: string, ...parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.from(`....${name}`, 'latin1');
  head.writeUInt32BE(parts.reduce((sum, { length }) => sum + length, 8));
  return Buffer.concat([head, ...parts]);
}

/** Builds a labelled box. `kind` is the first four bytes of the box type. */
export const labelledBox = (kind: string, label: string, ...boxes: readonly Uint8Array[]): Buffer =>
  box('jumb', box('jumd', Buffer.from(kind, 'latin1'), typeRest, Buffer.from(`\x03${label}\0`)), ...boxes);

/** Hash of a labelled box as C2PA defines it, without the box's length and name. */
export const hashBox = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes.subarray(headBytes)).digest();

/** Returns the boxes in a box. Returns no boxes unless there are exactly `count`, without bytes before or after them. */
export function boxesIn(outer: Buffer, count: number): Buffer[] {
  const boxes: Buffer[] = [];
  let at = headBytes;
  while (boxes.length < count && outer.length - at >= headBytes) {
    const length = outer.readUInt32BE(at);
    boxes.push(outer.subarray(at, at + length));
    at += length;
  }
  return at === outer.length && boxes.length === count ? boxes : [];
}

/** Returns the content of the only box, apart from the description, in a labelled box. Empty if there is none. */
export const contentOf = (labelled: Buffer): Buffer => boxesIn(labelled, 2)[1]?.subarray(headBytes) ?? Buffer.alloc(0);
