// `limit` and `cursor` in the query of a list.
import type { FieldViolation } from '../../errors.ts';
import { type Page, parsePage } from '../../operations/page.ts';
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

/** The page that is asked for by `limit` and `cursor`. */
export function takePage(query: Query, violations: FieldViolation[]): Page {
  const limit = takeText(query, 'limit', violations);
  const isNumber = /^\d{0,6}$/.test(limit);
  if (!isNumber) violations.push({ field: 'limit', reason: 'type', message: 'must be a whole number' });
  const pageToken = takeText(query, 'cursor', violations);
  return parsePage({ pageToken, ...(isNumber && limit !== '' && { pageSize: Number(limit) }) }, pageNames, violations);
}

const pageNames = { size: 'limit', token: 'cursor', next: 'next_cursor' };
