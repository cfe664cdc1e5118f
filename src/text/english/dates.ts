// English dates and times: 2024-12-25, 12/25/2024, 25 December, Dec 25th, 1990s, 3:45pm, 14:05. Neighbouring words decide
// what a number means. Each word of a date stays a separate token, so that it has a time of its own in captions.

import {
  endSource,
  type Place,
  type Rule,
  rule,
  startSource,
  textAfter,
  textBefore,
  wordAfter,
  wordBefore,
} from '../rule.ts';
import { wordTable } from '../word-table.ts';
import { sayCardinal, sayDigits, sayMinutes, sayOrdinal, sayYear, toPlural } from './numbers.ts';

const months = 'January February March April May June July August September October November December'.split(' ');
const days = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');

/** Names by their abbreviations in lower case; "may" is a verb. */
const monthNames: ReadonlyMap<string, string> = new Map([
  ...months.filter((name) => name !== 'May').map((name) => [name.slice(0, 3).toLowerCase(), name] as const),
  ['sept', 'September'],
]);
const dayNames: ReadonlyMap<string, string> = new Map([
  ...days.map((name) => [name.slice(0, 3).toLowerCase(), name] as const),
  ...wordTable('tues Tuesday; thur Thursday; thurs Thursday'),
]);

const isMonth = (word: string): boolean =>
  months.includes(word) || monthNames.has(word.toLowerCase().replace('.', '')) || word === 'MAY';

const isDay = (day: number): boolean => day >= 1 && day <= 31;

function sayDate(day: number, month: number, year: string | undefined, dayFirst: boolean): string | undefined {
  if (!isDay(day) || month < 1 || month > 12) return undefined;
  const name = months[month - 1]!;
  const date = dayFirst ? `the ${sayOrdinal(day)} of ${name}` : `${name} ${sayOrdinal(day)}`;
  return year === undefined ? date : `${date}, ${year.length === 2 ? sayShortYear(year) : sayYear(year)}`;
}

const sayShortYear = (digits: string): string => sayYear(`${Number(digits) < 50 ? 20 : 19}${digits}`);

function sayTime(hour: number, minute: number, half?: string): string {
  const after = half ? ` ${half.toUpperCase()} M` : '';
  if (minute > 0) return `${sayCardinal(hour)} ${sayMinutes(minute)}${after}`;
  if (after) return `${sayCardinal(hour)}${after}`;
  if (hour === 0) return 'midnight';
  return `${sayCardinal(hour)} ${hour > 12 ? 'hundred' : "o'clock"}`;
}

const saySeconds = (second: string): string => ` and ${sayCardinal(second)} seconds`;

const isoDate = rule(
  String.raw`(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[-+]\d{2}:?\d{2})?)?(?![\d/])`,
  ([, year, , month, day, hour, minute, second, zone], { dayFirst }) => {
    const date = sayDate(Number(day), Number(month), year, dayFirst);
    if (date === undefined || hour === undefined) return date;
    const seconds = Number(second) > 0 ? saySeconds(second!) : '';
    return `${date}, ${sayTime(Number(hour), Number(minute))}${seconds}${sayZone(zone)}`;
  },
);

function sayZone(zone: string | undefined): string {
  if (zone === undefined) return '';
  const hours = Number(zone.slice(1, 3));
  return ` U T C${zone === 'Z' || hours === 0 ? '' : ` ${zone[0] === '-' ? 'minus' : 'plus'} ${sayCardinal(hours)}`}`;
}

const numericDate = rule(
  String.raw`(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?![\d/]|\.\d)`,
  ([, first, sign, second, year], { dayFirst }) => {
    if (sign !== '/' && year!.length === 2) return undefined;
    const [one, two] = [Number(first), Number(second)];
    const dayComes = dayFirst || sign === '.' ? two <= 12 : one > 12;
    return dayComes ? sayDate(one, two, year, dayFirst) : sayDate(two, one, year, dayFirst);
  },
);

