// Separates the known members of a body and the known query parameters from the unknown ones. Unknown ones are ignored
// and reported with the likely name, or rejected if the gateway is strict.
import type { FastifyRequest } from 'fastify';
import {
  type Fields,
  isObject,
  toViolation,
  type UnknownField,
  unknownField,
  unknownFieldsMax,
} from '../contract/unknown-fields.ts';
import type { FieldViolation } from '../errors.ts';

export interface SortedFields {
  fields: Fields;
  ignored: UnknownField[];
  faults: FieldViolation[];
}

/** `prefix` is put before the names of nested members. */
export function sortFields(given: Fields, known: readonly string[], isStrict: boolean, prefix = ''): SortedFields {
  const ignored = Object.keys(given)
    .filter((name) => !known.includes(name))
    .map((name) => unknownField(name, known, prefix));
  if (prefix === '') ignoredMembers.set(given, ignored);
  const fields: Record<string, unknown> = {};
  for (const name of known) if (Object.hasOwn(given, name)) fields[name] = given[name];
  return { fields, ignored, faults: isStrict ? ignored.slice(0, unknownFieldsMax).map(toViolation) : [] };
}

/** Unknown members per body, kept for the reply if the parser throws. */
const ignoredMembers = new WeakMap<object, readonly UnknownField[]>();

/** The unknown members of a body and of its nested objects, as far as it was parsed. */
export const ignoredOf = (body: unknown): readonly UnknownField[] =>
  (isObject(body) && ignoredMembers.get(body)) || nothing;
const nothing: readonly UnknownField[] = [];

/** Sorts the query of a request by the documented parameters of its route. */
export function sortQuery({ query, routeOptions }: FastifyRequest, isStrict: boolean): SortedFields {
  const parameters = routeOptions.config.operation?.parameters ?? [];
  const known = parameters.flatMap((parameter) => (parameter.in === 'query' ? [parameter.name] : []));
  return sortFields(query as Fields, known, isStrict);
}

/** Whether the route's parser sorts the query itself. */
export const hasQuery = ({ routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.operation?.parameters?.some((parameter) => parameter.in === 'query') ?? false;
