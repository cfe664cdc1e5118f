// `limit` and `cursor` in the query of a list.
import { type Page, parsePage } from '../api/page.ts';
import type { FieldViolation } from '../errors.ts';
import {
  type Answer,
  jsonAnswer,
  nullableText,
  objectSchema,
  type Parameter,
  queryParameter,
  type Schema,
} from './route-docs.ts';

export const pageParameters: readonly Parameter[] = [
  queryParameter('limit', 'Maximum number of items.', { type: 'integer', minimum: 1, maximum: 1000, default: 100 }),
  queryParameter('cursor', 'The `next_cursor` of the previous page; the filters must be the same.'),
];

/** An answer with a page of items, under the name `items`. */
export function pageOf(
  title: string,
  items: string,
  { schema, example }: { schema: Schema; example: unknown },
  order: string,
  headers?: Answer['headers'],
): Answer {
  const list = { type: 'array', items: schema, description: order };
  const next = nullableText('Cursor of the next page; null on the last page.');
  const pageSchema = objectSchema(title, { [items]: list, next_cursor: next });
  return jsonAnswer('A page.', pageSchema, { [items]: [example], next_cursor: null }, headers);
}

type Query = Readonly<Record<string, unknown>>;

/** A parameter that may be given once; empty if it is absent. */
export function takeText(query: Query, name: string, violations: FieldViolation[]): string {
  const value = query[name] ?? '';
  if (typeof value === 'string') return value;
  violations.push({ field: name, reason: 'type', message: 'must be given once' });
  return '';
}

/** The page of the list, which is identified by its name and filters. */
export function takePage(query: Query, list: readonly string[], violations: FieldViolation[]): Page {
  const limit = takeText(query, 'limit', violations);
  const isNumber = /^(-?\d+)?$/.test(limit);
  if (!isNumber) violations.push({ field: 'limit', reason: 'type', message: 'must be a whole number' });
  const cursor = takeText(query, 'cursor', violations);
  const size = isNumber && limit !== '' ? Number(limit) : undefined;
  return parsePage({ limit: size, cursor }, list, violations);
}
