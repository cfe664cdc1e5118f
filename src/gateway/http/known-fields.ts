// Separates the known members of a body from the unknown, which are ignored and reported, or rejected if the gateway is
// strict.
import type { FieldViolation } from '../../errors.ts';
import { nearestName } from '../../nearest-name.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface SortedFields {
  fields: Fields;
  ignored: string[];
  faults: FieldViolation[];
}

/** `prefix` precedes the names of nested members. */
export function sortFields(given: Fields, known: readonly string[], isStrict: boolean, prefix = ''): SortedFields {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  const ignored = unknown.map((name) => prefix + name);
  const fields = Object.fromEntries(
    known.filter((name) => Object.hasOwn(given, name)).map((name) => [name, given[name]]),
  );
  const toViolation = (name: string) => {
    const meant = nearestName(name, known);
    const hint = meant ? `did you mean ${prefix}${meant}?` : 'leave it out';
    return { field: prefix + name, reason: 'unknown', message: `means nothing here; ${hint}` };
  };
  return { fields, ignored, faults: isStrict ? unknown.map(toViolation) : [] };
}
