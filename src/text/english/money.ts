// Sums of money in English: $19.99, £5, US$1.2M, 5 €, EUR 20, 50¢. The sign moves behind the sum, cents are named, and
// a magnitude comes before the currency: "one point two million dollars".

import { dashSource, endSource, numberSource, type Rule, rule, textAfter, wordBefore } from '../rule.ts';
import { wordTable } from '../word-table.ts';
import { countNoun, type Noun, sayCardinal, sayNumber, sayRange, toNoun } from './numbers.ts';

interface Currency extends Noun {
  /** The hundredth part. */
  cent: Noun | undefined;
}

/** The name of each currency, its signs and codes, and its hundredth part if sums name it. */
const rows: readonly (readonly [name: string, written: string, cent?: string])[] = [
  ['dollar', '$', 'cent'],
  ['U S dollar', 'US$ USD', 'cent'],
  ['Australian dollar', 'A$ AU$ AUD', 'cent'],
  ['Canadian dollar', 'C$ CA$ CAD', 'cent'],
  ['New Zealand dollar', 'NZ$ NZD', 'cent'],
  ['Hong Kong dollar', 'HK$ HKD', 'cent'],
  ['Singapore dollar', 'S$ SGD', 'cent'],
  ['pound', '£ GBP', 'penny, pence'],
  ['euro', '€ EUR', 'cent'],
  ['rupee', '₹ INR', 'paisa, paise'],
  ['yen, yen', '¥ JPY'],
  ['real, reais', 'R$ BRL'],
  ['ruble', '₽ RUB'],
  ['won, won', '₩ KRW'],
  ['shekel', '₪'],
  ['dong, dong', '₫'],
  ['lira, lira', '₺ TRY'],
  ['hryvnia', '₴'],
  ['naira, naira', '₦'],
  ['peso', '₱'],
  ['baht, baht', '฿'],
  ['bitcoin', '₿ BTC'],
  ['yuan, yuan', 'CNY'],
  ['renminbi, renminbi', 'RMB'],
  ['Swiss franc', 'CHF'],
  ['Swedish krona, Swedish kronor', 'SEK'],
  ['Norwegian krone, Norwegian kroner', 'NOK'],
  ['Danish krone, Danish kroner', 'DKK'],
  ['zloty', 'PLN'],
  ['rand, rand', 'ZAR'],
  ['Mexican peso', 'MXN'],
];

const currencies: ReadonlyMap<string, Currency> = new Map(
  rows.flatMap(([name, written, cent]) => {
    const currency = { ...toNoun(name), cent: cent === undefined ? undefined : toNoun(cent) };
    return written.split(' ').map((key) => [key, currency] as const);
  }),
);

export const magnitudes = wordTable(`
  k thousand; m million; mm million; mn million; b billion; bn billion; t trillion; tn trillion
`);

/** Alternatives for the signs or for the codes, longest first. */
const sourceOf = (isCode: boolean): string =>
  [...currencies.keys()]
    .filter((key) => /^[A-Z]{3}$/.test(key) === isCode)
    .sort((a, b) => b.length - a.length)
    .map((key) => key.replace('$', String.raw`\$`))
    .join('|');

const signSource = sourceOf(false);
const codeSource = sourceOf(true);
const magnitudeSource = `(?:\\s?(thousand|million|billion|trillion|[kmbt]|mn|mm|bn|tn)${endSource})?`;

/** The upper end of a range of money is not a percentage or the like. */
const sumEndSource = String.raw`(?!\d|[.,]\d|\s?[%‰°])`;

function sayAmount(amount: string, currency: Currency): string {
  const [whole = '', fraction = ''] = amount.replace(/[, ]/g, '').split('.');
  const name = Number(whole) === 1 ? currency.one : currency.many;
  if (!currency.cent || fraction.length !== 2) {
    return Number(fraction) === 0 ? `${sayNumber(whole)} ${name}` : `${sayNumber(amount)} ${currency.many}`;
  }
  const sum = `${sayCardinal(whole || '0')} ${name}`;
  if (Number(fraction) === 0) return sum;
  const cents = countNoun(`${Number(fraction)}`, currency.cent);
  return Number(whole) > 0 ? `${sum} and ${cents}` : cents;
}

function saySum(from: string, to: string | undefined, magnitude: string | undefined, currency: Currency): string {
  const scale = magnitude && (magnitudes.get(magnitude.toLowerCase()) ?? magnitude.toLowerCase());
  if (scale) return `${sayRange(from, to)} ${scale} ${currency.many}`;
  return to === undefined ? sayAmount(from, currency) : `${sayNumber(from)} to ${sayAmount(to, currency)}`;
}

/** The sign or code first. */
export const signedMoneyRule: Rule = rule(
  `(?i:(?:(${signSource})|(${codeSource})(?=\\s?\\d))\\s?([-−])?(${numberSource})(?:${dashSource}(?:\\1)?(${numberSource})${sumEndSource})?${magnitudeSource})`,
  ([written, sign, code, minus, from, to, magnitude], place) => {
    const currency = currencies.get(sign?.toUpperCase() ?? code!);
    if (!currency) return undefined;
    // A $5 bill is a five dollar bill.
    const noun = /^an?$/i.test(wordBefore(place)) && /^[ -]\p{Ll}/u.test(textAfter(place, written.length, 2));
    const named = noun ? { ...currency, many: currency.one } : currency;
    return `${minus ? 'minus ' : ''}${saySum(from!, to, magnitude, named)}`;
  },
);

/** The sum first. */
const moneyRule: Rule = rule(
  `(${numberSource})(?:${dashSource}(${numberSource}))?${magnitudeSource}\\s?(${signSource}|(?:${codeSource})${endSource})(?!\\s?\\d)`,
  ([, from, to, magnitude, sign]) => saySum(from!, to, magnitude, currencies.get(sign!)!),
);

const coinRule: Rule = rule(`(${numberSource})\\s?(?:(¢)|(p)${endSource})`, ([, amount, cent]) =>
  countNoun(amount!, toNoun(cent ? 'cent' : 'penny, pence')),
);

export const moneyRules: readonly Rule[] = [moneyRule, coinRule];

/** A sign with no sum: its name. */
export const currencyName = (sign: string): string | undefined => currencies.get(sign)?.many;
