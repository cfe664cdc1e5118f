// SSML's say-as: what is said for text of a stated kind. Characters, digits and telephone numbers are said in any language,
// one by one; the other kinds in languages with a row in `sayers`. To add a language, add a file and a row.
import { sayAsEnglish } from './english/say-as.ts';
import { sayText } from './normalize-text.ts';

type Sayer = (as: string, format: string, written: string, read: (text: string) => string) => string | undefined;

const sayers: Readonly<Record<string, Sayer>> = { en: sayAsEnglish };

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
  const sayer = sayers[languageCode.toLowerCase().split('-', 1)[0]!];
  if (sayer)
    return sayer(as, format, written, (given) => sayText(given, { languageCode, spellOut: true })) || undefined;
  const said = sayOneByOne(as, written);
  return said ?? (readsNumbers && plainKinds.has(as) ? written : undefined);
}

function sayOneByOne(as: string, written: string): string | undefined {
  const spaced = (pattern: RegExp) => (written.match(pattern) ?? []).join(' ').toUpperCase() || undefined;
  if (as === 'characters' || as === 'spell-out' || as === 'verbatim') return spaced(/[\p{L}\p{N}]\p{M}*/gu);
  if (as === 'digits') return spaced(/\p{Nd}/gu);
  if (as !== 'telephone') return undefined;
  const groups = written.match(/\p{Nd}+/gu);
  return groups?.map((group) => [...group].join(' ')).join(', ');
}
