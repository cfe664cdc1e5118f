// Reads a message of protobuf (https://protobuf.dev/programming-guides/encoding) in steps: one with too many fields is
// refused before anything of it is read; a long one is read a piece at a time, since messages may be cut between two
// fields, and a field that holds a message may be given again with more of it.
import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  mergeFromBinary,
  ScalarType,
} from '@bufbuild/protobuf';
import { Failure } from '../errors.ts';
import { pieceBytes } from '../net/json-steps.ts';
import type { Steps } from '../runtime/steps.ts';
import { itemFieldsMax } from './limits.ts';

const wireTypes = { varint: 0, bit64: 1, bytes: 2, start: 3, end: 4, bit32: 5 };
const fieldsPerStep = 256;

/** At most `fieldsMax` fields, in all messages that it holds. */
export function* readMessage(schema: DescMessage, bytes: Uint8Array, fieldsMax: number): Steps<Message> {
  yield* checkMessage(schema, bytes, fieldsMax);
  const message = create(schema);
  for (const piece of piecesOf(schema, bytes)) {
    yield;
    try {
      mergeFromBinary(schema, message, piece);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Failure('invalid_request', { message: `parse binary: ${reason}` }, error);
    }
  }
  return message;
}

/** Refuses one with more fields. */
export const checkMessage = (schema: DescMessage, bytes: Uint8Array, fieldsMax: number): Steps<void> =>
  countFields(schema, bytes, { left: fieldsMax });

function* countFields(schema: DescMessage | undefined, bytes: Uint8Array, budget: { left: number }): Steps<void> {
  let sinceStep = 0;
  for (const { no, type, from, to } of fieldsOf(bytes)) {
    const field = type === wireTypes.bytes ? schema?.fields.find(({ number }) => number === no) : undefined;
    budget.left -= field && isNumeric(field) ? to - from : 1;
    if (budget.left < 0) throw new Failure('invalid_request', { message: 'The message has too many fields.' });
    if (++sinceStep % fieldsPerStep === 0) yield;
    if (field?.message || field?.fieldKind === 'map') yield* countInside(field, bytes.subarray(from, to), budget);
  }
}

/** An item is read whole, so it may hold fewer. */
function* countInside(field: DescField, value: Uint8Array, budget: { left: number }): Steps<void> {
  const max = field.fieldKind === 'message' ? budget.left : Math.min(budget.left, itemFieldsMax);
  const own = { left: max };
  yield* countFields(field.message, value, own);
  budget.left -= max - own.left;
}

const isNumeric = (field: DescField): boolean =>
  field.fieldKind === 'list' &&
  (field.listKind === 'enum' || (field.listKind === 'scalar' && !notPacked.has(field.scalar)));

/** Each is a field of its own. */
const notPacked = new Set([ScalarType.STRING, ScalarType.BYTES]);

/** Of a message that is not too long, itself. */
function* piecesOf(schema: DescMessage, bytes: Uint8Array): Generator<Uint8Array> {
  let since = 0;
  let end = 0;
  for (const { no, type, start, from, to, depth } of fieldsOf(bytes)) {
    end = to;
    if (depth > 0) continue;
    const inner = schema.fields.find(({ number }) => number === no);
    if (type === wireTypes.bytes && inner?.fieldKind === 'message' && to - from > pieceBytes) {
      if (start > since) yield bytes.subarray(since, start);
      for (const piece of piecesOf(inner.message, bytes.subarray(from, to)))
        yield Buffer.concat([toHead(no, piece.length), piece]);
      since = to;
    } else if (to - since > pieceBytes) {
      yield bytes.subarray(since, to);
      since = to;
    }
  }
  // With what is no field, if there is any.
  if (bytes.length > since || end === 0) yield bytes.subarray(since);
}

interface FieldPlace {
  no: number;
  type: number;
  /** Of its tag. */
  start: number;
  from: number;
  to: number;
  /** Of the groups around it, and of those that begin with it. */
  depth: number;
}

/** Ends where the bytes are no message. */
function* fieldsOf(bytes: Uint8Array): Generator<FieldPlace> {
  let [at, depth] = [0, 0];
  /** Of 32 bits at most: larger ones are wrong here. */
  const readVarint = () => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) return undefined;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return undefined;
  };
  while (at < bytes.length) {
    const start = at;
    const tag = readVarint();
    if (tag === undefined) return;
    const [no, type] = [tag >>> 3, tag & 7];
    let from = at;
    if (type === wireTypes.varint) while (bytes[at++]! >= 0x80);
    else if (type === wireTypes.bytes) {
      const length = readVarint();
      if (length === undefined) return;
      from = at;
      at += length;
    } else if (type === wireTypes.start) depth++;
    else if (type === wireTypes.end) depth--;
    else if (type === wireTypes.bit64) at += 8;
    else if (type === wireTypes.bit32) at += 4;
    else return;
    if (at > bytes.length || depth < 0) return;
    yield { no, type, start, from, to: at, depth };
  }
}

/** The tag of a field of bytes, and its length. */
const toHead = (no: number, length: number): Buffer =>
  Buffer.from([...toVarint(no * 8 + wireTypes.bytes), ...toVarint(length)]);

const toVarint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...toVarint(Math.floor(value / 0x80))];
