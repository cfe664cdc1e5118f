// Adds unknown members and parameters to the details of an invalid request: one of them may be the misspelt name of a
// member that is missing.
import type { FastifyRequest } from 'fastify';
import { toIgnoredViolation, type UnknownField, unknownFieldsMax } from '../contract/unknown-fields.ts';
import { Failure } from '../errors.ts';
import { ignoredOf } from './known-fields.ts';

/** The failure of the request, with its unknown members in the details. */
export function withUnknownFields(failure: Failure, request: FastifyRequest): Failure {
  const { body, ignoredQuery = [] } = request;
  return failure.facts.details ? nameUnknown(failure, [...ignoredOf(body), ...ignoredQuery]) : failure;
}

/** The same where the unknown members are at hand. */
export function nameUnknown(failure: Failure, unknown: readonly UnknownField[]): Failure {
  const { reason, facts, cause } = failure;
  const { details = [] } = facts;
  // Where unknown members are refused, they are among the details.
  const areTold = details.some((detail) => detail.reason === 'unknown');
  if (reason !== 'invalid_request' || areTold || unknown.length === 0) return failure;
  // One that is in the body and in the query is told once.
  const more = [...new Map(unknown.map((each) => [each.name, each])).values()].slice(0, unknownFieldsMax);
  return new Failure(reason, { ...facts, details: [...details, ...more.map(toIgnoredViolation)] }, cause);
}

/** Throws what was thrown; a failure with the unknown members in its details. */
export function throwNamed(error: unknown, unknown: readonly UnknownField[]): never {
  throw error instanceof Failure ? nameUnknown(error, unknown) : error;
}

/** A body without a member that can be changed; its details have those that are unknown. */
export const nothingToChange = () =>
  new Failure('invalid_request', { message: 'The body contains no field to change.', details: [] });
