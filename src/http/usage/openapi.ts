// The OpenAPI documentation of /api/usage.
import { getUsageOperation } from '../../api/operation.ts';
import { usageDaysMax, usageGroupsMax } from '../../api/usage.ts';
import { usageGroups } from '../../store/usage-rows.ts';
import {
  describeObject,
  documentOperation,
  jsonAnswer,
  queryParameter,
  type RouteDocs,
  text,
  whole,
} from '../route-docs.ts';

const sums = {
  requests: [whole('Number of syntheses.'), 2],
  characters: [whole('Unicode code points of their texts.'), 26],
  audio_seconds: [{ type: 'number', description: 'Duration of their audio.' }, 2.08],
} as const;
const total = describeObject('UsageTotal', sums, 'The sums over all groups.');
const group = describeObject('UsageGroup', { group: [text('The key, voice or day.'), '2030-01-02'], ...sums });
const order = `Days in chronological order; keys and voices by characters, descending; at most ${usageGroupsMax}.`;
const day = { type: 'string', format: 'date' };
const usage = describeObject('Usage', {
  from: [text('The first day.', { format: 'date' }), '2030-01-01'],
  to: [text('The last day.', { format: 'date' }), '2030-01-31'],
  group_by: [text('What the sums are grouped by.', { enum: usageGroups }), 'day'],
  total: [total.schema, total.example],
  groups: [{ type: 'array', description: order, items: group.schema }, [group.example]],
});
export const usageDocs: RouteDocs = {
  ...documentOperation(getUsageOperation),
  tag: 'Keys',
  summary: 'Get the usage of API keys',
  description:
    'Of the key of the request, the keys that it has replaced, the keys that it created, and the keys that those created. Days are UTC.',
  parameters: [
    queryParameter('from', 'The first day. Default: the first of this month.', day),
    queryParameter('to', `The last day. Default: today. At most ${usageDaysMax} days in all.`, day),
    queryParameter('group_by', 'What to group the sums by.', { type: 'string', enum: usageGroups, default: 'day' }),
  ],
  answers: { 200: jsonAnswer('The sums.', usage.schema, usage.example, ['Cache-Control']) },
  failures: [],
};
