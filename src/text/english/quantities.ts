// Plain quantities in English: percentages, fractions, ratios, ordinals, ranges and numbers as such.

import {
  charBefore,
  dashSource,
  endSource,
  numberSource,
  type Rule,
  rule,
  textBefore,
  wordAfter,
  wordBefore,
} from '../rule.ts';
import { wordTable } from '../word-table.ts';
import { sayCardinal, sayHundred, sayNumber, sayOrdinal, sayRange, toPlural } from './numbers.ts';
import { measuredRule } from './units.ts';

/** "three quarters". */
function sayFraction(over: number, under: number): string {
  if (under === 2) return over === 1 ? 'one half' : `${sayCardinal(over)} halves`;
  const part = under === 4 ? 'quarter' : sayOrdinal(under);
  return `${sayCardinal(over)} ${over === 1 ? part : toPlural(part)}`;
}

const percent = rule(
  `(${numberSource})(?:${dashSource}(${numberSource}))?\\s?(%|‰|pct${endSource})`,
  ([, from, to, sign]) => `${sayRange(from!, to)} ${sign === '‰' ? 'per thousand' : 'percent'}`,
);

/** ½, 3½. */
export const vulgarRule: Rule = rule(String.raw`(\d{1,9}(?:,\d{3}){0,6})?\s?([¼-¾⅐-⅞↉])`, ([, whole, sign]) => {
  const [over, under] = sign!.normalize('NFKD').split('⁄').map(Number) as [number, number];
  const part = over === 1 && whole !== undefined ? sayFraction(1, under).replace('one', 'a') : sayFraction(over, under);
  const spoken = part === 'a eighth' ? 'an eighth' : part;
  return whole === undefined ? spoken : `${sayNumber(whole)} and ${spoken}`;
});

/** 2 1/2 */
const mixed = rule(String.raw`(\d{1,4})[ -](\d{1,2})/(\d{1,2})(?![\d/\p{L}])`, ([, whole, over, under]) => {
  if (Number(over) >= Number(under) || Number(over) === 0) return undefined;
  const part = sayFraction(Number(over), Number(under));
  return `${sayNumber(whole!)} and ${over === '1' ? part.replace('one', under === '8' || under === '11' || under === '18' ? 'an' : 'a') : part}`;
});

const fixed = wordTable(`
  24/7 twenty four seven; 9/11 nine eleven; 50/50 fifty fifty; 20/20 twenty twenty
`);

const fraction = rule(String.raw`(\d{1,4}(?:\.\d{1,2})?)/(\d{1,4})(?![\d/]|\.\d)`, ([written, over, under], place) => {
  if (fixed.has(written)) return fixed.get(written);
  const [a, b] = [Number(over), Number(under)];
  const scored =
    !Number.isInteger(a) ||
    b === 10 ||
    b === 100 ||
    /^(?:stars?|points?|marks?|correct)$/.test(wordAfter(place.text, place.at + written.length));
  if (scored && a <= b && a > 1) return `${sayNumber(over!)} out of ${sayNumber(under!)}`;
  const named = b >= 2 && (b <= 20 || [24, 25, 30, 32, 50, 60, 64, 100, 1000].includes(b));
  if (a < b && a > 0 && named && !over!.startsWith('0')) return sayFraction(a, b);
  return `${sayNumber(over!)} over ${sayNumber(under!)}`;
});

const ratio = rule(
  `(${numberSource}):(${numberSource})(?![\\d:])`,
  ([, from, to], place) => `${sayNumber(from!)} ${verseWords.test(wordBefore(place)) ? '' : 'to '}${sayNumber(to!)}`,
);

/** Books that are cited by chapter and verse. */
const verseWords =
  /^(?:Gen|Genesis|Ex|Exodus|Leviticus|Numbers|Deut|Deuteronomy|Joshua|Judges|Ruth|Samuel|Kings|Job|Ps|Psalms?|Proverbs|Isaiah|Jeremiah|Ezekiel|Daniel|Matt|Matthew|Mark|Luke|John|Acts|Rom|Romans|Cor|Corinthians|Galatians|Ephesians|Philippians|Timothy|Hebrews|James|Peter|Rev|Revelation|Surah|Quran)$/;

const ordinal = rule(`(?i:(\\d{1,3}(?:,\\d{3}){1,6}|\\d{1,21})(?:st|nd|rd|th)${endSource})`, ([, digits]) =>
  sayOrdinal(digits!.replaceAll(',', '')),
);

/** 10², x 10³, 10⁻⁶ */
export const powerRule: Rule = rule('([⁺⁻]?)([⁰¹²³⁴-⁹]{1,12}|ⁿ)', ([, sign, raised], place) => {
  const digits = raised!.normalize('NFKC');
  const isNote = /\p{L}{3}$/u.test(textBefore(place, 3)) && !/[ⁿ²³]/.test(raised!);
  if (isNote || !/[\p{L}\p{N})\]]/u.test(charBefore(place))) return raised === 'ⁿ' ? 'n' : sayNumber(digits);
  if (!sign && raised === '²') return 'squared';
  if (!sign && raised === '³') return 'cubed';
  return `to the power of ${sign === '⁻' ? 'minus ' : ''}${raised === 'ⁿ' ? 'N' : sayNumber(digits)}`;
});

/** 747s in the plural; but 300s is seconds. */
const pluralRule: Rule = rule(`(\\d{2}[1-9])s${endSource}`, ([, digits]) => toPlural(sayHundred(digits!)));

/** 1.5e-3 */
const scientificRule: Rule = rule(
  `(${numberSource})[eE]([-+−]?)(\\d{1,4})${endSource}`,
  ([, amount, sign, power]) =>
    `${sayNumber(amount!)} times ten to the power of ${sign && sign !== '+' ? 'minus ' : ''}${sayNumber(power!)}`,
);

/** 1.234,50, as written in continental Europe. */
const continental = rule(String.raw`(\d{1,3}(?:\.\d{3}){1,6}),(\d{1,2})(?!\d)`, ([, whole, part]) =>
  sayNumber(`${whole!.replaceAll('.', '')}.${part}`),
);

export const numberRule: Rule = rule(numberSource, ([written]) => sayNumber(written));

export const quantityRules: readonly Rule[] = [
  scientificRule,
  continental,
  percent,
  measuredRule(mixed),
  measuredRule(vulgarRule),
  ratio,
  measuredRule(fraction),
  ordinal,
  pluralRule,
];
