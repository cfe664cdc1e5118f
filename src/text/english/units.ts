// Units of measure in English, and numbers with a unit: 10GB, 5 km/h, 37°C, 5'11", 3x, 20 m², 5-10 kg, 100k.

import {
  dashSource,
  endSource,
  isAlgebra,
  numberSource,
  type Place,
  type Reading,
  type Rule,
  rule,
  textAfter,
  textBefore,
} from '../rule.ts';
import { matchAt, sticky } from '../sticky.ts';
import { wordSet, wordTable } from '../word-table.ts';
import { magnitudes } from './money.ts';
import { countNoun, type Noun, sayNumber, sayRange, sayYear, toNoun } from './numbers.ts';

/** Symbol, singular, and the plural if it is not the singular with an s. */
const rows = wordTable(`
  km kilometer; m meter; cm centimeter; mm millimeter; μm micrometer; nm nanometer; mi mile; yd yard; yds yard
  ft foot, feet; in inch, inches; kg kilogram; g gram; mg milligram; μg microgram; mcg microgram; lb pound; lbs pound
  oz ounce; kt kiloton; l liter; L liter; ml milliliter; mL milliliter; cl centiliter; dl deciliter; gal gallon
  tbsp tablespoon; tsp teaspoon; s second; sec second; secs second; ms millisecond; μs microsecond; ns nanosecond
  min minute; mins minute; h hour; hr hour; hrs hour; wk week; wks week; yr year; yrs year; mo month; mos month
  KB kilobyte; kB kilobyte; MB megabyte; GB gigabyte; TB terabyte; PB petabyte; KiB kibibyte; MiB mebibyte
  GiB gibibyte; TiB tebibyte; Kb kilobit; kb kilobit; Mb megabit; Gb gigabit; bps bit per second, bits per second
  kbps kilobit per second, kilobits per second; Kbps kilobit per second, kilobits per second
  Mbps megabit per second, megabits per second; Gbps gigabit per second, gigabits per second; Hz hertz, hertz
  kHz kilohertz, kilohertz; MHz megahertz, megahertz; GHz gigahertz, gigahertz; THz terahertz, terahertz; W watt
  kW kilowatt; MW megawatt; GW gigawatt; TW terawatt; mW milliwatt; kWh kilowatt hour; MWh megawatt hour
  GWh gigawatt hour; TWh terawatt hour; Wh watt hour; V volt; kV kilovolt; mV millivolt; A amp; mA milliamp
  mAh milliamp hour; Ah amp hour; Ω ohm; kΩ kilohm; J joule; kJ kilojoule; MJ megajoule; cal calorie; kcal kilocalorie
  N newton; kN kilonewton; Nm newton meter; Pa pascal; kPa kilopascal; hPa hectopascal; MPa megapascal
  psi P S I, P S I; bar bar; mbar millibar; mmHg millimeter of mercury, millimeters of mercury; atm atmosphere
  hp horsepower, horsepower; rpm R P M, R P M; fps frame per second, frames per second
  mph mile per hour, miles per hour; kph kilometer per hour, kilometers per hour
  kmh kilometer per hour, kilometers per hour; mpg mile per gallon, miles per gallon; dB decibel; dBm D B M, D B M
  px pixel; dpi dot per inch, dots per inch; ppi pixel per inch, pixels per inch
  ppm part per million, parts per million; ppb part per billion, parts per billion; lm lumen; lx lux, lux; cd candela
  mol mole; mmol millimole; ha hectare; ac acre; sqft square foot, square feet; sqm square meter
  °C degree Celsius, degrees Celsius; °F degree Fahrenheit, degrees Fahrenheit; °K kelvin; ° degree
  ℃ degree Celsius, degrees Celsius; ly light year; AU astronomical unit; ct carat
  bpm beat per minute, beats per minute; pt point; em em; rem rem; vh V H, V H; sr steradian; rad radian; Bq becquerel
  Sv sievert; mSv millisievert; eV electron volt; keV kilo electron volt; MeV mega electron volt
  GeV giga electron volt; dpt diopter; mg/dl milligram per deciliter, milligrams per deciliter
`);
const units: ReadonlyMap<string, Noun> = new Map(rows.entries().map(([symbol, words]) => [symbol, toNoun(words)]));

