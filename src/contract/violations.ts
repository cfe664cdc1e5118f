// The violations of one request, whoever finds them: all are reported together, one for each field.
import { Failure, type FieldReason, type FieldViolation } from '../errors.ts';

export interface ViolationFacts {
  allowed?: FieldViolation['allowed'];
  /** Of a long text: the failure has them too. */
  limit?: number;
  actual?: number;
}

export class Violations {
  readonly details: FieldViolation[] = [];
  readonly #fields = new Set<string>();
  #size: { limit: number; actual: number } | undefined;

  /** Adds a violation, unless the field or one that it is a part of has one already. */
  report(field: string, reason: FieldReason, message: string, { allowed, limit, actual }: ViolationFacts = {}): void {
    if (this.#has(field)) return;
    this.#fields.add(field);
    this.details.push({ field, reason, message, ...(allowed && { allowed }) });
    if (limit !== undefined && actual !== undefined) this.#size ??= { limit, actual };
  }

  add(details: readonly FieldViolation[]): void {
    // Several about one field may come together.
    const fresh = details.filter(({ field }) => !this.#has(field));
    for (const { field } of fresh) this.#fields.add(field);
    this.details.push(...fresh);
  }

  throwIfAny(): void {
    if (this.details.length > 0) throw new Failure('invalid_request', { details: this.details, ...this.#size });
  }

  /** "bindings[0].engine" is a part of "bindings[0]" and of "bindings". */
  #has(field: string): boolean {
    if (this.#fields.size === 0) return false;
    if (this.#fields.has(field)) return true;
    for (let at = field.length - 1; at > 0; at--)
      if ((field[at] === '.' || field[at] === '[') && this.#fields.has(field.slice(0, at))) return true;
    return false;
  }
}
