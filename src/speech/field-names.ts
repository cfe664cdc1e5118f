// Names of fields in APIs other than REST, for violations reported there.
import { Failure } from '../errors.ts';
import { type OtherName, speechFieldRows } from './fields.ts';

/** The same failure with field names of the other API. */
export function renameFields(failure: Failure, api: OtherName): Failure {
  const { details } = failure.facts;
  if (!details) return failure;
  const renamed = details.map((violation) => ({ ...violation, field: nameAt(api, violation.field) }));
  return new Failure(failure.reason, { ...failure.facts, details: renamed }, failure.cause);
}

/** The name of a field, such as "text_chunks[2]", in another API. */
export function nameAt(api: OtherName, field: string): string {
  const json = field.replace(/\[.*/, '');
  const name = speechFieldRows.find((row) => row.json === json)?.names?.[api];
  return name === undefined ? field : name;
}
