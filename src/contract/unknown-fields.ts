// Members of a body, and parameters of a query, that mean nothing: reported with the names that they were probably meant to
// be, or refused.
import type { FieldViolation } from '../errors.ts';
import { nearestName } from '../runtime/nearest-name.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** How many of one object are reported. */
export const unknownFieldsMax = 20;

export interface UnknownField {
  name: string;
  /** The known name that is nearest to it. */
  meant: string | undefined;
}

/** `prefix` precedes the names of nested members. */
export const unknownField = (name: string, known: readonly string[], prefix = ''): UnknownField => ({
  name: prefix + name,
  // Looked for only where it is reported, since few of many are.
  get meant() {
    const meant = nearestName(name, known);
    return meant && prefix + meant;
  },
});

export const toViolation = ({ name: field, meant }: UnknownField): FieldViolation => ({
  field,
  reason: 'unknown',
  message: meant ? `means nothing here; did you mean ${meant}?` : 'means nothing here; leave it out',
});
