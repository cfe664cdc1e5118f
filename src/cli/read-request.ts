// Reads what flags stand for as the REST API reads a body: by the contract, with its rules.
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { newReading, readMembers } from '../contract/decode.ts';
import { checkRules } from '../contract/rules.ts';
import type { Fields } from '../contract/unknown-fields.ts';
import type { Violations } from '../contract/violations.ts';

/** Members that are undefined are absent. `violations` has what breaks the rules. */
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

/** The number that a flag gives; NaN, which breaks every rule, where it is none. */
export const toNumber = (text: string | undefined) => (text === undefined ? undefined : Number(text));
