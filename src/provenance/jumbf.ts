// JUMBF (ISO 19566-5): labelled boxes, in which C2PA stores a manifest. Numbers are big-endian:
//     length | "jumb" | length | "jumd" | type, 16 bytes | 3 | label, 0 | boxes, each: length | name | content
import { createHash } from 'node:crypto';

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
export const hashBox = (bytes: Uint8Array, alg = 'sha256'): Buffer =>
  createHash(alg).update(bytes.subarray(8)).digest();

export interface LabelledBox {
  label: string;
  /** The complete box. */
  bytes: Buffer;
  boxes: readonly LabelledBox[];
  /** Content of the first inner box without a label. */
  content: Buffer;
}

const depthMax = 8;

/** Reads a labelled box. Throws an Error if the box is malformed. Bytes after the box are ignored. */
export function readLabelledBox(bytes: Buffer, depth = 0): LabelledBox {
  const [outer] = boxesIn(bytes);
  const [description, ...inner] = outer?.name === 'jumb' && depth < depthMax ? boxesIn(outer.content) : [];
  const end = description?.name === 'jumd' ? description.content.indexOf(0, 17) : -1;
  if (end < 0) throw new Error('a box is malformed');
  return {
    label: description!.content.toString('utf8', 17, end),
    bytes: outer!.bytes,
    boxes: inner.filter(({ name }) => name === 'jumb').map(({ bytes }) => readLabelledBox(bytes, depth + 1)),
    content: inner.find(({ name }) => name !== 'jumb')?.content ?? Buffer.alloc(0),
  };
}

function* boxesIn(bytes: Buffer): Generator<{ name: string; bytes: Buffer; content: Buffer }> {
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at < 8 ? 0 : bytes.readUInt32BE(at);
    if (length < 8 || length > bytes.length - at) throw new Error('a box has a wrong length');
    const whole = bytes.subarray(at, at + length);
    yield { name: whole.toString('latin1', 4, 8), bytes: whole, content: whole.subarray(8) };
    at += length;
  }
}
