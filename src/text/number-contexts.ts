// Numbers whose form depends on certain words beside them, such as ordinals, years and the names of rulers.
import { parseRoman } from './number-words.ts';
import { charBefore, matchAt, type Rule, startingWith, sticky, textBefore } from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';

/** Maximum number of beginnings of numbers whose rows are cached. */
const keysMax = 2000;

/** The start of a pattern if it is simple: a group, and the character behind it. */
const startPattern = /^\((?!\?)(?:[^()]|\(\?:[^()]*\))+\)(?:(?:\\?[ .,:/"'-]|\[[^\]^]+\])(?![?*{]))?/;
/** A group in a pattern, with at most two levels of groups inside it. */
const groupPattern = /\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g;

/** Rule for numbers beside certain words. The numbers are digits, or Roman numerals if `isRoman` is true. */
export function contextRule(v: Verbalizer, isRoman: boolean): Rule {
  const ordinal = isRoman ? '([IVXL]{2,7}|[VX]|(?<=\\p{Ll} |(?<!\\p{L})[WZ] )I)' : String.raw`(\d{1,4})\.`;
  const rows = (v.table.numbers.contexts ?? [])
    .filter(({ written = '' }) => written === 'ordinal' || /\[IVX|\([IVX]+\)/.test(written) === isRoman)
    .map(({ before = '', written = String.raw`(\d{1,4})(?![\d,.:/-]?\d)`, after = '', form, say = '{n}' }) => {
      const source = written === 'ordinal' ? ordinal : written;
      // The text behind the number decides too, unless it has alternatives outside of groups.
      const end = after.replace(groupPattern, '').includes('|') ? '' : after;
      const start = startPattern.exec(source.replace(String.raw`(?![\d,.:/-]?\d)`, '') + end)?.[0] ?? '';
      return {
        isPossible: new RegExp(`^${isRoman && written === 'ordinal' ? '[IVXL]+(?!\\p{Ll})' : start}`, 'u'),
        pattern: sticky(`${source}(?=${after})`),
        isAfter: sticky(`(?<=${before})`),
        sayValue: (value: string | number, rest = '') =>
          say.replace('{n}', form === 'digits' ? v.digits(`${value}`) : v.number(value, form)).replace('{rest}', rest),
      };
    });
  // Most rows fail by the number and the character behind it alone.
  const rowsOf = new Map<string, typeof rows>();
  const beginning = sticky('[\\dIVXLCDM]{1,6}[^]?');
  return startingWith(isRoman ? /[IVXLCDM]/ : /\d/, (place) => {
    const { text, at } = place;
    if (/[\p{L}\d]/u.test(charBefore(place))) return undefined;
    const key = matchAt(beginning, text, at)![0];
    const own = rowsOf.get(key) ?? rows.filter(({ isPossible }) => isPossible.test(key));
    if (rowsOf.size < keysMax) rowsOf.set(key, own);
    for (const { pattern, isAfter, sayValue } of own) {
      const match = matchAt(pattern, text, at);
      if (!match) continue;
      const head = textBefore(place, 60);
      const [{ length }, number = '', rest] = match;
      const value = /^\d+$/.test(number) ? number : parseRoman(number);
      if (value !== undefined && matchAt(isAfter, head, head.length)) return { say: sayValue(value, rest), length };
    }
    return undefined;
  });
}
