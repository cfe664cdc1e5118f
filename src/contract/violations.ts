// The violations of one request, whoever finds them: all are reported together, one for each field.
import { Failure, type FieldReason, type FieldViolation } from '../errors.ts';

/** How many are reported of one request. */
const violationsMax = 100;

export interface ViolationFacts {
  allowed?: FieldViolation['allowed'];
  /** Of a long text: the failure has them too. */
  limit?: number;
  actual?: number;
}

export class Violations {
  readonly details: FieldViolation[] = [];
  readonly #faulty = new Set<string>();
  /** The fields with a violation in a part of them. */
  readonly #containers = new Set<string>();
  #size: { limit: number; actual: number } | undefined;

  /** Adds a violation, unless the field, a part of it or what it is a part of has one: that one may be its cause. */
  report(field: string, reason: FieldReason, message: string, { allowed, limit, actual }: ViolationFacts = {}): void {
    if (this.details.length >= violationsMax || this.has(field)) return;
    this.#note(field);
    this.details.push({ field, reason, message, ...(allowed && { allowed }) });
    if (limit !== undefined && actual !== undefined) this.#size ??= { limit, actual };
  }

  /** Adds those that are found at once, of which several may be about one field. */
  add(details: readonly FieldViolation[]): void {
    const fresh = details.filter(({ field }) => !this.has(field));
    for (const { field } of fresh) this.#note(field);
    for (const each of fresh) this.details.push(each);
  }

  throwIfAny(): void {
    if (this.details.length > 0) throw new Failure('invalid_request', { details: this.details, ...this.#size });
  }

  /** Whether the field, a part of it or what it is a part of has one. */
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
