// Sums of money in English: $19.99, £5, US$1.2M, 5 €, EUR 20, 50¢. The sign moves behind the sum, cents are named, and
// a magnitude comes before the currency: "one point two million dollars".

import { dashSource, endSource, numberSource, type Rule, rule, sticky, wordBefore } from '../rule.ts';
import { sayCardinal, sayNumber } from './numbers.ts';

interface Currency {
  one: string;
  many: string;
  /** The hundredth part. */
  cent?: readonly [one: string, many: string];
}

const cents = ['cent', 'cents'] as const;
const dollars = (before: string): Currency => ({
  one: `${before}dollar`,
  many: `${before}dollars`,
  cent: cents,
});
const pound: Currency = { one: 'pound', many: 'pounds', cent: ['penny', 'pence'] };
const euro: Currency = { one: 'euro', many: 'euros', cent: cents };
const yen: Currency = { one: 'yen', many: 'yen' };
const rupee: Currency = { one: 'rupee', many: 'rupees', cent: ['paisa', 'paise'] };

const signs: Readonly<Record<string, Currency>> = {
  $: dollars(''),
  US$: dollars('U S '),
  A$: dollars('Australian '),
  AU$: dollars('Australian '),
  C$: dollars('Canadian '),
  CA$: dollars('Canadian '),
  NZ$: dollars('New Zealand '),
  HK$: dollars('Hong Kong '),
  S$: dollars('Singapore '),
  R$: { one: 'real', many: 'reais' },
  '£': pound,
  '€': euro,
  '¥': yen,
  '₹': rupee,
  '₽': { one: 'ruble', many: 'rubles' },
  '₩': { one: 'won', many: 'won' },
  '₪': { one: 'shekel', many: 'shekels' },
  '₫': { one: 'dong', many: 'dong' },
  '₺': { one: 'lira', many: 'lira' },
  '₴': { one: 'hryvnia', many: 'hryvnias' },
  '₦': { one: 'naira', many: 'naira' },
  '₱': { one: 'peso', many: 'pesos' },
  '฿': { one: 'baht', many: 'baht' },
  '₿': { one: 'bitcoin', many: 'bitcoins' },
};

const codes: Readonly<Record<string, Currency>> = {
  USD: dollars('U S '),
  AUD: dollars('Australian '),
  CAD: dollars('Canadian '),
  NZD: dollars('New Zealand '),
  HKD: dollars('Hong Kong '),
  SGD: dollars('Singapore '),
  EUR: euro,
  GBP: pound,
  JPY: yen,
  CNY: { one: 'yuan', many: 'yuan' },
  RMB: { one: 'renminbi', many: 'renminbi' },
  INR: rupee,
  CHF: { one: 'Swiss franc', many: 'Swiss francs' },
  SEK: { one: 'Swedish krona', many: 'Swedish kronor' },
  NOK: { one: 'Norwegian krone', many: 'Norwegian kroner' },
  DKK: { one: 'Danish krone', many: 'Danish kroner' },
  PLN: { one: 'zloty', many: 'zlotys' },
  BRL: { one: 'real', many: 'reais' },
  RUB: { one: 'ruble', many: 'rubles' },
  KRW: { one: 'won', many: 'won' },
  TRY: { one: 'lira', many: 'lira' },
  ZAR: { one: 'rand', many: 'rand' },
  MXN: { one: 'Mexican peso', many: 'Mexican pesos' },
  BTC: { one: 'bitcoin', many: 'bitcoins' },
};

export const magnitudes: Readonly<Record<string, string>> = {
  k: 'thousand',
  m: 'million',
  mm: 'million',
  mn: 'million',
  b: 'billion',
  bn: 'billion',
  t: 'trillion',
  tn: 'trillion',
};

const alternatives = (keys: readonly string[]): string =>
  [...keys]
    .sort((a, b) => b.length - a.length)
    .map((key) => key.replace('$', String.raw`\$`))
    .join('|');

const signSource = alternatives(Object.keys(signs));
const codeSource = alternatives(Object.keys(codes));
const magnitudeSource = `(?:\\s?(thousand|million|billion|trillion|[kmbt]|mn|mm|bn|tn)${endSource})?`;

/** The upper end of a range of money is not a percentage or the like. */
const sumEndSource = String.raw`(?!\d|[.,]\d|\s?[%‰°])`;

const currencyOf = (written: string): Currency => signs[written.toUpperCase()] ?? codes[written]!;

function sayAmount(amount: string, currency: Currency): string {
  const [whole = '', fraction = ''] = amount.replace(/[, ]/g, '').split('.');
  if (!currency.cent || fraction.length !== 2) {
    const exact = fraction === '' || /^0+$/.test(fraction);
    return `${sayNumber(exact ? whole : amount)} ${exact && Number(whole) === 1 ? currency.one : currency.many}`;
  }
  const parts: string[] = [];
  if (Number(whole) > 0 || Number(fraction) === 0) {
    parts.push(`${sayCardinal(whole || '0')} ${Number(whole) === 1 ? currency.one : currency.many}`);
  }
  if (Number(fraction) > 0) parts.push(`${sayCardinal(fraction)} ${currency.cent[Number(fraction) === 1 ? 0 : 1]}`);
  return parts.join(' and ');
}

function saySum(from: string, to: string | undefined, magnitude: string | undefined, currency: Currency): string {
  const scale = magnitude && (magnitudes[magnitude.toLowerCase()] ?? magnitude.toLowerCase());
  const range = to === undefined ? '' : `${sayNumber(from)} to `;
  const last = to ?? from;
  if (scale) return `${range}${sayNumber(last)} ${scale} ${currency.many}`;
  return to === undefined ? sayAmount(last, currency) : `${range}${sayAmount(last, currency)}`;
}

/** The sign or code first. */
export const signedMoneyRule: Rule = rule(
  sticky(
    `(?:(${signSource})|(${codeSource})(?=\\s?\\d))\\s?([-−])?(${numberSource})(?:${dashSource}(?:\\1)?(${numberSource})${sumEndSource})?${magnitudeSource}`,
    'i',
  ),
  ([written, sign, code, minus, from, to, magnitude], place) => {
    const currency = currencyOf(sign ?? code!);
    if (!currency) return undefined;
    // A $5 bill is a five dollar bill.
    const noun = /^an?$/i.test(wordBefore(place)) && /^[ -]\p{Ll}/u.test(place.text.slice(place.at + written.length));
    const named = noun ? { ...currency, many: currency.one } : currency;
    return `${minus ? 'minus ' : ''}${saySum(from!, to, magnitude, named)}`;
  },
);

/** The sum first. */
const moneyRule: Rule = rule(
  sticky(
    `(${numberSource})(?:${dashSource}(${numberSource}))?${magnitudeSource}\\s?(${signSource}|(?:${codeSource})${endSource})(?!\\s?\\d)`,
  ),
  ([, from, to, magnitude, sign]) => saySum(from!, to, magnitude, currencyOf(sign!)),
);

const coinRule: Rule = rule(
  sticky(`(${numberSource})\\s?(?:(¢)|(p)${endSource})`),
  ([, amount, cent]) =>
    `${sayNumber(amount!)} ${cent ? (amount === '1' ? 'cent' : 'cents') : amount === '1' ? 'penny' : 'pence'}`,
);

export const moneyRules: readonly Rule[] = [moneyRule, coinRule];

/** A sign with no sum: its name. */
export const currencyName = (sign: string): string | undefined => (sign === '¢' ? 'cents' : signs[sign]?.many);