/** 12/25 is a date where it cannot be a fraction. */
const shortDate = rule(String.raw`(\d{1,2})/(\d{1,2})(?![\d/\p{L}])`, ([, first, second], { dayFirst }) => {
  const [month, day] = dayFirst ? [Number(second), Number(first)] : [Number(first), Number(second)];
  if (Number(first) >= 10 && Number(first) > Number(second)) return sayDate(day, month, undefined, dayFirst);
  const fraction = [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24].includes(Number(second)) || first === '9' || first === '24';
  return fraction || day <= 12 ? undefined : sayDate(day, month, undefined, dayFirst);
});

/** The days in "5-7 May". */
const daysBeforeMonth = rule(
  String.raw`(\d{1,2})(?:st|nd|rd|th)?\s?[-–]\s?(\d{1,2})(?:st|nd|rd|th)?(?= ([A-Z][a-z]{2,8})\b)`,
  ([, first, last, month]) =>
    isDay(Number(first)) && isDay(Number(last)) && isMonth(month!)
      ? `the ${sayOrdinal(first!)} to the ${sayOrdinal(last!)} of`
      : undefined,
);

/** The day in "25 December": "the twenty fifth of". */
const dayBeforeMonth = rule(
  String.raw`(\d{1,2})(st|nd|rd|th)?(?= (?:of )?([A-Z][a-z]{2,8})\b)`,
  ([, day, suffix, month], place) => {
    if (!isDay(Number(day)) || !isMonth(month!) || (month === 'May' && !mayIsMonth(place))) return undefined;
    const ordinal = sayOrdinal(day!);
    if (suffix !== undefined && place.text.startsWith(' of ', place.at + day!.length + 2)) return ordinal;
    return `${/^the$/i.test(wordBefore(place)) ? '' : 'the '}${ordinal} of`;
  },
);

/** "Chapter 5 May I read" but "on 5 May I read". */
const mayIsMonth = (place: Place): boolean =>
  /^(?:on|the|by|from|since|until|till|before|after|of)$/i.test(wordBefore(place)) ||
  !/^\d{1,2} May (?:I|we|you|he|she|they|it)\b/.test(textAfter(place, 0, 16));

/** The day in "December 25" and in "Dec. 25-27". */
const dayAfterMonth = rule(
  String.raw`(\d{1,2})(?:\s?[-–]\s?(\d{1,2}))?(?![\d:%\p{L}/]|[.,]\d|[-–]\d| ?(?:%|percent|million|people))`,
  ([, first, last], place) => {
    if (!isDay(Number(first)) || (last !== undefined && !isDay(Number(last)))) return undefined;
    if (!isMonth(wordBefore(place)) || !/[\p{L}.] $/u.test(textBefore(place, 2))) return undefined;
    return last === undefined ? sayOrdinal(first!) : `${sayOrdinal(first!)} to ${sayOrdinal(last)}`;
  },
);

const clock = rule(
  String.raw`(?i:(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,3})?)?(?:\s?(?:([ap])\.m\.|([ap])\.?m${endSource}|(hrs|hours)${endSource}))?(?![\d:]|[.,]\d))`,
  ([, hour, minute, second, dotted, plain, hours], place) => {
    if (Number(hour) > 24 || isRatio(place, 5)) return undefined;
    const seconds = second === undefined ? '' : saySeconds(second);
    return `${sayTime(Number(hour), Number(minute), dotted ?? plain)}${seconds}${hours ? ' hours' : ''}`;
  },
);

const isRatio = (place: Place, length: number): boolean =>
  /^(?:ratio|aspect|odds|scale)$/i.test(wordBefore(place)) ||
  /^(?:ratio|aspect|odds|scale)/i.test(wordAfter(place.text, place.at + length));

const hourOfHalf = rule(
  String.raw`(?i:(\d{1,2})(?:\.([0-5]\d))?\s?(?:([ap])\.m\.|([ap])m${endSource}))`,
  ([, hour, minute, dotted, plain]) => {
    if (Number(hour) > 12) return undefined;
    return sayTime(Number(hour), Number(minute ?? 0), dotted ?? plain);
  },
);

