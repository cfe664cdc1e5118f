// Parses JSON (RFC 8259) as restricted by I-JSON (RFC 7493), so that no two parsers can understand it differently:
//     valid UTF-8 · no duplicate members · no lone surrogates · limited depth and number of values
// Violations are a Failure `invalid_request`. Besides the engine's own parser this takes one pass over the structure:
// with a duplicate member, there are fewer members than colons. Large bodies are parsed in steps.
import { Failure, type FieldViolation } from '../errors.ts';
import { atOnce, inSteps, type Steps } from '../runtime/steps.ts';
import { countMembers, pieceBytes, readJson, withoutByteOrderMark } from './json-steps.ts';
import { jsonDepthMax, requestValuesMax } from './limits.ts';

export interface StrictJsonOptions {
  /** A member of the outermost object in which half of a surrogate pair may stand: it is a piece of a text. */
  pieceOf?: string | undefined;
  valuesMax?: number | undefined;
}

export const parseStrictJson = (body: Uint8Array, options: StrictJsonOptions = {}): unknown =>
  atOnce(readStrictJson(body, options));

/** The same while others have their turns. */
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
  if (members !== colons) throw new Failure('invalid_request', { message: 'The body gives a member twice.' });
  if (faults.length > 0) throw new Failure('invalid_request', { details: faults });
  return value;
}

/** Limits of the reported violations: names are from the caller, and may be as long as the body. */
const faultsMax = 100;
const fieldCharsMax = 100;
const inspectedPerStep = 256;

const mayBeAtFault = (value: unknown): boolean => typeof value === 'string' || typeof value === 'object';

/** The number of members of the value, and its lone surrogates. */
function* inspect(given: unknown, pieceOf: string | undefined): Steps<{ members: number; faults: FieldViolation[] }> {
  let [members, visited] = [0, 0];
  const faults: FieldViolation[] = [];
  const check = (text: string, field: string) => {
    if (faults.length === faultsMax || text.isWellFormed()) return;
    const message = 'holds half of a surrogate pair; send valid Unicode';
    faults.push({ field: field.slice(0, fieldCharsMax).toWellFormed(), reason: 'encoding', message });
  };
  // The last is the next, so that faults are found in the order of the text.
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
