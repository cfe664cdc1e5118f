// The limits of an API key: requests per minute, concurrent syntheses, characters per month. Limits that are not set
// have default values.
import type { Violations } from '../../contract.ts';

export interface KeyLimits {
  requestsPerMinute: number;
  concurrency: number;
  /** Undefined: unlimited. */
  charactersPerMonth: number | undefined;
}

export const usualLimits: KeyLimits = { requestsPerMinute: 600, concurrency: 20, charactersPerMonth: undefined };

/** An omitted or null limit gets its default value. */
export type LimitFields = { [Name in keyof KeyLimits]?: number | null | undefined };

const fieldNames: Readonly<Record<keyof KeyLimits, string>> = {
  requestsPerMinute: 'limits.requests_per_minute',
  concurrency: 'limits.concurrency',
  charactersPerMonth: 'limits.characters_per_month',
};
export const limitNames = Object.keys(fieldNames) as (keyof KeyLimits)[];

/** Reports limits that exceed `most`, the limits of the creating key. */
export function checkLimits(fields: LimitFields, most: KeyLimits | undefined, violations: Violations): void {
  for (const name of limitNames) {
    const value = fields[name] ?? usualLimits[name];
    const limit = most?.[name];
    if (fields[name] === undefined || limit === undefined || (value !== undefined && value <= limit)) continue;
    violations.report(fieldNames[name], 'range', `must be at most ${limit}, the limit of the creating key`);
  }
}

/** Returns the limits of a new key: the given limits, else the defaults, but never more than `most`. */
export function limitsFor(fields: LimitFields, most: KeyLimits | undefined): KeyLimits {
  const chosen = limitNames.map((name) => {
    const value = fields[name] ?? usualLimits[name];
    return [name, Math.min(value ?? Infinity, most?.[name] ?? Infinity)] as const;
  });
  return Object.fromEntries(
    chosen.map(([name, value]) => [name, value === Infinity ? undefined : value]),
  ) as unknown as KeyLimits;
}