const decade = rule(`(\\d{4}|\\d0)'?s${endSource}`, ([, digits], place) => {
  if (!digits!.endsWith('0')) return undefined;
  if (digits!.length === 2) {
    const before = wordBefore(place).toLowerCase();
    const age = /^(?:the|his|her|their|my|our|your|its|early|mid|late|in|and|to|of)$/.test(before);
    return age || /^[ -]+style/.test(textAfter(place, 3, 7)) ? toPlural(sayCardinal(digits!)) : undefined;
  }
  return toPlural(sayYear(digits!));
});

/** '90s and '99. */
export const shortYearRule = rule(`${startSource}'(\\d\\d)(s?)${endSource}`, ([, digits, plural]) => {
  if (plural) return digits!.endsWith('0') ? toPlural(sayCardinal(digits!)) : undefined;
  return digits!.startsWith('0') ? sayMinutes(Number(digits)) : sayCardinal(digits!);
});

const yearWords =
  /^(?:in|since|by|from|until|till|of|circa|ca|c|year|between|during|after|before|early|mid|late|spring|summer|fall|autumn|winter|christmas|copyright|and|to|the|this|last|next|for|january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)$/i;

/** Four digits are a year, unless they count something. */
export const yearRule = rule(String.raw`([12]\d{3})(?![\d\p{L}%°$€£]|[.,:]\d|\s?[%°€])`, ([, digits], place) => {
  const after = wordAfter(place.text, place.at + 4);
  if (/^(?:hours|hrs)$/.test(after)) return sayYear(digits!);
  if (/^(?:thousand|million|billion|trillion|dollars|euros|pounds|percent)$/i.test(after)) return undefined;
  const counted = /^(?:people|men|women|children|percent|\p{Ll}{3,}(?<!s|u|i)s)$/u.test(after);
  if (counted && !yearWords.test(wordBefore(place))) return undefined;
  const earliest = yearWords.test(wordBefore(place)) ? 1010 : 1100;
  return Number(digits) >= earliest && Number(digits) < 2100 ? sayYear(digits!) : undefined;
});

const era = rule(
  `(\\d{1,4}) ?(AD|BC|CE|BCE)${endSource}`,
  ([, digits, letters]) =>
    `${digits!.length === 4 ? sayYear(digits!) : sayCardinal(digits!)} ${[...letters!].join(' ')}`,
);

const military = rule(`0(\\d)([0-5]\\d)(?= (?:hours|hrs)\\b)`, ([, hour, minute]) => {
  const rest = Number(minute) === 0 ? 'hundred' : sayMinutes(Number(minute));
  return `${sayDigits(`0${hour}`)} ${rest}`;
});

export const dateRules: readonly Rule[] = [
  isoDate,
  numericDate,
  shortDate,
  clock,
  hourOfHalf,
  era,
  military,
  daysBeforeMonth,
  dayBeforeMonth,
  dayAfterMonth,
  decade,
];

/** Jan., Mon. and so on; without the stop only beside a number or in a range. */
export const calendarNameRule = rule(
  String.raw`([A-Z][a-z]{2,4})(\.?)(?![\p{L}\d])(?:([-–])([A-Z][a-z]{2,4})\.?(?![\p{L}\d]))?`,
  ([written, name, stop, dash, last], place) => {
    const known = calendarName(name!);
    if (known === undefined) return undefined;
    if (dash !== undefined) {
      const end = calendarName(last!);
      return end === undefined ? undefined : `${known} to ${end}`;
    }
    const after = textAfter(place, written.length, 12);
    const beside = /^,? ?\d/.test(after) || /^,? [A-Z][a-z]{2,8}\.? \d/.test(after) || /^'\d/.test(after);
    return stop || beside || /^\d{1,2}(?:st|nd|rd|th)?$/.test(wordBefore(place)) ? known : undefined;
  },
);

/** Whether it is the name of a month or a weekday, in full or abbreviated. */
export const isCalendarName = (word: string): boolean =>
  months.includes(word) ||
  days.includes(word) ||
  (/^[A-Z]/.test(word) && calendarName(word.replace('.', '')) !== undefined);

const calendarName = (word: string): string | undefined =>
  monthNames.get(word.toLowerCase()) ?? dayNames.get(word.toLowerCase());
