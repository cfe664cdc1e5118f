// Parses JSON (RFC 8259) as restricted by I-JSON (RFC 7493), so that no two parsers can understand it differently:
//     valid UTF-8 · no duplicate members · no lone surrogates · limited depth and number of values
// Violations are a Failure `invalid_request`. Besides the engine's own parser this takes one pass over the structure:
// with a duplicate member, there are fewer members than colons.
import { isAscii } from 'node:buffer';
import { Failure, type FieldViolation } from '../../errors.ts';
import { jsonDepthMax, jsonValuesMax } from './limits.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** In `pieceOf`, a member of the outermost object, half of a surrogate pair may stand: it is a piece of a text. */
export function parseStrictJson(
  body: Uint8Array,
  { pieceOf, valuesMax = jsonValuesMax }: { pieceOf?: string | undefined; valuesMax?: number | undefined } = {},
): unknown {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const colons = countColons(bytes, valuesMax);
  const value = parse(decode(bytes));
  const { members, faults } = inspect(value, pieceOf);
  if (members !== colons) throw refuse('The body gives a member twice.');
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return value;
}

const refuse = (message: string, cause?: unknown) => new Failure('invalid_request', { message }, cause);

function decode(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString('latin1');
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw refuse('The body is not valid UTF-8.', error);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refuse('The body is not valid JSON.', error);
  }
}

const [quote, backslash, colon, comma] = Buffer.from('"\\:,');
const [openBrace, openBracket, closeBrace, closeBracket] = Buffer.from('{[}]');

/** The number of members in the text. Rejects what is too deep or too large before it is parsed. */
function countColons(bytes: Buffer, valuesMax: number): number {
  let depth = 0;
  let colons = 0;
  let values = 0;
  let nextBackslash = -1;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === colon) colons++;
    else if (byte === comma || byte === quote) {
      if (++values > 2 * valuesMax) throw refuse('The body has too many members and items.');
      if (byte === comma) continue;
      if (nextBackslash < i) nextBackslash = indexOf(bytes, backslash, i);
      i = endOfString(bytes, i, nextBackslash);
    } else if (byte === closeBrace || byte === closeBracket) depth--;
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > jsonDepthMax) throw refuse(`The body nests deeper than ${jsonDepthMax}.`);
    }
  }
  return colons;
}

/** The index of the quote that ends the string at `start`; `nextBackslash` is the index of the next backslash. */
function endOfString(bytes: Buffer, start: number, nextBackslash: number): number {
  const end = indexOf(bytes, quote, start + 1);
  if (end < nextBackslash) return end;
  for (let i = nextBackslash; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === quote) return i;
    if (byte === backslash) i++;
  }
  return bytes.length;
}

/** The index of the next such byte; the length if there is none. */
function indexOf(bytes: Buffer, byte: number | undefined, from: number): number {
  const at = bytes.indexOf(byte!, from);
  return at < 0 ? bytes.length : at;
}

/** Limits of the reported violations: names are from the caller, and may be as long as the body. */
const faultsMax = 100;
const fieldCharsMax = 100;

/** The number of members of the value, and its lone surrogates. */
function inspect(value: unknown, pieceOf: string | undefined): { members: number; faults: FieldViolation[] } {
  let members = 0;
  const faults: FieldViolation[] = [];
  const check = (text: string, field: string) => {
    if (faults.length === faultsMax || text.isWellFormed()) return;
    const message = 'holds half of a surrogate pair; send valid Unicode';
    faults.push({ field: field.slice(0, fieldCharsMax).toWellFormed(), reason: 'encoding', message });
  };
  const visit = (item: unknown, path: string) => {
    if (typeof item === 'string') check(item, path);
    else if (Array.isArray(item)) for (const [i, entry] of item.entries()) visit(entry, `${path}[${i}]`);
    else if (typeof item === 'object' && item !== null) {
      for (const [name, entry] of Object.entries(item)) {
        members++;
        const field = (path === '' ? name : `${path}.${name}`).slice(0, fieldCharsMax);
        check(name, field);
        const isPiece = path === '' && name === pieceOf && typeof entry === 'string';
        if (!isPiece) visit(entry, field);
      }
    }
  };
  visit(value, '');
  return { members, faults };
}
