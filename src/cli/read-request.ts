// Reads the values of flags as the REST API reads a body: by the contract and its rules.
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { newReading, readMembers } from '../contract/decode.ts';
import { checkRules } from '../contract/rules.ts';
import type { Fields } from '../contract/unknown-fields.ts';
import type { Violations } from '../contract/violations.ts';

/** Undefined members are absent. Violations are added to `violations`. */
export function readRequest<Desc extends DescMessage>(
  desc: Desc,
  members: Fields,
): { message: MessageShape<Desc>; violations: Violations } {
  const message = create(desc);
  const reading = newReading(true);
  readMembers(message, desc, members, reading);
  const { violations, given } = reading;
  checkRules(desc, message, violations, { given });
  return { message, violations };
}

/** The number in a flag. NaN, which breaks every rule, if it is not a number. */
export const toNumber = (text: string | undefined) => (text === undefined ? undefined : Number(text));
