// Usage of the caller's keys between two days, by key, voice or day. A caller sees its own key, those it has replaced, and its
// descendants.
import { dayOf, isDay } from '../access/usage-ledger.ts';
import { Failure, type FieldViolation } from '../errors.ts';
import { type UsageGroup, type UsageRows, type UsageSum, usageGroups } from '../store/usage-rows.ts';
import type { Call } from './call.ts';

/** Days such as "2026-01-31", both included. */
export interface UsageQuery {
  from: string;
  to: string;
  groupBy: UsageGroup;
}

export interface UsageReport extends UsageQuery {
  total: Omit<UsageSum, 'group'>;
  groups: readonly UsageSum[];
}

export type GetUsage = (call: Call, query: UsageQuery) => Promise<UsageReport>;

export const usageDaysMax = 366;
export const usageGroupsMax = 1_000;
const dayMs = 24 * 3_600_000;

export const createGetUsage =
  (usage: Pick<UsageRows, 'sum'>): GetUsage =>
  async ({ caller }, { from, to, groupBy }) => {
    const range = { range: caller.grant.range, from, to, limit: usageGroupsMax };
    const [groups, days] = await Promise.all([
      usage.sum({ ...range, groupBy }),
      usage.sum({ ...range, groupBy: 'day' }),
    ]);
    return { from, to, groupBy, total: totalOf(days), groups };
  };

/** An empty string is the default. Violations are added to those found before. */
export function parseUsageQuery(
  given: Readonly<Record<'from' | 'to' | 'groupBy', string>>,
  violations: FieldViolation[],
): UsageQuery {
  const today = dayOf(Date.now());
  const day = (field: 'from' | 'to', fallback: string) => {
    const text = given[field] || fallback;
    if (!isDay(text)) violations.push({ field, reason: 'format', message: 'must be a day such as 2026-01-31' });
    return text;
  };
  const to = day('to', today);
  const from = day('from', `${(isDay(to) ? to : today).slice(0, 8)}01`);
  const groupBy = usageGroups.find((name) => name === (given.groupBy || 'day'));
  if (!groupBy) {
    const message = `must be one of ${usageGroups.join(', ')}`;
    violations.push({ field: 'group_by', reason: 'enum', message, allowed: usageGroups });
  }
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (violations.length === 0 && (days < 1 || days > usageDaysMax)) {
    const message = `must be at most ${usageDaysMax} days before to, and not after it`;
    violations.push({ field: 'from', reason: 'range', message });
  }
  if (violations.length > 0) throw new Failure('invalid_request', { details: violations });
  return { from, to, groupBy: groupBy! };
}

function totalOf(sums: readonly UsageSum[]): UsageReport['total'] {
  const total = { requests: 0, characters: 0, audioMs: 0 };
  for (const { requests, characters, audioMs } of sums) {
    total.requests += requests;
    total.characters += characters;
    total.audioMs += audioMs;
  }
  return total;
}
