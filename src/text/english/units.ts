// Units of measure in English, and numbers with a unit: 10GB, 5 km/h, 37°C, 5'11", 3x, 20 m², 5-10 kg, 100k.

import { dashSource, endSource, isAlgebra, numberSource, type Place, type Rule, rule, sticky } from '../rule.ts';
import { magnitudes } from './money.ts';
import { sayNumber, sayYear } from './numbers.ts';

/** Symbol, singular, and the plural if it is not the singular with an s; `~` is a space. */
const rows = `
  km kilometer; m meter; cm centimeter; mm millimeter; μm micrometer; nm nanometer; mi mile; yd yard; yds yard
  ft foot feet; in inch inches; kg kilogram; g gram; mg milligram; μg microgram; mcg microgram; lb pound; lbs pound
  oz ounce; kt kiloton; l liter; L liter; ml milliliter; mL milliliter; cl centiliter; dl deciliter; gal gallon
  tbsp tablespoon; tsp teaspoon; s second; sec second; secs second; ms millisecond; μs microsecond; ns nanosecond
  min minute; mins minute; h hour; hr hour; hrs hour; wk week; wks week; yr year; yrs year; mo month; mos month
  KB kilobyte; kB kilobyte; MB megabyte; GB gigabyte; TB terabyte; PB petabyte; KiB kibibyte; MiB mebibyte
  GiB gibibyte; TiB tebibyte; Kb kilobit; kb kilobit; Mb megabit; Gb gigabit; bps bit~per~second bits~per~second
  kbps kilobit~per~second kilobits~per~second; Kbps kilobit~per~second kilobits~per~second
  Mbps megabit~per~second megabits~per~second; Gbps gigabit~per~second gigabits~per~second
  Hz hertz hertz; kHz kilohertz kilohertz; MHz megahertz megahertz; GHz gigahertz gigahertz; THz terahertz terahertz
  W watt; kW kilowatt; MW megawatt; GW gigawatt; TW terawatt; mW milliwatt; kWh kilowatt~hour; MWh megawatt~hour
  GWh gigawatt~hour; TWh terawatt~hour; Wh watt~hour; V volt; kV kilovolt; mV millivolt; A amp; mA milliamp
  mAh milliamp~hour; Ah amp~hour; Ω ohm; kΩ kilohm; J joule; kJ kilojoule; MJ megajoule; cal calorie; kcal kilocalorie
  N newton; kN kilonewton; Nm newton~meter; Pa pascal; kPa kilopascal; hPa hectopascal; MPa megapascal; psi P~S~I P~S~I
  bar bar; mbar millibar; mmHg millimeter~of~mercury millimeters~of~mercury; atm atmosphere; hp horsepower horsepower; rpm R~P~M R~P~M; fps frame~per~second frames~per~second
  mph mile~per~hour miles~per~hour; kph kilometer~per~hour kilometers~per~hour; kmh kilometer~per~hour kilometers~per~hour
  mpg mile~per~gallon miles~per~gallon; dB decibel; dBm D~B~M D~B~M; px pixel; dpi dot~per~inch dots~per~inch
  ppi pixel~per~inch pixels~per~inch; ppm part~per~million parts~per~million; ppb part~per~billion parts~per~billion
  lm lumen; lx lux lux; cd candela; mol mole; mmol millimole; ha hectare; ac acre; sqft square~foot square~feet
  sqm square~meter; °C degree~Celsius degrees~Celsius; °F degree~Fahrenheit degrees~Fahrenheit
  °K kelvin; ° degree; ℃ degree~Celsius degrees~Celsius; ly light~year; AU astronomical~unit; ct carat; bpm beat~per~minute beats~per~minute
  pt point; em em; rem rem; vh V~H V~H; sr steradian; rad radian; Bq becquerel; Sv sievert; mSv millisievert; eV electron~volt
  keV kilo~electron~volt; MeV mega~electron~volt; GeV giga~electron~volt; dpt diopter; mg/dl milligram~per~deciliter milligrams~per~deciliter
`;

interface Unit {
  one: string;
  many: string;
}

const units: ReadonlyMap<string, Unit> = new Map(
  rows.split(/[;\n]/).flatMap((row): [string, Unit][] => {
    const [symbol, one, many] = row.trim().split(/\s+/);
    if (!symbol || !one) return [];
    const spaced = one.replaceAll('~', ' ');
    return [[symbol, { one: spaced, many: many?.replaceAll('~', ' ') ?? `${spaced}s` }]];
  }),
);

