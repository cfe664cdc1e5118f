// Collects the violations of one request from all checks. Once a check has reported a field, later checks add no
// violations to it.
import { Failure, type FieldReason, type FieldViolation } from '../platform/errors.ts';

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
  report(field: string, reason: FieldReason, message: string, { allowed, limit, actual }: ViolationFacts = {}): void {
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
