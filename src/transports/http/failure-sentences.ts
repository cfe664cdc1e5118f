// Renders a failure as one text, for the APIs of other vendors, whose errors have no list of details. The text uses the
// vendor's names.
import { Failure } from '../../platform/errors.ts';

/** A vendor's names for what failures mention. */
export interface VendorNames {
  /** The vendor's names of fields, by their names in the protos. Other fields have the same name. */
  fields: Readonly<Record<string, string>>;
  /** The request that lists the voices. */
  listVoices: string;
  lexicon?: string;
}

export function renamed(failure: Failure, { fields, listVoices, lexicon = 'lexicon' }: VendorNames): Failure {
  const { reason, facts, cause } = failure;
  const inWords = (text: string) =>
    text
      .replace('GET /api/voices ', `${listVoices} `)
      .replace(/lexicon\b/gi, (word) =>
        word === 'lexicon' ? lexicon : lexicon.replace(/^./, (letter) => letter.toUpperCase()),
      );
  const message = inWords(failure.message).replace('; details lists every violation', '');
  const toName = (part: string) => {
    const name = part.replace(/\[.*/, '');
    return Object.hasOwn(fields, name) ? fields[name]! : part;
  };
  const details = facts.details?.map((violation) => ({
    ...violation,
    field: violation.field.split('.').map(toName).join('.'),
    message: inWords(violation.message),
  }));
  return new Failure(reason, { ...facts, message, ...(details && { details }) }, cause);
}

/** A violation that needs no name of a field, because it is a whole sentence. */
const isSentence = (message: string) => /^\p{Lu}.*\.$/su.test(message);

/** The sentences of a renamed failure: its violations, each once, or its message. */
export function sentencesOf({ message, facts: { details = [] } }: Failure): string[] {
  const violations = details.map((each) => (isSentence(each.message) ? each.message : `${each.field} ${each.message}`));
  return violations.length > 0 ? [...new Set(violations)] : [message];
}

/** The violations of the failure, or its message, in one text with the vendor's names. */
export function toMessage(failure: Failure, names: VendorNames): string {
  const text = sentencesOf(renamed(failure, names)).join('; ');
  return text.endsWith('.') ? text : `${text}.`;
}