/** After a space these are more likely words or names than units. */
const onlyAttached: ReadonlySet<string> = new Set('in A N J cd ha em rem sr ac AU pt ct rad bar cal'.split(' '));
/** Sizes and models that look like a number with a unit. */
const notUnits: ReadonlySet<string> = new Set(['4K', '8K', '2K', '5A', '3A', '4A', '2A', '1A']);

function unitOf(symbol: string): Unit | undefined {
  return units.get(symbol) ?? (symbol.length > 1 ? units.get(symbol.toLowerCase()) : undefined);
}

const powers: Readonly<Record<string, string>> = { '²': 'square ', '³': 'cubic ', '2': 'square ', '3': 'cubic ' };
const unitPattern = sticky(
  String.raw`([ -]?)(sq\.? |cu\.? |square |cubic )?(°\s?[CFK]${endSource}|°|[A-Za-zμΩ]{1,5})([²³]|(?<=[ckmf][mt]?)[23](?!\d))?(?:\/([A-Za-zμ]{1,5})([²³]|(?<=\/s)[23])?)?(?![\p{L}\d²³])(?:\.(?= \p{Ll}))?`,
);

/** The words for the unit at `at` after that number, and its length in the text. */
function unitAt({ text }: Place, at: number, amount: string): { say: string; length: number } | undefined {
  unitPattern.lastIndex = at;
  const match = unitPattern.exec(text);
  if (!match) return undefined;
  const [written, gap, area, symbol, power, perSymbol, perPower] = match;
  const unit = unitOf(symbol!.replace(/\s/, ''));
  if (!unit || (gap && onlyAttached.has(symbol!) && !perSymbol && !power) || notUnits.has(amount + symbol))
    return undefined;
  const before = power ? powers[power]! : area ? (area.startsWith('sq') ? 'square ' : 'cubic ') : '';
  const name = `${before}${gap !== '-' && amount !== '1' ? unit.many : unit.one}`;
  if (perSymbol === undefined) return { say: name, length: written.length };
  const per = unitOf(perSymbol);
  if (!per) return { say: name, length: written.indexOf('/') };
  const squared = perPower && per.one === 'second' ? ' squared' : '';
  return {
    say: `${name} per ${perPower && !squared ? powers[perPower] : ''}${per.one}${squared}`,
    length: written.length,
  };
}

const amountPattern = sticky(`(${numberSource})(?:(${dashSource}|\\sto\\s)(${numberSource}))?`);

/** A number, or a range of two, with a unit. */
const measureRule: Rule = (place) => {
  amountPattern.lastIndex = place.at;
  const amount = amountPattern.exec(place.text);
  if (!amount) return undefined;
  const [{ length }, from, , to] = amount;
  const unit = unitAt(place, place.at + length, to ?? from!);
  if (!unit) return undefined;
  const range = to === undefined ? '' : `${sayNumber(from!)} to `;
  return { say: `${range}${sayNumber(to ?? from!)} ${unit.say}`, length: length + unit.length };
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
  sticky(`(${numberSource})(?:([kKMB])|(bn|mn|tn))${endSource}`),
  ([written, amount, letter, letters], { text, at }) => {
    if (notUnits.has(`${amount}${letter}`) || /^\d{4}/.test(amount!)) return undefined;
    // 221B Baker Street is a house number.
    if (
      letter === 'B' &&
      /^\d+$/.test(amount!) &&
      /^ \p{Lu}/u.test(text.slice(at + written.length, at + written.length + 2))
    ) {
      return undefined;
    }
    return `${sayNumber(amount!)} ${magnitudes[(letter ?? letters)!.toLowerCase()]}`;
  },
);

