// The limits of an API key: requests per minute, syntheses at once, characters per month. Limits that were not set have
// default values.
import type { FieldViolation } from '../errors.ts';

export interface KeyLimits {
  requestsPerMinute: number;
  concurrency: number;
  /** Undefined: unlimited. */
  charactersPerMonth: number | undefined;
}

export const usualLimits: KeyLimits = { requestsPerMinute: 600, concurrency: 20, charactersPerMonth: undefined };

/** A limit that is omitted or null has its default. */
export type LimitFields = { [Name in keyof KeyLimits]?: number | null | undefined };

const bounds: Readonly<Record<keyof KeyLimits, { field: string; max: number }>> = {
  requestsPerMinute: { field: 'limits.requests_per_minute', max: 1_000_000 },
  concurrency: { field: 'limits.concurrency', max: 10_000 },
  charactersPerMonth: { field: 'limits.characters_per_month', max: 1_000_000_000_000 },
};
export const limitNames = Object.keys(bounds) as (keyof KeyLimits)[];

/** The invalid limits; `most` are the limits of the key that makes this one. */
export function faultsOfLimits(fields: LimitFields, most: KeyLimits | undefined): FieldViolation[] {
  return limitNames.flatMap((name) => {
    const { field, max } = bounds[name];
    const value = fields[name] ?? usualLimits[name];
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= max))
      return [{ field, reason: 'range', message: `must be a whole number from 1 to ${max}` }];
    const limit = most?.[name];
    if (limit !== undefined && (value === undefined || value > limit) && fields[name] !== undefined)
      return [{ field, reason: 'range', message: `must be at most ${limit}, as for the key that makes it` }];
    return [];
  });
}

/** The limits of a new key: those of the fields, else the defaults, and never more than `most`. */
export function limitsFor(fields: LimitFields, most: KeyLimits | undefined): KeyLimits {
  const chosen = limitNames.map((name) => {
    const value = fields[name] ?? usualLimits[name];
    return [name, Math.min(value ?? Infinity, most?.[name] ?? Infinity)] as const;
  });
  return Object.fromEntries(
    chosen.map(([name, value]) => [name, value === Infinity ? undefined : value]),
  ) as unknown as KeyLimits;
}