/** After a space these are more likely words or names than units. */
const onlyAttached = wordSet('in A N J cd ha em rem sr ac AU pt ct rad bar cal');
/** Sizes and models that look like a number with a unit. */
const notUnits = wordSet('4K 8K 2K 5A 3A 4A 2A 1A');

const unitOf = (symbol: string): Noun | undefined =>
  units.get(symbol) ?? (symbol.length > 1 ? units.get(symbol.toLowerCase()) : undefined);

const powers = wordTable('² square; ³ cubic; 2 square; 3 cubic; sq square; cu cubic');
const unitPattern = sticky(
  String.raw`([ -]?)(sq\.? |cu\.? |square |cubic )?(°\s?[CFK]${endSource}|°|[A-Za-zμΩ]{1,5})([²³]|(?<=[ckmf][mt]?)[23](?!\d))?(?:\/([A-Za-zμ]{1,5})([²³]|(?<=\/s)[23])?)?(?![\p{L}\d²³])(?:\.(?= \p{Ll}))?`,
);

/** The words for the unit at `at` after that number, and its length in the text. */
function unitAt({ text }: Place, at: number, amount: string): Reading | undefined {
  const match = matchAt(unitPattern, text, at);
  if (!match) return undefined;
  const [written, gap, area, symbol, power, perSymbol, perPower] = match;
  const unit = unitOf(symbol!.replace(/\s/, ''));
  if (!unit || (gap && onlyAttached.has(symbol!) && !perSymbol && !power) || notUnits.has(amount + symbol))
    return undefined;
  const raised = powers.get(power ?? area?.slice(0, 2) ?? '');
  const name = `${raised ? `${raised} ` : ''}${gap !== '-' && amount !== '1' ? unit.many : unit.one}`;
  if (perSymbol === undefined) return { say: name, length: written.length };
  const per = unitOf(perSymbol);
  if (!per) return { say: name, length: written.indexOf('/') };
  const perArea = perPower ? `${powers.get(perPower)} ${per.one}` : per.one;
  const say = perPower && per.one === 'second' ? 'second squared' : perArea;
  return { say: `${name} per ${say}`, length: written.length };
}

const amountPattern = sticky(`(${numberSource})(?:(${dashSource}|\\sto\\s)(${numberSource}))?`);

/** A number, or a range of two, with a unit. */
const measureRule: Rule = (place) => {
  const amount = matchAt(amountPattern, place.text, place.at);
  if (!amount) return undefined;
  const [{ length }, from, , to] = amount;
  const unit = unitAt(place, place.at + length, to ?? from!);
  if (!unit) return undefined;
  return { say: `${sayRange(from!, to)} ${unit.say}`, length: length + unit.length };
};

/** A fraction with a unit: 1/2 tsp, 3½ km. */
export const measuredRule =
  (amount: Rule): Rule =>
  (place) => {
    const reading = amount(place);
    const unit = reading && unitAt(place, place.at + reading.length, / (?:and|over) /.test(reading.say) ? '2' : '1');
    return unit ? { say: `${reading.say} ${unit.say}`, length: reading.length + unit.length } : reading;
  };

/** 100k, 2.5M, 3bn. */
const magnitudeRule: Rule = rule(
  `(${numberSource})(?:([kKMB])|(bn|mn|tn))${endSource}`,
  ([written, amount, letter, letters], place) => {
    if (notUnits.has(`${amount}${letter}`) || /^\d{4}/.test(amount!)) return undefined;
    // 221B Baker Street is a house number.
    if (letter === 'B' && /^\d+$/.test(amount!) && /^ \p{Lu}/u.test(textAfter(place, written.length, 2)))
      return undefined;
    return `${sayNumber(amount!)} ${magnitudes.get((letter ?? letters)!.toLowerCase())}`;
  },
);

const foot = toNoun('foot, feet');
const inch = toNoun('inch, inches');

/** A noun that the measure describes, as in a 12" disc. */
const nounPattern = /^ ?(?!(?:long|wide|tall|high|deep|thick|of|in|by|and|or|to|from|is|are)\b)\p{Ll}{3}/u;

