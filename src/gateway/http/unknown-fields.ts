// A request that is refused as invalid is told of its unknown members and parameters too: one of them may be the misspelt
// name of what it lacks. The documentation of the route states which members are known.
import type { FastifyRequest } from 'fastify';
import { Failure, type FieldViolation } from '../../errors.ts';
import { isObject, sortFields, toViolation, type UnknownField } from './known-fields.ts';
import { ignoredFieldsMax } from './limits.ts';
import type { Schema } from './route-docs.ts';

/** The failure of the request, with its unknown members in the details. */
export function withUnknownFields(failure: Failure, request: FastifyRequest): Failure {
  const { body, ignoredQuery = [], routeOptions } = request;
  if (!failure.facts.details) return failure;
  return nameUnknown(failure, [...unknownIn(body, routeOptions.config.operation?.body?.schema), ...ignoredQuery]);
}

/** The same where the unknown members are at hand. */
export function nameUnknown(failure: Failure, unknown: readonly UnknownField[]): Failure {
  const { reason, facts, cause } = failure;
  const { details = [] } = facts;
  const told = new Set(details.map(({ field }) => field));
  const more = unknown.filter(({ name }) => !told.has(name)).slice(0, ignoredFieldsMax);
  if (reason !== 'invalid_request' || more.length === 0) return failure;
  return new Failure(reason, { ...facts, details: [...details, ...more.map(toIgnoredViolation)] }, cause);
}

const toIgnoredViolation = (unknown: UnknownField): FieldViolation =>
  unknown.meant ? toViolation(unknown) : { ...toViolation(unknown), message: 'means nothing here, and is ignored' };

function* unknownIn(value: unknown, schema: Schema | undefined, prefix = ''): Generator<UnknownField> {
  const { properties, items } = (schema ?? {}) as { properties?: Readonly<Record<string, Schema>>; items?: Schema };
  if (Array.isArray(value) && items) {
    for (const [i, item] of value.entries()) yield* unknownIn(item, items, `${prefix}[${i}]`);
  } else if (isObject(value) && properties) {
    const path = prefix && `${prefix}.`;
    yield* sortFields(value, Object.keys(properties), false, path).ignored;
    for (const [name, inner] of Object.entries(properties)) yield* unknownIn(value[name], inner, path + name);
  }
}
