// GET /api/usage: what the caller's keys have had spoken, between two days, by key, voice or day. A caller sees its own
// key, those that it has made, and those that they have made.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure, type FieldViolation } from '../../errors.ts';
import { dayOf, isDay } from '../../limits/usage-day.ts';
import { type UsageGroup, type UsageRows, type UsageSum, usageGroups } from '../../store/usage-rows.ts';
import type { AdmitFor } from '../http/admission.ts';
import { takeText } from '../http/page-query.ts';
import { documented, queryParameter, type RouteDocs, type Schema } from '../http/route-docs.ts';

export interface UsageRouteOptions {
  usage: Pick<UsageRows, 'sum'>;
  admitFor: AdmitFor;
}

const scopes = ['usage:read'];
const daysMax = 366;
const rowsMax = 1_000;
const dayMs = 24 * 3_600_000;

const whole = (description: string): Schema => ({ type: 'integer', minimum: 0, description });
const sumProperties = {
  requests: whole('Syntheses.'),
  characters: whole('Unicode code points of their texts.'),
  audio_seconds: { type: 'number', description: 'How long their audio lasts.' },
};
const sums = ['requests', 'characters', 'audio_seconds'];
const exampleSums = { requests: 2, characters: 26, audio_seconds: 2.08 };
const exampleReport = {
  ...{ from: '2030-01-01', to: '2030-01-31', group_by: 'day', total: exampleSums },
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
      description: `Days in their order; keys and voices with the most characters first, at most ${rowsMax}.`,
      items: {
        title: 'UsageGroup',
        type: 'object',
        required: ['group', ...sums],
        properties: { group: { type: 'string', description: 'The key, the voice or the day.' }, ...sumProperties },
      },
    },
  },
};
const operation: RouteDocs = {
  id: 'getUsage',
  tag: 'Keys',
  summary: 'Tell what was spoken',
  description: 'Of this key, the keys that it has made, and those that they have made. Days are of UTC.',
  scopes,
  parameters: [
    queryParameter('from', 'The first day; usually the first of this month.', { type: 'string', format: 'date' }),
    queryParameter('to', `The last day; usually today. At most ${daysMax} days in all.`, {
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

export function addUsageRoute(app: FastifyInstance, { usage, admitFor }: UsageRouteOptions): void {
  app.route({
    method: 'GET',
    url: '/api/usage',
    ...documented(operation),
    onRequest: admitFor(scopes),
    async handler(request, reply) {
      const { from, to, groupBy } = parseUsageQuery(request);
      const asked = { range: request.caller!.grant.range, from, to, limit: rowsMax };
      const [sums, days] = await Promise.all([
        usage.sum({ ...asked, groupBy }),
        usage.sum({ ...asked, groupBy: 'day' }),
      ]);
      const groups = sums.map((sum) => ({ group: sum.group, ...toJson(sum) }));
      reply.header('cache-control', 'no-store');
      return { from, to, group_by: groupBy, total: toJson(totalOf(days)), groups };
    },
  });
}

function parseUsageQuery(request: FastifyRequest): { from: string; to: string; groupBy: UsageGroup } {
  const given = request.query as Readonly<Record<string, unknown>>;
  const details: FieldViolation[] = [];
  const today = dayOf(Date.now());
  const day = (name: string, usual: string) => {
    const text = takeText(given, name, details) || usual;
    if (!isDay(text)) details.push({ field: name, reason: 'format', message: 'must be a day such as 2026-01-31' });
    return text;
  };
  const to = day('to', today);
  const from = day('from', `${(isDay(to) ? to : today).slice(0, 8)}01`);
  const groupBy = takeText(given, 'group_by', details) || 'day';
  const group = usageGroups.find((name) => name === groupBy);
  if (!group) details.push({ field: 'group_by', reason: 'enum', message: `must be one of ${usageGroups.join(', ')}` });
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (details.length === 0 && (days < 1 || days > daysMax))
    details.push({
      field: 'from',
      reason: 'range',
      message: `must be at most ${daysMax} days before to, and not after it`,
    });
  if (details.length > 0) throw new Failure('invalid_request', { details });
  return { from, to, groupBy: group! };
}

const totalOf = (sums: readonly UsageSum[]) => {
  const total = { requests: 0, characters: 0, audioMs: 0 };
  for (const { requests, characters, audioMs } of sums) {
    total.requests += requests;
    total.characters += characters;
    total.audioMs += audioMs;
  }
  return total;
};

const toJson = ({ requests, characters, audioMs }: Omit<UsageSum, 'group'>) => ({
  requests,
  characters,
  audio_seconds: audioMs / 1000,
});
