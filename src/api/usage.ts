// Usage of the caller's keys between two days, grouped by key, voice or day. A caller sees its own key, the keys that
// this key has replaced, and the keys of its account.
import { type GetUsageRequest, UsageGroupingSchema, type UsageService } from '../../gen/sonant/v1/usage_pb.ts';
import { type Accounts, type Usage, usageDays, type usageGroups } from '../accounts.ts';
import type { Violations } from '../contract.ts';
import { nameOf, toEnum } from './messages.ts';
import { checked, type Handlers } from './service-handlers.ts';

const usageDaysMax = 366;
const usageGroupsMax = 1_000;
const dayMs = 24 * 3_600_000;

export const createUsageHandlers = (usage: Pick<Accounts['usage'], 'sum'>) =>
  ({
    getUsage: checked(
      (message: GetUsageRequest, _call, violations) => toDays(message, violations),
      async (message, { caller }, { from, to }) => {
        const groupBy = nameOf<(typeof usageGroups)[number]>(UsageGroupingSchema, message.groupBy) ?? 'day';
        const range = { range: caller.grant.range, from, to, limit: usageGroupsMax };
        const [groups, days] = await Promise.all([
          usage.sum({ ...range, groupBy }),
          usage.sum({ ...range, groupBy: 'day' }),
        ]);
        return {
          from,
          to,
          groupBy: toEnum(UsageGroupingSchema, groupBy),
          total: toSums(totalOf(days)),
          groups: groups.map((sum) => ({ group: sum.group, ...toSums(sum) })),
        };
      },
    ),
  }) satisfies Handlers<typeof UsageService>;

/** Parses the first and the last day, such as "2026-01-31", both inclusive. An empty day gets its default. */
function toDays(given: Pick<GetUsageRequest, 'from' | 'to'>, violations: Violations): { from: string; to: string } {
  const { from, to, wrong } = usageDays({ from: given.from || undefined, to: given.to || undefined });
  for (const field of wrong.toReversed()) violations.report(field, 'format', 'must be a day such as 2026-01-31');
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1 || days > usageDaysMax)
    violations.report('from', 'range', `must not be after to; a report has at most ${usageDaysMax} days`);
  return { from, to };
}

type Sums = Pick<Usage, 'requests' | 'characters' | 'audioMs'>;

function totalOf(sums: readonly Sums[]): Sums {
  const total = { requests: 0, characters: 0, audioMs: 0 };
  for (const { requests, characters, audioMs } of sums) {
    total.requests += requests;
    total.characters += characters;
    total.audioMs += audioMs;
  }
  return total;
}

const toSums = ({ requests, characters, audioMs }: Sums) => ({
  requests: BigInt(requests),
  characters: BigInt(characters),
  audioSeconds: audioMs / 1000,
});
