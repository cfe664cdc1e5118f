// Digits in English that are identifiers rather than amounts: telephone, card and account numbers, codes, IP addresses,
// versions. They are read digit by digit, in the groups in which they are written.

import { charBefore, endSource, type Rule, resultSource, rule, startSource, textAfter, wordBefore } from '../rule.ts';
import { cardinalDigitsMax, sayCardinal, sayDigits, sayHundred, sayMinutes } from './numbers.ts';

/** Each run of digits separately, with pauses between. */
const sayGroups = (written: string): string =>
  (written.match(/\d+/g) ?? [])
    .map((group) => (/^[89]00$/.test(group) ? sayCardinal(group) : sayDigits(group)))
    .join(', ');

const internationalPhone = rule(
  String.raw`${startSource}\+\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){1,6}(?![\d\p{L}])`,
  ([written]) => {
    const digits = written.replace(/\D/g, '').length;
    return digits < 8 || digits > 15 ? undefined : `plus ${sayGroups(written)}`;
  },
);

const nationalPhone = rule(
  String.raw`${startSource}(?:\+?1[-. ])?(?:\(\d{3}\)\s?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\d\p{L}])`,
  ([written]) => sayGroups(written),
);

/** 020 7946 0958 and 0171-555-1234. */
const trunkPhone = rule(String.raw`\(?0\d{2,4}\)?[ -]\d{3,4}[ -]?\d{3,4}(?![\d\p{L}])`, ([written]) =>
  sayGroups(written),
);

const phoneWords = /^(?:call|dial|phone|tel|telephone|fax|ring|text|mobile|cell|number)$/i;

const localPhone = rule(String.raw`([2-9]\d{2})-(\d{4})(?![\d\p{L}]|-\d)`, ([written, exchange], place) =>
  exchange === '555' || phoneWords.test(wordBefore(place)) ? sayGroups(written) : undefined,
);

/** 1-800-FLOWERS: the digits; the word that follows is a word. */
const vanityPhone = rule(String.raw`1-([89]\d{2})-(?=[A-Z])`, ([, area]) => `one, ${sayCardinal(area!)},`);

const card = rule(String.raw`\d{4}(?:[ -]\d{4}){2,4}(?![\d\p{L}])`, ([written]) => sayGroups(written));

const resultPattern = new RegExp(`^${resultSource}`, 'u');

/** 123-45-6789 is read digit by digit; 4-4-2 is three numbers, and 9-4-2=3 is an equation. */
const hyphenated = rule(String.raw`\d{1,6}(?:-\d{1,6}){2,10}(?![\d\p{L}])`, ([written], place) => {
  if (resultPattern.test(textAfter(place, written.length, 5))) return undefined;
  const groups = written.split('-');
  return groups.some((group) => group.length > 2) ? sayGroups(written) : groups.map(sayCardinal).join(' ');
});

/** 192.168.1.1 and 2.0.1. */
const dotted = rule(String.raw`\d{1,6}(?:\.\d{1,6}){2,8}(?!\d)`, ([written]) => {
  const parts = written.split('.');
  if (parts.length < 4 && /^\d{1,3}(?:\.\d{3})+$/.test(written)) return sayCardinal(parts.join(''));
  const address = parts.length === 4 && parts.every((part) => Number(part) < 256);
  return parts
    .map((part) => (part.length > (address ? 2 : 3) ? sayDigits(part) : sayCardinal(part)))
    .join(address ? ' dot ' : ' point ');
});

const codeWords =
  /^(?:pin|zip|code|passcode|password|id|ssn|account|acct|serial|tel|phone|fax|call|dial|extension|ext|isbn|imei|postcode|otp)$/i;

/** Whether a word for a code, or the abbreviation of an American state (DC 20500), comes before. */
const isCode = (before: string, digits: string): boolean =>
  codeWords.test(before) || (digits.length === 5 && /^[A-Z]{2}$/.test(before));

const code = rule(String.raw`(\d{3,9})(?![\d\p{L}%°]|[.,]\d)`, ([, digits], place) =>
  isCode(wordBefore(place), digits!) && !/^[-–]\d/.test(textAfter(place, digits!.length, 2))
    ? sayDigits(digits!)
    : undefined,
);

/** Too long to be an amount, unless round. */
const longDigits = rule(String.raw`\d{10,}`, ([digits]) =>
  digits.length <= cardinalDigitsMax && digits.endsWith('000000') ? undefined : sayDigits(digits),
);

/** Digits after letters: the 380 of A380, the 4090 of RTX4090, the 12345 of AB12345. */
export const modelRule: Rule = rule(String.raw`(\d{1,24})(?!\d|[.,]\d)`, ([, digits], place) => {
  if (!/\p{L}/u.test(charBefore(place))) return undefined;
  if (digits!.startsWith('0') || digits!.length > 4) return sayDigits(digits!);
  return digits!.length === 4 ? sayTwoPairs(digits!) : sayHundred(digits!);
});

/** "4090" as "forty ninety". */
const sayTwoPairs = (digits: string): string =>
  digits.endsWith('00')
    ? sayCardinal(digits)
    : `${sayCardinal(digits.slice(0, 2))} ${sayMinutes(Number(digits.slice(2)))}`;

/** 1080p */
const lines = rule(`(\\d{3,4})([pi])${endSource}`, ([, digits, letter]) => {
  return `${digits!.length === 3 ? sayHundred(digits!) : sayTwoPairs(digits!)} ${letter!.toUpperCase()}`;
});

const planes = /^(?:Boeing|Airbus|Route|Flight|Highway|Interstate|Room|Bus|Area|Porsche|Peugeot|Formula)$/;

const standards = /^(?:ISO|RFC|ANSI|DIN|BS|EN|RTX|GTX|RX|Model|Intel|Ryzen)$/;

const named = rule(String.raw`(\d{3,4})(-\d{1,4})?(?![\d\p{L}%]|[.,]\d)`, ([, digits, model], place) => {
  const before = wordBefore(place);
  const variant = model ? `, ${sayHundred(model.slice(1))}` : '';
  if (digits!.length === 3) return planes.test(before) ? `${sayHundred(digits!)}${variant}` : undefined;
  return standards.test(before) ? `${sayTwoPairs(digits!)}${variant}` : undefined;
});

export const phoneRules: readonly Rule[] = [internationalPhone, nationalPhone, trunkPhone];
export const digitRules: readonly Rule[] = [
  nationalPhone,
  trunkPhone,
  localPhone,
  vanityPhone,
  card,
  dotted,
  code,
  longDigits,
  lines,
  named,
];
/** Tried after dates: 12-25-2024 matches too. */
export const hyphenatedRule: Rule = hyphenated;
