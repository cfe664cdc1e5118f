// JUMBF (ISO 19566-5): boxes with a label, in which C2PA stores a manifest. All numbers are big-endian:
//     length | "jumb" | length | "jumd" | type, 16 bytes | 3 | label, 0 | boxes
import { createHash } from 'node:crypto';

const typeRest = Buffer.from('00110010800000aa00389b71', 'hex');

export function box(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.from(`....${type}`, 'latin1');
  head.writeUInt32BE(parts.reduce((sum, { length }) => sum + length, 8));
  return Buffer.concat([head, ...parts]);
}

/** A box that contains boxes. `kind` is the first four bytes of its type. */
export const labelled = (kind: string, label: string, ...boxes: readonly Uint8Array[]): Buffer =>
  box('jumb', box('jumd', Buffer.from(kind, 'latin1'), typeRest, Buffer.from(`\x03${label}\0`)), ...boxes);

/** The hash of a labelled box in C2PA: without its length and "jumb". */
export const hashBox = (bytes: Uint8Array, alg = 'sha256'): Buffer =>
  createHash(alg).update(bytes.subarray(8)).digest();

export interface Labelled {
  label: string;
  /** The whole box. */
  bytes: Buffer;
  /** The labelled boxes in this box. */
  boxes: readonly Labelled[];
  /** The content of its first other box. */
  content: Buffer;
}

const depthMax = 8;

/** Reads a labelled box. Throws an Error if it is malformed. */
export function readLabelled(bytes: Buffer, depth = 0): Labelled {
  const [outer] = boxesIn(bytes);
  const [description, ...inner] = boxesIn(
    outer?.type === 'jumb' && depth < depthMax ? outer.body : bytes.subarray(0, 0),
  );
  const end = description?.body.indexOf(0, 17) ?? -1;
  if (description?.type !== 'jumd' || end < 0) throw new Error('a box of the manifest is malformed');
  return {
    label: description.body.toString('utf8', 17, end),
    bytes: outer!.bytes,
    boxes: inner.flatMap(({ type, bytes }) => (type === 'jumb' ? readLabelled(bytes, depth + 1) : [])),
    content: inner.find(({ type }) => type !== 'jumb')?.body ?? Buffer.alloc(0),
  };
}

function* boxesIn(bytes: Buffer): Generator<{ type: string; bytes: Buffer; body: Buffer }> {
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at < 8 ? 0 : bytes.readUInt32BE(at);
    if (length < 8 || length > bytes.length - at) throw new Error('a box of the manifest has a wrong length');
    const whole = bytes.subarray(at, at + length);
    yield { type: whole.toString('latin1', 4, 8), bytes: whole, body: whole.subarray(8) };
    at += length;
  }
}