/** 5'11", 6', 12": feet and inches; but a quotation mark after a number may also close a quotation. */
const heightRule: Rule = rule(
  String.raw`(\d{1,3})(?:['′](?:\s?(\d{1,2})(?:["″]|'')?(?![\p{L}\d]))?|(["″]))(?![\p{L}\d])`,
  ([written, first, inches, quote], place) => {
    if (quote !== undefined) {
      const quotes = place.text.slice(0, place.at).split('"').length - 1;
      if (quote === '"' && quotes % 2 === 1) return undefined;
      const isAdjective = nounPattern.test(textAfter(place, written.length, 8));
      return isAdjective ? `${sayNumber(first!)} inch` : countNoun(first!, inch);
    }
    if (inches !== undefined) return `${countNoun(first!, foot)} ${sayNumber(inches)}`;
    const quoted = written.includes("'") && place.text.lastIndexOf("'", place.at) >= 0;
    return quoted ? undefined : countNoun(first!, foot);
  },
);

/** What follows "in" as a preposition: 5 ft 3 in the air. */
const insidePattern =
  /^ (?:the|an?|this|that|these|those|my|your|his|her|its|our|their|each|every|all|any|some|total|\p{Lu})/u;

/** 5 ft 3 in */
const feetRule: Rule = rule(
  String.raw`(\d{1,3}) ?(?:ft|feet|foot),? (\d{1,2}(?:\.\d{1,2})?) in(?![\p{L}\d.-])`,
  ([written, feet, inches], place) =>
    insidePattern.test(textAfter(place, written.length, 8))
      ? undefined
      : `${countNoun(feet!, foot)} ${countNoun(inches!, inch)}`,
);

const sides = wordTable('N north; S south; E east; W west');

/** 40°26′46″N */
const angleRule: Rule = rule(
  String.raw`(\d{1,3}(?:\.\d{1,8})?)°\s?(?:(\d{1,2}(?:\.\d{1,6})?)['′]\s?)?(?:(\d{1,2}(?:\.\d{1,6})?)(?:["″]|'')\s?)?(?:([NSEW])${endSource})?(?![CFK\d])`,
  ([, degrees, minutes, seconds, side]) => {
    if (!minutes && !side) return undefined;
    const parts = [`${sayNumber(degrees!)} degrees`];
    if (minutes) parts.push(`${sayNumber(minutes)} minutes`);
    if (seconds) parts.push(`${sayNumber(seconds)} seconds`);
    if (side) parts.push(sides.get(side)!);
    return parts.join(' ');
  },
);

/** 1920x1080, 4 x 4, 3 × 5; 3x. */
const timesRule: Rule = rule(
  `(${numberSource})(?:\\s?([x×])\\s?(${numberSource})(?:\\s?[x×]\\s?(${numberSource}))?(?!\\p{L})|([x×])${endSource})`,
  ([written, first, sign, second, third], place) => {
    if (sign === undefined) {
      return isAlgebra(place, written.length) ? undefined : countNoun(first!, toNoun('time'));
    }
    const side = (digits: string) => (/^[1-9]\d{3}$/.test(digits) ? sayYear(digits) : sayNumber(digits));
    const measured =
      third !== undefined || unitAt(place, place.at + written.length, '2') || /\d{3}\D+\d{3}/.test(written);
    if (sign === '×' && !measured) return `${sayNumber(first!)} times ${sayNumber(second!)}`;
    return [first!, second!, third]
      .filter((part) => part !== undefined)
      .map(side)
      .join(' by ');
  },
);

/** "/month" after a sum or a measure. */
export const perRule: Rule = rule(
  `(?i:/(mo|yr|hr|wk|sec|min|month|year|week|day|hour|minute|second|night|person|user|seat|unit|item|piece|head|kg|lb|km|mile|gallon|share|barrel|pound|litre|liter|gb|h|s)${endSource})`,
  ([, name], place) => {
    const isMeasure = /\d[^,;/]{0,12}$/.test(textBefore(place, 14));
    return isMeasure ? `per ${unitOf(name!)?.one ?? name!.toLowerCase()}` : undefined;
  },
);

export const angleRules: readonly Rule[] = [angleRule, heightRule, feetRule];
export const measureRules: readonly Rule[] = [timesRule, measureRule, magnitudeRule];
