// Sums of money in the languages whose rules name "sum_first" and "sum_last": $19.99, US$1.2M, -£5, 5 €, EUR 20, $5-10
// million. A range of sums names its currency once, and a sum that describes a noun is in the singular: a five dollar bill.
import { sourceOf } from './nouns.ts';
import { dashSource, endSource, numberSource, type Rule, rule, textAfter, wordBefore } from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';

/** The upper end of a range of money is not a percentage or the like. */
const sumEndSource = String.raw`(?!\d|[.,]\d|\s?[%‰°])`;

interface Sum {
  from: string;
  to: string | undefined;
  magnitude: string | undefined;
  currency: string;
  isOne?: boolean;
}

function saySum(v: Verbalizer, { from, to, magnitude, currency, isOne = false }: Sum): string | undefined {
  const { noun } = v.nouns.currency(currency) ?? {};
  if (!noun) return undefined;
  const { range } = v.table.numbers;
  const number = to === undefined ? v.numeral(from) : `${v.numeral(from)} ${range} ${v.numeral(to)}`;
  const scale = magnitude === undefined ? undefined : v.nouns.magnitude(magnitude.toLowerCase());
  if (scale) return `${number} ${v.nouns.nameFor(scale, '2')} ${v.nouns.nameFor(noun, isOne ? '1' : '2')}`;
  const said = v.money(to ?? from, currency, isOne);
  if (to === undefined) return said;
  // Cents have names: both sums are said whole.
  return `${/\.\d\d$/.test(from) ? v.money(from, currency) : v.numeral(from)} ${range} ${said}`;
}

/** A sign as the table has it: us$ is US$. */
const nameOf = (v: Verbalizer, sign: string | undefined): string | undefined =>
  sign === undefined || v.nouns.currency(sign) ? sign : sign.toUpperCase();

/** The rules for sums with the currency first and last. */
export function sumRulesFor(v: Verbalizer): Record<'sum_first' | 'sum_last', Rule> {
  const keys = v.nouns.currencyKeys;
  const signs = sourceOf(keys.filter((key) => !/^[A-Z]{3}$/.test(key)));
  const codes = sourceOf(keys.filter((key) => /^[A-Z]{3}$/.test(key)));
  const magnitudes = `(?:\\s?(${v.nouns.magnitudeSource})${endSource})?`;
  const attributive = new RegExp(`^(?:${v.table.money.attributive ?? '(?!)'})$`, 'iu');
  const first = rule(
    `(?i:(?:(${signs})|(${codes})(?=\\s?\\d))\\s?([-−])?(${numberSource})(?:${dashSource}(?:\\1)?(${numberSource})${sumEndSource})?${magnitudes})`,
    ([written, sign, code, minus, from, to, magnitude], place) => {
      const isOne = attributive.test(wordBefore(place)) && /^[ -]\p{Ll}/u.test(textAfter(place, written.length, 2));
      const said = saySum(v, { from: from!, to, magnitude, currency: nameOf(v, sign) ?? code!, isOne });
      return said && minus ? `${v.table.numbers.minus} ${said}` : said;
    },
  );
  const last = rule(
    `(${numberSource})(?:${dashSource}(${numberSource}))?(?i:${magnitudes})\\s?(${signs}|(?:${codes})${endSource})(?!\\s?\\d)`,
    ([, from, to, magnitude, currency]) => saySum(v, { from: from!, to, magnitude, currency: currency! }),
  );
  return { sum_first: first, sum_last: last };
}
