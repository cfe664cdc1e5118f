// Collects the violations of one request from all checks. Once a check has reported a field, later checks add no
// violations to it.
import { Failure, type FieldReason, type FieldViolation } from '../platform/errors.ts';
import { nearestName } from '../platform/runtime/nearest-name.ts';

/** Number of violations after which `report` adds none. */
const violationsMax = 100;

export interface ViolationFacts {
  allowed?: FieldViolation['allowed'];
  /** Limit and actual size of a string that is too long. They are copied to the failure. */
  limit?: number;
  actual?: number;
}

export class Violations {
  readonly details: FieldViolation[] = [];
  readonly #faulty = new Set<string>();
  /** Fields with a violation in one of their parts. */
  readonly #containers = new Set<string>();
  /** Limit and actual size of the first string or list that is too long. */
  size: { limit: number; actual: number } | undefined;

  /**
   * Adds a violation, unless the field, a part of it or a field that contains it already has a violation, which may be
   * the cause.
   */
  report(
    field: string,
    reason: FieldReason,
    message: string,
    { allowed, limit, actual }: ViolationFacts = {},
  ): undefined {
    if (this.details.length >= violationsMax || this.has(field)) return;
    this.#note(field);
    this.details.push({ field, reason, message, ...(allowed && { allowed }) });
    if (limit !== undefined && actual !== undefined) this.size ??= { limit, actual };
  }

  /** Adds violations that were found together. Several may concern one field. */
  add(details: readonly FieldViolation[]): void {
    const fresh = details.filter(({ field }) => !this.has(field));
    for (const { field } of fresh) this.#note(field);
    for (const each of fresh) this.details.push(each);
  }

  throwIfAny(): void {
    if (this.details.length > 0) throw new Failure('invalid_request', { details: this.details, ...this.size });
  }

  /** Whether the field, a part of it or a field that contains it has a violation. */
  has(field: string): boolean {
    if (this.#faulty.size === 0) return false;
    const containsFault = this.#containers.has(field);
    return containsFault || this.#faulty.has(field) || containersOf(field).some((each) => this.#faulty.has(each));
  }

  #note(field: string): void {
    this.#faulty.add(field);
    for (const container of containersOf(field)) this.#containers.add(container);
  }
}

/** "bindings[0].engine" is a part of "bindings[0]" and of "bindings". */
const containersOf = (field: string): string[] =>
  Array.from(field.matchAll(/[.[]/g), ({ index }) => field.slice(0, index)).filter((container) => container !== '');

// Reports or refuses unknown members of a body and unknown parameters of a query, with the known name that was probably
// meant.

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
export function nameUnknown<Thrown>(error: Thrown, unknown: readonly UnknownField[]): Thrown | Failure {
  if (!(error instanceof Failure)) return error;
  const { reason, facts, cause } = error;
  const { details = [] } = facts;
  // If the gateway is strict, the details already list the unknown members.
  const areListed = details.some((detail) => detail.reason === 'unknown');
  if (reason !== 'invalid_request' || areListed || unknown.length === 0) return error;
  // A name in both the body and the query is listed once.
  const more = [...new Map(unknown.map((each) => [each.name, each])).values()].slice(0, unknownFieldsMax);
  return new Failure(reason, { ...facts, details: [...details, ...more.map(toIgnoredViolation)] }, cause);
}
