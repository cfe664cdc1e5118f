// GET /api/usage: the usage of the caller's keys between two days, by key, voice or day.
import type { FastifyInstance } from 'fastify';
import { getUsageOperation } from '../../api/operation.ts';
import { type GetUsage, parseUsageQuery } from '../../api/usage.ts';
import type { UsageSum } from '../../store/usage-rows.ts';
import { type AdmitTo, run } from '../admission.ts';
import { sortQuery } from '../known-fields.ts';
import { takeText } from '../page-query.ts';
import { documented } from '../route-docs.ts';
import { usageDocs } from './openapi.ts';

export interface UsageRouteOptions {
  getUsage: GetUsage;
  admitTo: AdmitTo;
  isStrict: boolean;
}

export function addUsageRoute(app: FastifyInstance, { getUsage, admitTo, isStrict }: UsageRouteOptions): void {
  app.get('/api/usage', documented(usageDocs, admitTo(getUsageOperation)), async (request, reply) => {
    const { fields, faults: violations } = sortQuery(request, isStrict);
    const take = (name: string) => takeText(fields, name, violations);
    const query = { from: take('from'), to: take('to'), groupBy: take('group_by') };
    const usageQuery = parseUsageQuery(query, violations);
    const report = await run(request, reply, getUsageOperation, (call) => getUsage(call, usageQuery));
    const { from, to, groupBy, total, groups } = report;
    reply.header('cache-control', 'no-store');
    const toGroup = (sum: UsageSum) => ({ group: sum.group, ...toJson(sum) });
    return { from, to, group_by: groupBy, total: toJson(total), groups: groups.map(toGroup) };
  });
}

const toJson = ({ requests, characters, audioMs }: Omit<UsageSum, 'group'>) => ({
  requests,
  characters,
  audio_seconds: audioMs / 1000,
});
