// JSON (RFC 8259) as `JSON.parse` reads it, in steps: what is too deep or has too many values is refused before anything
// of it is read, and long lists and objects are read a piece at a time. Violations are a Failure `invalid_request`.
import { isAscii } from 'node:buffer';
import { Failure } from '../errors.ts';
import type { Steps } from '../runtime/steps.ts';

export interface JsonLimits {
  depthMax: number;
  /** Members and items. */
  valuesMax: number;
}

/** What is shorter is read in one step. */
export const pieceBytes = 16 * 1024;
const scannedBytes = 32 * 1024;
/** Of an object, where it is not short. */
const membersMax = 1000;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const byteOrderMark = Buffer.from('\ufeff');

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

export const withoutByteOrderMark = (bytes: Uint8Array): Uint8Array =>
  byteOrderMark.equals(bytes.subarray(0, byteOrderMark.length)) ? bytes.subarray(byteOrderMark.length) : bytes;

// Signs as numbers, since the loop below looks at each byte of a body.
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The number of members in the text, if it is JSON. Rejects what is too deep or has too many values. */
export function* countMembers(bytes: Uint8Array, { depthMax, valuesMax }: JsonLimits): Steps<number> {
  let [depth, colons, signs] = [0, 0, 0];
  let isInText = false;
  for (let i = 0; i < bytes.length; ) {
    const end = Math.min(bytes.length, i + scannedBytes);
    for (; i < end; i++) {
      const byte = bytes[i]!;
      if (isInText) {
        if (byte === backslash) i++;
        else if (byte === quote) isInText = false;
      } else if (byte === quote) {
        isInText = true;
        signs++;
      } else if (byte === comma) signs++;
      else if (byte === colon) colons++;
      else if (byte === openBrace || byte === openBracket) {
        if (++depth > depthMax) throw refuse(`The body nests deeper than ${depthMax}.`);
      } else if (byte === closeBrace || byte === closeBracket) depth--;
    }
    // A value that is a text has a sign of its own, and between two values is a comma.
    if (signs > 2 * valuesMax) throw refuse('The body has too many members and items.');
    yield;
  }
  return colons;
}

/** The value of the text, which must not be deeper than `countMembers` has found it to be. */
export function* readJson(bytes: Uint8Array, from = 0, to = bytes.length): Steps<unknown> {
  let [start, end] = [from, to];
  while (start < end && isBlank(bytes[start]!)) if ((++start - from) % scannedBytes === 0) yield;
  while (end > start && isBlank(bytes[end - 1]!)) if ((to - --end) % scannedBytes === 0) yield;
  if (end - start > pieceBytes) {
    const ends = [bytes[start], bytes[end - 1]];
    if (ends[0] === openBracket && ends[1] === closeBracket) return yield* readList(bytes, start + 1, end - 1);
    if (ends[0] === openBrace && ends[1] === closeBrace) return yield* readObject(bytes, start + 1, end - 1);
  }
  yield;
  const text = decode(bytes.subarray(start, end));
  yield;
  return parseText(text);
}

function* readList(bytes: Uint8Array, from: number, to: number): Steps<unknown[]> {
  const items: unknown[] = [];
  for (const piece of yield* piecesOf(bytes, from, to)) {
    yield;
    if (piece.isLarge) items.push(yield* readJson(bytes, piece.from, piece.to));
    else items.push(...(parse(bytes.subarray(piece.from, piece.to), '[]') as unknown[]));
  }
  return items;
}

function* readObject(bytes: Uint8Array, from: number, to: number): Steps<object> {
  const members: [string, unknown][] = [];
  for (const piece of yield* piecesOf(bytes, from, to)) {
    yield;
    if (members.length > membersMax) throw refuse(`An object may have ${membersMax} members.`);
    if (!piece.isLarge) {
      members.push(...Object.entries(parse(bytes.subarray(piece.from, piece.to), '{}') as object));
      continue;
    }
    const nameEnd = endOfName(bytes, piece.from, piece.to);
    const name = parse(bytes.subarray(piece.from, nameEnd), '{}', ':0') as object;
    members.push([Object.keys(name)[0]!, yield* readJson(bytes, nameEnd + 1, piece.to)]);
  }
  return Object.fromEntries(members);
}

interface Piece {
  from: number;
  to: number;
  /** It is one item or member, and too large for a step. */
  isLarge: boolean;
}

/** The items of a list, or the members of an object, between its brackets: several in a piece where they are short. */
function* piecesOf(bytes: Uint8Array, from: number, to: number): Steps<Piece[]> {
  const pieces: Piece[] = [];
  let [pieceFrom, itemFrom, depth] = [from, from, 0];
  let isInText = false;
  const add = (end: number) => {
    if (end - itemFrom > pieceBytes) {
      if (itemFrom > pieceFrom) pieces.push({ from: pieceFrom, to: itemFrom - 1, isLarge: false });
      pieces.push({ from: itemFrom, to: end, isLarge: true });
    } else if (end - pieceFrom > pieceBytes || end === to) pieces.push({ from: pieceFrom, to: end, isLarge: false });
    else return;
    pieceFrom = end + 1;
  };
  for (let i = from; i < to; ) {
    const end = Math.min(to, i + scannedBytes);
    for (; i < end; i++) {
      const byte = bytes[i]!;
      if (isInText) {
        if (byte === backslash) i++;
        else if (byte === quote) isInText = false;
      } else if (byte === quote) isInText = true;
      else if (byte === openBrace || byte === openBracket) depth++;
      else if (byte === closeBrace || byte === closeBracket) depth--;
      else if (byte === comma && depth === 0) {
        add(i);
        itemFrom = i + 1;
      }
    }
    yield;
  }
  add(to);
  const hasBlank = pieces.some((piece) => isBlankText(bytes, piece));
  // A list of nothing is one blank piece; among others, it is that of a comma too many.
  if (hasBlank && pieces.length > 1) throw refuse('The body is not valid JSON.');
  return hasBlank ? [] : pieces;
}

function isBlankText(bytes: Uint8Array, { from, to }: Piece): boolean {
  for (let i = from; i < to; i++) if (!isBlank(bytes[i]!)) return false;
  return true;
}

/** The index of the colon behind the name with which the member begins, or its end. */
function endOfName(bytes: Uint8Array, from: number, to: number): number {
  let i = from;
  while (i < to && bytes[i] !== quote) i++;
  for (i++; i < to && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++;
  while (i < to && bytes[i] !== colon) i++;
  return Math.min(i, to);
}

const isBlank = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Of a text that stands between these brackets, with an end of its own. */
const parse = (bytes: Uint8Array, brackets = '', end = ''): unknown =>
  parseText(brackets.slice(0, 1) + decode(bytes) + end + brackets.slice(1));

/** Most texts are ASCII, of which a copy is all that is needed. */
function decode(bytes: Uint8Array): string {
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw refuse('The body is not valid UTF-8.', error);
  }
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refuse('The body is not valid JSON.', error);
  }
}
