// Reports or refuses unknown members of a body and unknown parameters of a query, with the known name that was probably
// meant.
import { Failure, type FieldViolation } from '../platform/errors.ts';
import { nearestName } from '../platform/runtime/nearest-name.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Maximum number of unknown members that are listed in X-Ignored-Fields or as violations. */
export const unknownFieldsMax = 20;
/** Longer names of unknown members are cut: a caller may send a name as long as the body. */
const nameCharsMax = 64;

export interface UnknownField {
  name: string;
  /** The nearest known name. */
  meant: string | undefined;
}

/** `prefix` precedes the names of nested members. */
export const unknownField = (name: string, known: readonly string[], prefix = ''): UnknownField => ({
  name: prefix + name.slice(0, nameCharsMax),
  // Computed on demand, because only a few of many unknown members are reported.
  get meant() {
    const meant = nearestName(name, known);
    return meant && prefix + meant;
  },
});

/** The violation in a request that is refused because of the unknown member. */
export const toViolation = ({ name: field, meant }: UnknownField): FieldViolation => ({
  field,
  reason: 'unknown',
  message: meant ? `is not a known field; did you mean ${meant}?` : 'is not a known field; remove it',
});

/**
 * The violation in a request that is refused for other reasons. The unknown name may be a misspelt name of a missing
 * member.
 */
const toIgnoredViolation = (unknown: UnknownField): FieldViolation =>
  unknown.meant ? toViolation(unknown) : { ...toViolation(unknown), message: 'is not a known field' };

/** Adds the unknown members to an `invalid_request`, because their names may be misspelt names of missing members. */
export function nameUnknown(failure: Failure, unknown: readonly UnknownField[]): Failure {
  const { reason, facts, cause } = failure;
  const { details = [] } = facts;
  // If the gateway is strict, the details already list the unknown members.
  const areListed = details.some((detail) => detail.reason === 'unknown');
  if (reason !== 'invalid_request' || areListed || unknown.length === 0) return failure;
  // A name in both the body and the query is listed once.
  const more = [...new Map(unknown.map((each) => [each.name, each])).values()].slice(0, unknownFieldsMax);
  return new Failure(reason, { ...facts, details: [...details, ...more.map(toIgnoredViolation)] }, cause);
}

/** Rethrows the error. Adds the unknown members to the details of a failure. */
export function throwNamed(error: unknown, unknown: readonly UnknownField[]): never {
  throw error instanceof Failure ? nameUnknown(error, unknown) : error;
}
