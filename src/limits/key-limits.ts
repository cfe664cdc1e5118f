// How much a key may do: requests in a minute, syntheses at once, characters in a month. A key has the usual limits
// unless it was given others.
import type { FieldViolation } from '../errors.ts';

export interface KeyLimits {
  requestsPerMinute: number;
  concurrency: number;
  /** Undefined: as many as it likes. */
  charactersPerMonth: number | undefined;
}

export const usualLimits: KeyLimits = { requestsPerMinute: 600, concurrency: 20, charactersPerMonth: undefined };

/** What is asked for: a limit that is left out, or null, is the usual one. */
export type LimitFields = { [Name in keyof KeyLimits]?: number | null | undefined };

const bounds: Readonly<Record<keyof KeyLimits, { field: string; max: number }>> = {
  requestsPerMinute: { field: 'limits.requests_per_minute', max: 1_000_000 },
  concurrency: { field: 'limits.concurrency', max: 10_000 },
  charactersPerMonth: { field: 'limits.characters_per_month', max: 1_000_000_000_000 },
};
const names = Object.keys(bounds) as (keyof KeyLimits)[];

/** What is wrong with these limits, for a key that may have `most` at most. */
export function faultsOfLimits(asked: LimitFields, most: KeyLimits | undefined): FieldViolation[] {
  return names.flatMap((name) => {
    const { field, max } = bounds[name];
    const value = asked[name] ?? usualLimits[name];
    if (value !== undefined && !(Number.isInteger(value) && value >= 1 && value <= max))
      return [{ field, reason: 'range', message: `must be a whole number from 1 to ${max}` }];
    const limit = most?.[name];
    if (limit !== undefined && (value === undefined || value > limit) && asked[name] !== undefined)
      return [{ field, reason: 'range', message: `must be at most ${limit}, as for the key that makes it` }];
    return [];
  });
}

/** The limits of a key that is made: what was asked, else the usual, and never more than `most`. */
export function limitsFor(asked: LimitFields, most: KeyLimits | undefined): KeyLimits {
  const chosen = names.map((name) => {
    const value = asked[name] ?? usualLimits[name];
    return [name, Math.min(value ?? Infinity, most?.[name] ?? Infinity)] as const;
  });
  return Object.fromEntries(
    chosen.map(([name, value]) => [name, value === Infinity ? undefined : value]),
  ) as unknown as KeyLimits;
}