/** 5'11", 6', 12": feet and inches; but a quotation mark after a number may also close a quotation. */
const heightRule: Rule = rule(
  sticky(String.raw`(\d{1,3})(?:['′](?:\s?(\d{1,2})(?:["″]|'')?(?![\p{L}\d]))?|(["″]))(?![\p{L}\d])`),
  ([written, first, inches, inch], place) => {
    if (inch !== undefined) {
      const quotes = place.text.slice(0, place.at).split('"').length - 1;
      if (inch === '"' && quotes % 2 === 1) return undefined;
      const noun = / ?(?!(?:long|wide|tall|high|deep|thick|of|in|by|and|or|to|from|is|are)\b)\p{Ll}{3}/uy;
      noun.lastIndex = place.at + written.length;
      return `${sayNumber(first!)} ${first === '1' || noun.test(place.text) ? 'inch' : 'inches'}`;
    }
    if (inches !== undefined) return `${sayNumber(first!)} ${first === '1' ? 'foot' : 'feet'} ${sayNumber(inches)}`;
    const quoted = written.includes("'") && place.text.lastIndexOf("'", place.at) >= 0;
    return quoted ? undefined : `${sayNumber(first!)} ${first === '1' ? 'foot' : 'feet'}`;
  },
);

/** What follows "in" as a preposition: 5 ft 3 in the air. */
const insidePattern =
  / (?:the|an?|this|that|these|those|my|your|his|her|its|our|their|each|every|all|any|some|total|\p{Lu})/uy;

/** 5 ft 3 in */
const feetRule: Rule = rule(
  sticky(String.raw`(\d{1,3}) ?(?:ft|feet|foot),? (\d{1,2}(?:\.\d{1,2})?) in(?![\p{L}\d.-])`),
  ([written, feet, inches], { text, at }) => {
    insidePattern.lastIndex = at + written.length;
    if (insidePattern.test(text)) return undefined;
    const whole = `${sayNumber(feet!)} ${feet === '1' ? 'foot' : 'feet'}`;
    return `${whole} ${sayNumber(inches!)} ${inches === '1' ? 'inch' : 'inches'}`;
  },
);

/** 40°26′46″N */
const angleRule: Rule = rule(
  sticky(
    String.raw`(\d{1,3}(?:\.\d{1,8})?)°\s?(?:(\d{1,2}(?:\.\d{1,6})?)['′]\s?)?(?:(\d{1,2}(?:\.\d{1,6})?)(?:["″]|'')\s?)?(?:([NSEW])${endSource})?(?![CFK\d])`,
  ),
  ([, degrees, minutes, seconds, side]) => {
    if (!minutes && !side) return undefined;
    const sides: Readonly<Record<string, string>> = { N: 'north', S: 'south', E: 'east', W: 'west' };
    return [
      `${sayNumber(degrees!)} degrees`,
      minutes && `${sayNumber(minutes)} minutes`,
      seconds && `${sayNumber(seconds)} seconds`,
      side && sides[side],
    ]
      .filter(Boolean)
      .join(' ');
  },
);

/** 1920x1080, 4 x 4, 3 × 5; 3x. */
const timesRule: Rule = rule(
  sticky(
    `(${numberSource})(?:\\s?([x×])\\s?(${numberSource})(?:\\s?[x×]\\s?(${numberSource}))?(?!\\p{L})|([x×])${endSource})`,
  ),
  ([written, first, sign, second, third], place) => {
    if (sign === undefined) {
      return isAlgebra(place, written.length) ? undefined : `${sayNumber(first!)} ${first === '1' ? 'time' : 'times'}`;
    }
    const side = (digits: string) => (/^[1-9]\d{3}$/.test(digits) ? sayYear(digits) : sayNumber(digits));
    const measured =
      third !== undefined || unitAt(place, place.at + written.length, '2') || /\d{3}\D+\d{3}/.test(written);
    const product = sign === '×' && !measured;
    const word = product ? ' times ' : ' by ';
    return [first!, second!, third]
      .filter((part) => part !== undefined)
      .map(product ? sayNumber : side)
      .join(word);
  },
);

/** "/month" after a sum or a measure. */
export const perRule: Rule = rule(
  sticky(
    `/(mo|yr|hr|wk|sec|min|month|year|week|day|hour|minute|second|night|person|user|seat|unit|item|piece|head|kg|lb|km|mile|gallon|share|barrel|pound|litre|liter|gb|h|s)${endSource}`,
    'i',
  ),
  ([, name], place) => {
    if (!/\d[^,;/]{0,12}$/.test(place.text.slice(Math.max(0, place.at - 14), place.at))) return undefined;
    return `per ${unitOf(name!)?.one ?? name!.toLowerCase()}`;
  },
);

export const angleRules: readonly Rule[] = [angleRule, heightRule, feetRule];
export const measureRules: readonly Rule[] = [timesRule, measureRule, magnitudeRule];
