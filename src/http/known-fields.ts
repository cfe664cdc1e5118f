// Separates the known members of a body, and the known parameters of a query, from the unknown. These are ignored and
// reported with the names that they were probably meant to be, or rejected if the gateway is strict.
import type { FastifyRequest } from 'fastify';
import type { FieldViolation } from '../errors.ts';
import { nearestName } from '../runtime/nearest-name.ts';
import { ignoredFieldsMax } from './limits.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member or parameter that means nothing here. */
export interface UnknownField {
  name: string;
  /** The known name that is nearest to it. */
  meant: string | undefined;
}

export interface SortedFields {
  fields: Fields;
  ignored: UnknownField[];
  faults: FieldViolation[];
}

/** `prefix` precedes the names of nested members. */
export function sortFields(given: Fields, known: readonly string[], isStrict: boolean, prefix = ''): SortedFields {
  const ignored: UnknownField[] = [];
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    ignored.push({
      name: prefix + name,
      // Looked for only where it is told, since few of many are.
      get meant() {
        const meant = nearestName(name, known);
        return meant && prefix + meant;
      },
    });
  }
  if (prefix === '') ignoredMembers.set(given, ignored);
  const fields: Record<string, unknown> = {};
  for (const name of known) if (Object.hasOwn(given, name)) fields[name] = given[name];
  return { fields, ignored, faults: isStrict ? ignored.slice(0, ignoredFieldsMax).map(toViolation) : [] };
}

/** By the body that they are members of, for the reply to a request whose parser throws. */
const ignoredMembers = new WeakMap<object, readonly UnknownField[]>();

/** The unknown members of a body, with those of its own members, as far as it was parsed. */
export const ignoredOf = (body: unknown): readonly UnknownField[] =>
  (isObject(body) && ignoredMembers.get(body)) || nothing;
const nothing: readonly UnknownField[] = [];

/** The query of a request, by the parameters in the documentation of its route. */
export function sortQuery({ query, routeOptions }: FastifyRequest, isStrict: boolean): SortedFields {
  const parameters = routeOptions.config.operation?.parameters ?? [];
  const known = parameters.flatMap((parameter) => (parameter.in === 'query' ? [parameter.name] : []));
  return sortFields(query as Fields, known, isStrict);
}

/** Whether its parser sorts the query of the request. */
export const hasQuery = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.operation?.parameters?.some((parameter) => parameter.in === 'query') ?? false;

export const toViolation = ({ name: field, meant }: UnknownField): FieldViolation => ({
  field,
  reason: 'unknown',
  message: meant ? `means nothing here; did you mean ${meant}?` : 'means nothing here; leave it out',
});
