// Adds unknown members and parameters to the details of an invalid request: one of them may be the misspelt name of a
// missing member.
import type { FastifyRequest } from 'fastify';
import { toIgnoredViolation, type UnknownField, unknownFieldsMax } from '../contract/unknown-fields.ts';
import { Failure } from '../errors.ts';
import { ignoredOf } from './known-fields.ts';

/** Returns the failure with the unknown members of the request in its details. */
export function withUnknownFields(failure: Failure, request: FastifyRequest): Failure {
  const { body, ignoredQuery = [] } = request;
  return failure.facts.details ? nameUnknown(failure, [...ignoredOf(body), ...ignoredQuery]) : failure;
}

/** Like `withUnknownFields`, for unknown members that are already known. */
export function nameUnknown(failure: Failure, unknown: readonly UnknownField[]): Failure {
  const { reason, facts, cause } = failure;
  const { details = [] } = facts;
  // If the gateway is strict, the details already list the unknown members.
  const areTold = details.some((detail) => detail.reason === 'unknown');
  if (reason !== 'invalid_request' || areTold || unknown.length === 0) return failure;
  // A name in both the body and the query is listed once.
  const more = [...new Map(unknown.map((each) => [each.name, each])).values()].slice(0, unknownFieldsMax);
  return new Failure(reason, { ...facts, details: [...details, ...more.map(toIgnoredViolation)] }, cause);
}

/** Rethrows the error; a failure gets the unknown members in its details. */
export function throwNamed(error: unknown, unknown: readonly UnknownField[]): never {
  throw error instanceof Failure ? nameUnknown(error, unknown) : error;
}

/** The failure for a body without any member that can be changed. */
export const nothingToChange = () =>
  new Failure('invalid_request', { message: 'The body names nothing to change.', details: [] });
