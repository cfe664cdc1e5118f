// Separates the known members of a body from the unknown, which are ignored and reported, or rejected if the gateway is
// strict.
import type { FieldViolation } from '../../errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface SortedFields {
  fields: Fields;
  ignored: string[];
  faults: FieldViolation[];
}

/** `prefix` precedes the names of nested members. */
export function sortFields(given: Fields, known: readonly string[], isStrict: boolean, prefix = ''): SortedFields {
  const ignored = Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => prefix + name);
  const fields = Object.fromEntries(
    known.filter((name) => Object.hasOwn(given, name)).map((name) => [name, given[name]]),
  );
  const unknown = (field: string) => ({ field, reason: 'unknown', message: 'means nothing here; leave it out' });
  return { fields, ignored, faults: isStrict ? ignored.map(unknown) : [] };
}
