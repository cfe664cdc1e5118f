// The OpenAPI documentation of /api/usage.
import { getUsageOperation } from '../../operations/operation.ts';
import { usageDaysMax, usageGroupsMax } from '../../operations/usage.ts';
import { usageGroups } from '../../store/usage-rows.ts';
import { queryParameter, type RouteDocs, type Schema } from '../http/route-docs.ts';

const whole = (description: string): Schema => ({ type: 'integer', minimum: 0, description });
const sumProperties = {
  requests: whole('Syntheses.'),
  characters: whole('Unicode code points of their texts.'),
  audio_seconds: { type: 'number', description: 'How long their audio lasts.' },
};
const sums = ['requests', 'characters', 'audio_seconds'];
const exampleSums = { requests: 2, characters: 26, audio_seconds: 2.08 };
const exampleReport = {
  from: '2030-01-01',
  to: '2030-01-31',
  group_by: 'day',
  total: exampleSums,
  groups: [{ group: '2030-01-02', ...exampleSums }],
};
const reportSchema: Schema = {
  title: 'Usage',
  type: 'object',
  required: ['from', 'to', 'group_by', 'total', 'groups'],
  properties: {
    from: { type: 'string', format: 'date', description: 'The first day.' },
    to: { type: 'string', format: 'date', description: 'The last day.' },
    group_by: { type: 'string', enum: usageGroups, description: 'What is summed by.' },
    total: { title: 'UsageTotal', description: 'Of all.', type: 'object', required: sums, properties: sumProperties },
    groups: {
      type: 'array',
      description: `Days in their order; keys and voices with the most characters first, at most ${usageGroupsMax}.`,
      items: {
        title: 'UsageGroup',
        type: 'object',
        required: ['group', ...sums],
        properties: { group: { type: 'string', description: 'The key, the voice or the day.' }, ...sumProperties },
      },
    },
  },
};
export const usageDocs: RouteDocs = {
  id: 'getUsage',
  tag: 'Keys',
  summary: 'Tell what was spoken',
  description: 'Of this key, the keys that it has made, and those that they have made. Days are of UTC.',
  scopes: getUsageOperation.scopes,
  parameters: [
    queryParameter('from', 'The first day; usually the first of this month.', { type: 'string', format: 'date' }),
    queryParameter('to', `The last day; usually today. At most ${usageDaysMax} days in all.`, {
      type: 'string',
      format: 'date',
    }),
    queryParameter('group_by', 'What to sum by.', { type: 'string', enum: usageGroups, default: 'day' }),
  ],
  answers: {
    200: {
      description: 'The sums.',
      headers: ['Cache-Control'],
      content: { 'application/json': { schema: reportSchema, example: exampleReport } },
    },
  },
  failures: [],
};
