// Rules for text that begins with a digit: dates, times, telephone numbers, sums of money, measures, ordinals,
// fractions and other numbers. The rules for English are in english/rules.toml instead.
import type { Noun } from './nouns.ts';
import { contextRule } from './number-contexts.ts';
import {
  endSource,
  type Place,
  type Rule,
  rule,
  ruleAt,
  startingWith,
  startSource,
  textAfter,
  textBefore,
  wordBefore,
} from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';

const groupedSource = String.raw`[1-9]\d{0,2}(?:(?:\.\d{3}){1,6}|(?:[ ']\d{3}){1,6})(?!\d|[ .']\d)`;
const englishSource = String.raw`\d{1,3}(?:(?:,\d{3}){2,6}(?!\d)(?:\.\d{1,20})?|(?:,\d{3}){1,6}\.\d{1,20})(?![.,]?\d)`;
/** A written number: 1.234,50 or 1 234,50 or 3,14 or 3.14. */
const amountSource = String.raw`(?:${englishSource}|(?:${groupedSource}|\d{1,24})(?:,\d{1,20}(?![,.]?\d)|\.\d{1,20}(?!\.?\d))?)`;

/** Rule for iOS 17.5 and v2.10. The table has further words before numbers whose parts are separated by points. */
function versionRule(v: Verbalizer): Rule {
  const { numbers, patterns } = v.table;
  const start = String.raw`(?<![\p{L}\d])(?:${patterns.product}[ -](?:[≥≤<>]=? ?)?|v\.? ?|§ ?|(?:${numbers.versions ?? '(?!)'}) )`;
  const isBefore = new RegExp(`${start}$`, 'iu');
  // A version follows in the same sentence: from v2.9.1 to 2.10.
  const isAfter = new RegExp(String.raw`${start}(?!\d\d\.\d\d\.)(?:\d+(?:\.\d{1,6}){1,6}[^\d.!?]{1,24}){1,3}$`, 'iu');
  const isOther = new RegExp(
    String.raw`^(?:\.(?: ?[\p{Ll}\d])| ?(?:${v.table.time.suffix ?? '(?!)'}|${v.nouns.unitSource})(?!['\p{L}]))`,
    'u',
  );
  return rule(
    String.raw`(?!\d\d?\.\d\d?\.(?:(?:19|20)\d\d|(?<=v\. [\d.]{4,6})\d\d)(?!\d))(\d{1,6}(?:\.\d{1,6}){1,6})(?![\d%€$]|,\d| [%€$])`,
    ([, written], place) =>
      (isBefore.test(textBefore(place, 24)) || isAfter.test(textBefore(place, 80))) &&
      !isOther.test(textAfter(place, written!.length, 12))
        ? sayParts(v, written!)
        : undefined,
  );
}

/** Says the parts of 3.14.2, with "point" between them. */
function sayParts(v: Verbalizer, written: string): string {
  const point = v.signs.get('.') ?? v.table.numbers.point;
  return written
    .split('.')
    .map((part) => v.numeral(part))
    .join(` ${point} `);
}

