// Parameters of a query.
import type { FieldViolation } from '../errors.ts';

type Query = Readonly<Record<string, unknown>>;

/** A parameter that may be given once; empty if it is absent. */
export function takeText(query: Query, name: string, violations: FieldViolation[]): string {
  const value = query[name] ?? '';
  if (typeof value === 'string') return value;
  violations.push({ field: name, reason: 'type', message: 'must be given once' });
  return '';
}
