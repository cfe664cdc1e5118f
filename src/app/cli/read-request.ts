// Parses flag values into a message and validates it by the rules in the protos, as the REST API validates a body.
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { checkRules, type Fields, newReading, readMembers, type Violations } from '../../contract.ts';

/** Parses members into a message. Undefined members count as absent. Violations are added to `violations`. */
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

/** Converts a flag to a number. Text that is not a number becomes NaN, which violates every rule. */
export const toNumber = (text: string | undefined) => (text === undefined ? undefined : Number(text));