function dateRules(v: Verbalizer): Rule[] {
  const headOf = (place: Place) => textBefore(place, 40);
  const iso = rule(String.raw`(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2}))?Z?)?(?![\d-])`, (match, place) => {
    const [, y, m, d, hour, minute] = match;
    const date = v.date(Number(d), Number(m), y, headOf(place));
    const time = hour === undefined ? undefined : v.time(Number(hour), Number(minute));
    return date === undefined || time === undefined ? date : `${date}, ${time}`;
  });
  const numeric = rule(
    String.raw`(\d{1,2})([./-])(\d{1,2})(?:\2|(?<=\/\d{1,2}) (?=[12]\d{3}))(\d{4}|\d{2})(?![\d/-]|\.\d)`,
    ([, d, , m, y], place) => v.date(Number(d), Number(m), y, headOf(place)),
  );
  /** A date without a year, such as "3.5.", or "3.05" after certain words. */
  const isTime = timeBefore(v);
  const short = rule(
    String.raw`(?=\d{1,2}\.\d)(?:(\d{1,2})\.(\d{1,2})\.(?!\d)|(?<=${v.table.date.bare ?? '(?!)'})(\d{1,2})\.(0[1-9]|1[0-2])(?![\d:]|[.,]\d))`,
    ([, d, m, day, month], place) =>
      day === undefined && Number(d) < 25 && isTime.test(textBefore(place, 24))
        ? undefined
        : v.date(Number(day ?? d), Number(month ?? m), undefined, headOf(place)),
  );
  const months = v.table.date.months;
  const day = rule(
    String.raw`([0-3]?\d)(?:\.|er|º|°|ª|:[ae]|e|ste|de)?(?= ${v.table.date.link}(?:${months})(?!\p{L}))`,
    ([, d], place) => (Number(d) < 1 || Number(d) > 31 ? undefined : v.number(d!, v.dayForm(headOf(place)))),
  );
  const afterMonth = new RegExp(String.raw`(?:^|[^\p{L}])(?:${months})\.?,? (?:de )?$`, 'iu');
  const year = rule(String.raw`(\d{4})(?![\d:]|[.,/-]\d)`, ([, y], place) =>
    afterMonth.test(textBefore(place, 24)) ? v.dateYear(y!) : undefined,
  );
  return [startingWith(/-/, iso), startingWith(/[./-]/, numeric), startingWith(/\./, short), day, year];
}

/** Rule for dates such as 31/12, which is no fraction, and 1/5 after a word such as "on". */
function slashedDateRule(v: Verbalizer): Rule {
  const { before = '(?!)', days = '(?!)' } = v.table.date;
  const isBefore = new RegExp(`(?<!\\p{L})(?:${before}|(?:${days})\\.?) $`, 'iu');
  return rule(String.raw`(?!16\/9|24\/7)([0-3]?\d)\/([01]?\d)(?![\d/%]|[.,]\d)`, ([written, d, m], place) =>
    Number(d) > 12 || (isBefore.test(textBefore(place, 16)) && !/^(?:1\/[2-4]|2\/3|3\/4)$/.test(written))
      ? v.date(Number(d), Number(m), undefined, wordBefore(place))
      : undefined,
  );
}

/** Pattern of the text before a time such as 14.30. */
const timeBefore = (v: Verbalizer): RegExp =>
  new RegExp(`(?:^|[^\\p{L}])(?:${v.table.time.before ?? '(?!)'}) ?$`, 'iu');

