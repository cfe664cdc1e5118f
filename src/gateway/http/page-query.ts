// `limit` and `cursor` in the query of a list: the core's page size and page token by the names that they have here.
import { Failure, type FieldViolation } from '../../errors.ts';
import { fromThrown } from './failure-reply.ts';
import { type Parameter, queryParameter } from './route-docs.ts';

export const pageParameters: readonly Parameter[] = [
  queryParameter('limit', 'Most to answer.', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
  queryParameter('cursor', 'The `next_cursor` of the page before.'),
];

type Query = Readonly<Record<string, unknown>>;

/** A parameter that is given once, or an empty text. */
export function takeText(query: Query, name: string, faults: FieldViolation[]): string {
  const value = query[name] ?? '';
  if (typeof value === 'string') return value;
  faults.push({ field: name, reason: 'type', message: 'must be given once' });
  return '';
}

export function takePage(query: Query, faults: FieldViolation[]): { pageToken: string; pageSize?: number } {
  const limit = takeText(query, 'limit', faults);
  if (!/^\d{0,6}$/.test(limit)) faults.push({ field: 'limit', reason: 'type', message: 'must be a whole number' });
  return { pageToken: takeText(query, 'cursor', faults), ...(limit !== '' && { pageSize: Number(limit) }) };
}

/** Fields that have another name here. */
const names: Readonly<Record<string, string>> = { page_size: 'limit', page_token: 'cursor', query: 'text' };

/** What the core has thrown, with the fields by their names here. */
export function inTermsOfQuery(error: unknown): Failure {
  const failure = fromThrown(error);
  const { details } = failure.facts;
  if (!details) return failure;
  const renamed = details.map((fault) => ({
    ...fault,
    field: names[fault.field] ?? fault.field,
    message: fault.message.replace('next_page_token', 'next_cursor'),
  }));
  return new Failure(failure.reason, { ...failure.facts, details: renamed }, failure.cause);
}
