// The case and the gender of a number, which the words beside it determine in languages such as Polish.
import type { LanguageTable, NumberContext } from './language-table.ts';
import { matchAt, type Place, startSource, sticky, textBefore } from './rule.ts';

/** Returns the form in the first row that applies to a number at a place; undefined if the form is empty. */
type FormAt = (place: Place, number: string) => string | undefined;

export function agreementOf({ agreement }: LanguageTable): { caseAt: FormAt; genderAt: FormAt } {
  const toFormAt = (rows: readonly NumberContext[] = []): FormAt => {
    const tests = rows.map(({ form, before, written, after }) => ({
      form,
      isNumber: written && new RegExp(`^(?:${written})$`),
      // A pattern that looks back from the number costs less than a search for its start.
      isAfter: before && sticky(`(?<=${startSource}(?:${before}))`),
      isBefore: after && sticky(after),
    }));
    return (place, number) => {
      const head = tests.length === 0 ? '' : textBefore(place, 80).toLowerCase();
      const end = place.at + number.length;
      const found = tests.find(
        ({ isNumber, isAfter, isBefore }) =>
          (!isNumber || isNumber.test(number)) &&
          (!isBefore || matchAt(isBefore, place.text, end)) &&
          (!isAfter || matchAt(isAfter, head, head.length)),
      );
      return found?.form || undefined;
    };
  };
  return { caseAt: toFormAt(agreement?.cases), genderAt: toFormAt(agreement?.genders) };
}