function timeRules(v: Verbalizer): Rule[] {
  const { suffix = '(?!)', letter } = v.table.time;
  const isBefore = timeBefore(v);
  const after = `(?: ?(?:${suffix})${endSource})`;
  const say = (hour: string, minute: string, second: string | undefined, word: string) =>
    v.time(Number(hour), Number(minute), second === undefined ? undefined : Number(second), word);
  const colon = rule(
    String.raw`([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?(?![\d:]|,\d)${after}?`,
    ([, hour, minute, second], place) => say(hour!, minute!, second, wordBefore(place)),
  );
  const clock = String.raw`(?:[01]?\d|2[0-4])[.:][0-5]\d`;
  const isInRange = new RegExp(String.raw`(?<![\d.,])${clock} ?[-–] ?$`);
  const links = `${v.table.numbers.range}|${v.signs.get('&')}`;
  const goesOn = new RegExp(
    String.raw`^(?: (?:${links}) ${clock}${after}| ?[-–] ?${clock}(?![\d%€$£]|[.,]\d| ?[%€$£]| (?!h(?!\p{L}))(?:${v.nouns.unitSource})(?!\p{L})))`,
    'u',
  );
  const isMeasured = new RegExp(`^ ?(?:[%°]|(?:${v.nouns.unitSource}|${v.nouns.signSource})(?!\\p{L}))`, 'u');
  const point = rule(
    String.raw`([01]?\d|2[0-4])\.([0-5]\d)(?!\d|[.,]\d)(${after})?`,
    ([written, hour, minute, end], place) =>
      end !== undefined ||
      ((/^0\d/.test(hour!) || isBefore.test(textBefore(place, 24))) &&
        !isMeasured.test(textAfter(place, written.length, 12))) ||
      goesOn.test(textAfter(place, written.length, 24)) ||
      isInRange.test(textBefore(place, 10))
        ? say(hour!, minute!, undefined, wordBefore(place))
        : undefined,
  );
  const lettered = rule(
    String.raw`([01]?\d|2[0-4]) ?[hH] ?([0-5]\d)(?! ?(?:m|min|s)(?!\p{L})|['′]|[\d\p{L}])`,
    ([, hour, minute], place) => say(hour!, minute!, undefined, wordBefore(place)),
  );
  const units = ['h', 'min', 's'].map((symbol) => v.nouns.unit(symbol)!);
  // 1 h 30 min, 2h05min30s, 1h02'15" and 38'24"; 40° 25' 30" is no duration.
  const long = rule(
    String.raw`(?<!° ?)(?:(\d{1,3}) ?h ?)?(?:([0-5]?\d) ?(?:m(?:in)?|['′]))?(?: ?([0-5]?\d) ?(?:s|["″]))?(?![\d\p{L}])`,
    ([, ...counts], place) => {
      const inCase = v.agreement.caseAt(place, counts.find((amount) => amount !== undefined)!);
      const said = counts.flatMap((amount, i) => (amount ? v.count(`${Number(amount)}`, units[i]!, inCase) : []));
      if (said.length > 2) said.splice(2, 0, v.signs.get('&')!);
      return said.length > 1 ? said.join(' ') : undefined;
    },
  );
  const rules = [startingWith(/[ hm'′]/, long), startingWith(/:/, colon), startingWith(/\./, point)];
  return letter ? rules.toSpliced(1, 0, startingWith(/[ hH]/, lettered)) : rules;
}

/** What is counted, after a magnitude: "dos millones de euros". One without a plural, such as "mil", has no "de". */
const afterMagnitude = (v: Verbalizer, magnitude: Noun, name: string): string =>
  `${magnitude.names.length > 1 ? v.of(name) : ' '}${name}`;

/** The rules for sums with the currency first, and for sums with the currency last. */
export function moneyRulesFor(v: Verbalizer): Record<'first' | 'last', Rule> {
  const { signSource, codeSource, magnitudeSource } = v.nouns;
  const currency = `(${signSource}|${codeSource})`;
  const scale = magnitudeSource === '' ? '' : `(?: ?(${magnitudeSource})${endSource}(?!\\.\\p{Lu}))?`;
  const say = (amount: string, magnitude: string | undefined, written: string, place?: Place) => {
    const inCase = place && v.agreement.caseAt(place, amount);
    const noun = magnitude === undefined ? undefined : v.nouns.magnitude(magnitude);
    const names = v.nouns.currency(written);
    if (!names) return undefined;
    if (!noun) return v.money(amount, written, false, inCase);
    const name = v.nouns.nameFor(names.noun, '1000000');
    return v.count(amount, noun, inCase) + afterMagnitude(v, noun, name);
  };
  const last = rule(
    String.raw`(${amountSource})(?:,[-–—]{1,2})?${scale}(?: ?|-(?=[€$£]-\p{L}))${currency}(?: (${codeSource}))?(?![\p{L}\d]|(?<=[$€£]) ?\d)`,
    ([, amount, magnitude, written, exact], place) => say(amount!, magnitude, exact ?? written!, place),
  );
  const first = rule(
    `${startSource}${currency} ?(-?${amountSource})(?:,[-–—]{1,2})?${scale}(?: ?${currency}(?![\\p{L}\\d]| ?\\d))?`,
    ([, written, amount, magnitude, exact]) => say(amount!, magnitude, exact ?? written!),
  );
  return { first: startingWith(v.nouns.currencyFirst, first), last };
}

function measureRules(v: Verbalizer): Rule[] {
  const { unitSource, magnitudeSource } = v.nouns;
  const isCurrent = new RegExp(v.table.units.marks?.current ?? '(?!)', 'iu');
  // The full stop of a unit is read if a sentence ends there. A 2-TB disk has a hyphen.
  const source = String.raw`(${amountSource})(?: ?|-(?=(?:${unitSource})-\p{L}))(${unitSource})(?!'?[\p{L}\d²³]|\.\p{L}\.)(?:\.(?![\p{L}\d.]))?`;
  const measure = rule(source, (match, place) => {
    const [written, amount, symbol] = match;
    // The sign of an inch, and not the end of a quotation.
    if (symbol === '"' && (written.includes(' ') || /(?:^|[ (])"[^"]*$/.test(textBefore(place, 200)))) return undefined;
    // A name such as 5A may belong to a flat, a class or a fuse.
    const isName =
      /^\d{1,3}A\.?$/.test(written) && !isCurrent.test(textBefore(place, 24) + textAfter(place, written.length, 24));
    const goesOn = place.text[place.at + written.length] === '/';
    return isName ? undefined : v.measure(amount!, symbol!, goesOn, v.agreement.caseAt(place, amount!));
  });
  /** 5 Mio. km; a unit of one letter may be a word: 3 mln w 2020 */
  const scaled = rule(
    magnitudeSource === ''
      ? '(?!)'
      : String.raw`(${amountSource}) ?(${magnitudeSource})(?![\p{L}\d])(?: (t\.?(?= |$)|(?=\p{L}{2}|m[²³])(?:${unitSource}))(?!'?[\p{L}\d²³]))?`,
    ([, amount, scale, symbol], place) => {
      const noun = v.nouns.magnitude(scale!)!;
      const said = v.count(amount!, noun, v.agreement.caseAt(place, amount!));
      const unit = symbol === undefined ? undefined : (v.nouns.unit(symbol) ?? v.nouns.unit(symbol.replace('.', '')));
      const name = unit && v.nouns.nameFor(unit, '1000000');
      return name === undefined ? said : said + afterMagnitude(v, noun, name);
    },
  );
  const name = rule(String.raw`(?<=\p{L}-?|\p{Ll}\p{Lu}\p{L}{1,12} )(\d{1,6})'?s${endSource}`, ([, digits]) =>
    v.number(digits!),
  );
  return [startingWith(/['s]/, name), startingWith(/[ .,x×]/, productRule(v)), measure, scaled];
}

/** Rule for 60 x 90 cm, 4x4 and 10x. */
function productRule(v: Verbalizer): Rule {
  const { times = '', by } = v.table.numbers;
  const noun = v.nouns.toNoun(times);
  const word = v.nouns.nameFor(noun, '5');
  const cross = v.signs.get('×')!;
  const isLength = new RegExp(
    String.raw`^(?:[\d.,]{1,8} ?[x×] ?){0,2}[\d.,]{1,8} ?(?:${v.nouns.unitSource})(?!\p{L})`,
    'u',
  );
  return rule(
    String.raw`([\d.,]{0,8}\d)( ?)[x×](?: ?(?=\d)|(?![\p{L}\d²³^]| ?[+=−≤≥<>]| - ?\d)(?<![=+−<>≤≥] ?[\d.,]{1,9}x))`,
    ([written, amount, space], place) => {
      if (times === '') return undefined;
      if (!/^\d/.test(textAfter(place, written.length, 1))) return space === '' ? v.count(amount!, noun) : undefined;
      const isBy = (space === '' && written.includes('x')) || isLength.test(textAfter(place, written.length, 40));
      return `${v.numeral(amount!)} ${(isBy && by) || (written.includes('×') ? cross : word)}`;
    },
  );
}

function ordinalRules(v: Verbalizer): Rule[] {
  return (v.table.ordinals ?? []).map(({ written, form }) =>
    rule(`${startSource}(\\d{1,6})${written}${endSource}`, ([, digits]) => v.number(digits!, form)),
  );
}

/** "45:30 Min." is minutes and seconds, "1:30 Std." hours and minutes; 1:32,608 and 00:02:15 have no unit. */
function durationRules({ nouns, table, count }: Verbalizer): Rule[] {
  const units = ['h', 'min', 's'].map((symbol) => nouns.unit(symbol)!);
  const names = units.map((unit) => nouns.nameFor(unit, '2'));
  const suffix = `(?:${table.time.suffix ?? '(?!)'})`;
  const isClock = new RegExp(`^${suffix}$`, 'iu');
  const isLong = new RegExp(`(?<!\\p{L})(?:${table.time.duration ?? '(?!)'}):? $`, 'iu');
  const source = String.raw`(\d{1,3})([:.])([0-5]\d)(?:\2([0-5]\d))?(,(?!000)\d{1,3})?`;
  const end = String.raw`(?![\p{L}\d/]|[.,:]\d)(?! ?${suffix}${endSource})`;
  return [String.raw` ?(${nouns.unitSource}|\p{L}{3,12})\.?(?![\p{L}\d/])`, end].map((after) =>
    ruleAt(/[:.]/, source + after, ([, first, sign, second, third, decimals = '', name], place) => {
      const unit = name === undefined || isClock.test(name) ? undefined : nouns.unitNamed(name);
      const at = unit ? names.indexOf(nouns.nameFor(unit, '2')) : -1;
      const isBare = third !== undefined && (Number(first) === 0 || isLong.test(textBefore(place, 24)));
      const isDuration = name === undefined ? decimals !== '' || (sign === ':' && isBare) : at >= 0;
      if (!isDuration || (sign === '.' && decimals === '')) return undefined;
      const parts = at === 0 || third !== undefined ? [first, second, third] : ['0', first, second];
      const written = parts.map((part = '0', i) => `${Number(part)}${i === 2 ? decimals : ''}`);
      return written.flatMap((part, i) => (part === '0' ? [] : count(part, units[i]!))).join(' ') || undefined;
    }),
  );
}

/** Rules for 1/2 and 2½, with or without a unit. */
export function fractionRulesFor(v: Verbalizer): Rule[] {
  const unitSource = String.raw`(?: ?((?=\p{L})(?:${v.nouns.unitSource})|\p{L}{3,20})|(["″]))(?!['\p{L}\d²³])`;
  const source = String.raw`(?:(\d{1,6}) ?(?=[¼-¾⅐-⅞↉])|(\d{1,3}) )?([¼-¾⅐-⅞↉]|\d{1,3}\/\d{1,3}(?![\d/]))`;
  return [unitSource, ''].map((after) =>
    ruleAt(/[ /¼-¾⅐-⅞↉]/, source + after, ([written, first, second, fraction, letters, inch], place) => {
      const name = letters ?? inch;
      const whole = first ?? second;
      const [over = '', under = ''] = fraction!.normalize('NFKC').split(/[⁄/]/);
      const unit = name === undefined ? undefined : v.nouns.unitNamed(name);
      const isOther = (name !== undefined && !unit) || (whole !== undefined && Number(over) >= Number(under));
      // 50/60 Hz are two values.
      if (unit && Number(over) > 9 && Number(under) % 10 === 0) return `${v.numeral(over)} ${v.count(under, unit)}`;
      const amount = written.slice(0, written.indexOf(fraction!) + fraction!.length);
      return isOther ? undefined : v.fraction(over, under, whole, unit, v.agreement.caseAt(place, amount));
    }),
  );
}

/** Rule for powers: 10^-3, 2^n, 10⁻³. */
export function powerRuleFor(v: Verbalizer): Rule {
  const exponent = `([-−]?(?:${amountSource}|\\p{L}(?!\\p{L})))`;
  return rule(
    String.raw`(?<=[\p{L}\p{N})])(?:\^(?:[({]${exponent}[)}]|${exponent})|(?:(?<=\d)⁺?|(?=⁻))(⁻?[⁰¹²³⁴-⁹]{1,12}))`,
    ([, bracketed, bare, raised]) => {
      const power = (bracketed ?? bare ?? raised)!.normalize('NFKC');
      if (power === '2' || power === '3') return v.signs.get(power === '2' ? '²' : '³');
      const letters = power.replace(/^[-−]/, `${v.table.numbers.minus} `);
      return `${v.signs.get('^')} ${/\p{L}/u.test(power) ? letters : v.numeral(power, v.formOf('cardinal', 'power'))}`;
    },
  );
}

/**
 * Rule for telephone numbers: +49 30 123456, or a number that begins with 0 and has at least six digits. Each group
 * begins with a separator, because digits that could belong to two groups would be tried in every division.
 */
export const phoneRuleFor = (v: Verbalizer): Rule =>
  ruleAt(
    /[+(\d]/,
    String.raw`(?<![\p{L}\d.,])(?:\+[1-9]\d{0,75}(?: ?\(0\)\d{0,72})?(?:(?=[ ./()-])\)?[ ./-]?\(?\d{1,72}){0,6}\)?|0\d(?:\.\d\d){4}|0 \d{3}(?: \d{2,3}){2,3}|\(?0\d{1,6}\)?(?:[ /-]{1,3}\d{1,12}){1,6}|(?<=(?<!\p{L})[A-Z]{1,2}\d{2,3} )\d{4}(?: \d{4}){2,6}(?: \d{1,4})?${v.table.numbers.phone === undefined ? '' : `|${v.table.numbers.phone}`})(?![\d\p{L}]|[.,:]\d)`,
    ([written]) => (written.replace(/\D/g, '').length < 6 ? undefined : v.telephone(written)),
  );

function plainRules(v: Verbalizer): Rule[] {
  const dotted = rule(
    String.raw`(?!\d{1,3}(?:\.\d{3}){2,6}(?!\d|\.\d))(\d{1,6}(?:\.\d{1,6}){2,6})(?!\d)`,
    ([, written]) => sayParts(v, written!),
  );
  const year = rule(String.raw`(1[1-9]\d\d)(?![\d]|[.,:]\d|[ '.]\d{3}(?!\d))`, ([, written]) =>
    v.table.numbers.year === undefined ? undefined : v.number(written!, v.table.numbers.year),
  );
  const { feminine = '(?!)', alone = '(?!)' } = v.table.numbers;
  const isFeminine = new RegExp(`^ (?:${feminine})(?!\\p{L})`, 'u');
  const isCounting = new RegExp(`^ (?!(?:${alone})(?!\\p{L}))\\p{L}`, 'u');
  const number = rule(`(${amountSource})`, ([, written], place) => {
    const after = textAfter(place, written!.length, 40);
    const isScore = (written!.length === 1 ? /(?:\d ?[-–:] ?|\p{L}-?)$/u : /\p{L}-?$/u).test(textBefore(place, 4));
    const counting = () => (isFeminine.test(after) ? 'f' : isCounting.test(after) ? 'm' : 'cardinal');
    const gender = v.agreement.genderAt(place, written!) ?? (isScore ? 'cardinal' : counting());
    return v.numeral(written!, v.formOf(gender, v.agreement.caseAt(place, written!)));
  });
  const { range, ratio = range } = v.table.numbers;
  const result = rule(
    String.raw`(\d{1,3}):(\d{1,3})(?![\d:])`,
    ([, first, second]) => `${v.numeral(first!)} ${ratio || range} ${v.numeral(second!, v.formOf('cardinal', 'gen'))}`,
  );
  return [startingWith(/\./, dotted), startingWith(/:/, result), year, number];
}

export const digitRulesFor = (v: Verbalizer, money: Rule): Rule[] => [
  startingWith(/\./, versionRule(v)),
  ...dateRules(v),
  phoneRuleFor(v),
  ...durationRules(v),
  contextRule(v, false),
  startingWith(/\//, slashedDateRule(v)),
  ...timeRules(v),
  ...fractionRulesFor(v),
  money,
  ...measureRules(v),
  ...ordinalRules(v),
  ...plainRules(v),
];
