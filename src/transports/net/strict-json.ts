// Parses JSON (RFC 8259) restricted by I-JSON (RFC 7493), so that all parsers agree: valid UTF-8, no duplicate members,
// no lone surrogates, limited depth and number of values. Violations throw `invalid_request`. Duplicates are detected
// by counting: they leave fewer parsed members than the text has colons. Large bodies are parsed in steps.

import { isAscii } from 'node:buffer';
import { Failure, type FieldViolation } from '../../platform/errors.ts';
import { jsonDepthMax, requestValuesMax } from '../../platform/net/request-limits.ts';
import { atOnce, inSteps, type Steps } from '../../platform/runtime/steps.ts';

interface JsonLimits {
  depthMax: number;
  /** Rough maximum of members and items. Opening quotes and commas together may be twice as many. */
  valuesMax: number;
}

/** Shorter input is parsed in one step. */
export const pieceBytes = 16 * 1024;
const scannedBytes = 32 * 1024;
/** Largest number of members per object. Not checked for input that is parsed in one step. */
const membersMax = 1000;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const byteOrderMark = Buffer.from('\ufeff');

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

const withoutByteOrderMark = (bytes: Uint8Array): Uint8Array =>
  byteOrderMark.equals(bytes.subarray(0, byteOrderMark.length)) ? bytes.subarray(byteOrderMark.length) : bytes;

// Byte values, because the loop below examines each byte of a body.
const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Returns the number of members if the text is JSON. Throws if the text is nested too deeply or has too many values.
 */
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
        if (++depth > depthMax) throw refuse(`The body is nested more than ${depthMax} levels deep.`);
      } else if (byte === closeBrace || byte === closeBracket) depth--;
    }
    // Signs are opening quotes and commas, whose number grows with the number of values.
    if (signs > 2 * valuesMax) throw refuse('The body has too many members and items.');
    yield;
  }
  return colons;
}

/** Parses the text, whose depth `countMembers` must have checked. */
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
  return parseText(text, start === 0);
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
    if (members.length > membersMax) throw refuse(`An object may have at most ${membersMax} members.`);
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
  /** Whether the piece is one item or member that is too large for a step. */
  isLarge: boolean;
}

/** Splits the items of a list, or the members of an object, into pieces. Short items or members share a piece. */
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
  // An empty list is one blank piece. A blank piece among other pieces means a superfluous comma.
  if (hasBlank && pieces.length > 1) throw refuse('The body is not valid JSON.');
  return hasBlank ? [] : pieces;
}

function isBlankText(bytes: Uint8Array, { from, to }: Piece): boolean {
  for (let i = from; i < to; i++) if (!isBlank(bytes[i]!)) return false;
  return true;
}

/** Returns the index of the colon after the member's name, or `to` if there is no colon. */
function endOfName(bytes: Uint8Array, from: number, to: number): number {
  let i = from;
  while (i < to && bytes[i] !== quote) i++;
  for (i++; i < to && bytes[i] !== quote; i++) if (bytes[i] === backslash) i++;
  while (i < to && bytes[i] !== colon) i++;
  return Math.min(i, to);
}

const isBlank = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Parses the text with `end` appended, enclosed in these brackets. */
const parse = (bytes: Uint8Array, brackets = '', end = ''): unknown =>
  parseText(brackets.slice(0, 1) + decode(bytes) + end + brackets.slice(1));

/** Decodes UTF-8. Most text is ASCII, which only needs a copy. */
function decode(bytes: Uint8Array): string {
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw refuse('The body is not valid UTF-8.', error);
  }
}

/** If the text starts where the body does, the failure has the position in the body, which V8 states in most messages. */
function parseText(text: string, isStart = false): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const [, line, column] = (isStart && /\(line (\d+) column (\d+)\)$/.exec((error as Error).message)) || [];
    throw refuse(`The body is not valid JSON${line ? ` at line ${line}, column ${column}` : ''}.`, error);
  }
}

interface StrictJsonOptions {
  /** Name of a top-level member with part of a text, which may begin or end with half of a surrogate pair. */
  pieceOf?: string | undefined;
  valuesMax?: number | undefined;
}

export const parseStrictJson = (body: Uint8Array, options: StrictJsonOptions = {}): unknown =>
  atOnce(readStrictJson(body, options));

/** Like `parseStrictJson`, but other tasks can run in between. */
export const parseStrictJsonInSteps = async (body: Uint8Array, options: StrictJsonOptions = {}): Promise<unknown> =>
  body.length <= pieceBytes ? parseStrictJson(body, options) : inSteps(readStrictJson(body, options));

function* readStrictJson(
  body: Uint8Array,
  { pieceOf, valuesMax = requestValuesMax }: StrictJsonOptions = {},
): Steps<unknown> {
  const bytes = withoutByteOrderMark(body);
  const colons = yield* countMembers(bytes, { depthMax: jsonDepthMax, valuesMax });
  const value = yield* readJson(bytes);
  const { members, faults } = yield* inspect(value, pieceOf);
  if (members !== colons) throw new Failure('invalid_request', { message: 'The JSON body has a duplicate key.' });
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return value;
}

/** Limits on the reported violations, because names come from the caller and may be as long as the body. */
const faultsMax = 100;
const fieldCharsMax = 100;
const inspectedPerStep = 256;

const mayBeAtFault = (value: unknown): boolean => typeof value === 'string' || typeof value === 'object';

/** Counts the members of the value and reports its lone surrogates. */
function* inspect(given: unknown, pieceOf: string | undefined): Steps<{ members: number; faults: FieldViolation[] }> {
  let [members, visited] = [0, 0];
  const faults: FieldViolation[] = [];
  const check = (text: string, field: string) => {
    if (faults.length === faultsMax || text.isWellFormed()) return;
    const message = 'contains an unpaired surrogate; send valid Unicode';
    faults.push({ field: field.slice(0, fieldCharsMax).toWellFormed(), reason: 'encoding', message });
  };
  // Takes the last entry first. Entries are added in reverse, so that faults are found in the order of the text.
  const left: { value: unknown; path: string }[] = [{ value: given, path: '' }];
  for (let item = left.pop(); item; item = left.pop()) {
    const { value, path } = item;
    if (++visited % inspectedPerStep === 0) yield;
    if (typeof value === 'string') check(value, path);
    else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i--) left.push({ value: value[i], path: `${path}[${i}]` });
    } else if (typeof value === 'object' && value !== null) {
      const names = Object.keys(value);
      members += names.length;
      const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`).slice(0, fieldCharsMax);
      for (const name of names) if (!name.isWellFormed()) check(name, pathOf(name));
      for (let i = names.length - 1; i >= 0; i--) {
        const name = names[i]!;
        const entry = (value as Record<string, unknown>)[name];
        const isPiece = path === '' && name === pieceOf && typeof entry === 'string';
        if (!isPiece && mayBeAtFault(entry)) left.push({ value: entry, path: pathOf(name) });
      }
    }
  }
  return { members, faults };
}
