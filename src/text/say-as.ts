// SSML's say-as: what is said for text of a stated kind. Characters, digits and telephone numbers are said in any language,
// one by one; the other kinds in English and in languages with a table (verbalizer.ts).
import { sayAsEnglish } from './english/say-as.ts';
import { sayText } from './normalize-text.ts';
import { type Verbalizer, verbalizerFor } from './verbalizer.ts';

/** Said by engines that read numbers as it is written. */
const plainKinds = new Set(['cardinal', 'number']);
/** What is said in place of what is not to be heard. */
const bleep = 'beep';

/** Undefined where the text cannot be said so in that language. */
export function sayAs(
  { as, format }: { as: string; format: string },
  text: string,
  { languageCode, readsNumbers }: { languageCode: string; readsNumbers: boolean },
): string | undefined {
  const written = text.replace(/\s+/g, ' ').trim();
  if (as === 'expletive' || as === 'bleep') return bleep;
  const read = (given: string) => sayText(given, { languageCode, spellOut: true });
  if (/^en(-|$)/i.test(languageCode)) return sayAsEnglish(as, format, written, read) || undefined;
  const verbalizer = verbalizerFor(languageCode);
  const byTable = verbalizer && sayByTable(as, written, verbalizer, read);
  if (byTable) return byTable;
  const said = sayOneByOne(as, written);
  return said ?? (readsNumbers && plainKinds.has(as) ? written : undefined);
}

/** Undefined where the text is not of that kind. */
function sayByTable(as: string, written: string, verbalizer: Verbalizer, read: (text: string) => string) {
  const isNumber = /^[-−]?\d{1,24}$/.test(written);
  switch (as) {
    case 'cardinal':
    case 'number':
      return isNumber ? verbalizer.numeral(written) : readWritten(written, read);
    case 'ordinal': {
      const [, digits] = /^(\d{1,21})\D{0,3}$/.exec(written) ?? [];
      return digits === undefined ? undefined : verbalizer.ordinal(digits);
    }
    case 'telephone':
      return /\d/.test(written) ? verbalizer.telephone(written) : undefined;
    case 'fraction': {
      const [, whole, over, under] = /^(?:(\d{1,9})[ +]+)?(\d{1,9})\s?[/⁄]\s?(\d{1,9})$/.exec(written) ?? [];
      return over === undefined ? undefined : verbalizer.fraction(over, under!, whole);
    }
    case 'date':
    case 'time':
    case 'currency':
    case 'unit':
      return readWritten(written, read);
    default:
      return undefined;
  }
}

/** By the rules for all text. */
const readWritten = (written: string, read: (text: string) => string) =>
  /\d/.test(written) ? read(written) : undefined;

function sayOneByOne(as: string, written: string): string | undefined {
  const spaced = (pattern: RegExp) => (written.match(pattern) ?? []).join(' ').toUpperCase() || undefined;
  if (as === 'characters' || as === 'spell-out' || as === 'verbatim') return spaced(/[\p{L}\p{N}]\p{M}*/gu);
  if (as === 'digits') return spaced(/\p{Nd}/gu);
  if (as !== 'telephone') return undefined;
  const groups = written.match(/\p{Nd}+/gu);
  return groups?.map((group) => [...group].join(' ')).join(', ');
}
