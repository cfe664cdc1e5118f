// The elements of SSML. Each function handles one effect: a pause, a replacement of the text, or a change of voice,
// language or prosody. Unknown attributes and values are reported and have no effect.

import { normalizeIpa } from '../platform/ipa.ts';
import { toLanguageCode } from '../platform/language-code.ts';
import type { Emphasis, RunStyle, Said } from './marked-text.ts';

export interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** Start of the element's tag in the document. */
  at: number;
}

/** Called with the name of markup that has no effect, such as "prosody.contour". */
type ReportIgnored = (what: string) => void;

/** Elements and their supported attributes. */
const elements: Readonly<Record<string, readonly string[]>> = {
  speak: ['version'],
  p: [],
  s: [],
  w: [],
  token: [],
  break: ['time', 'strength'],
  sub: ['alias'],
  'say-as': ['interpret-as', 'format'],
  phoneme: ['ph', 'alphabet'],
  prosody: ['rate', 'volume', 'pitch'],
  voice: ['name'],
  lang: [],
  mark: ['name'],
  emphasis: ['level'],
  meta: ['name', 'content', 'http-equiv'],
  metadata: [],
  desc: [],
};
/** The namespace of SSML. */
export const ssmlNamespace = 'http://www.w3.org/2001/10/synthesis';
/** Attributes that are never reported as unknown, on any element. */
const anyAttributePattern = /^(?:xml:lang|xml:id|xml:base|xml:space|id|xmlns:.*|xsi:.*|onlangfailure)$/;
/** Elements whose text is not spoken. */
const unspoken = new Set(['metadata', 'desc']);

export const isUnspoken = (name: string): boolean => unspoken.has(name);

/** Reports unknown elements and attributes. */
export function checkKnown({ name, attributes }: Element, report: ReportIgnored): void {
  const known = Object.hasOwn(elements, name) ? elements[name] : undefined;
  if (!known) report(name);
  if (name === 'speak' && !/^\s*1\.[01]\s*$/.test(attributes.version ?? '1.1')) report('speak.version');
  for (const [attribute, value] of known ? Object.entries(attributes) : []) {
    const isOther = attribute === 'xmlns' ? value !== ssmlNamespace : !anyAttributePattern.test(attribute);
    if (isOther && !known!.includes(attribute)) report(`${name}.${attribute}`);
  }
}

/** Length of a break in milliseconds. */
export function readBreak({ attributes: { time, strength = 'medium' } }: Element, report: ReportIgnored): number {
  const strong = own(breakMs, strength.trim());
  if (strong === undefined) report('break.strength');
  const ms = time === undefined ? undefined : readTime(time);
  if (time !== undefined && ms === undefined) report('break.time');
  return ms ?? strong ?? mediumBreakMs;
}

/** The replacement that is spoken instead of the element's text; undefined if the text itself is spoken. */
export function readSaid({ name, attributes }: Element, report: ReportIgnored): Said | undefined {
  const { alias, ph, alphabet = 'ipa', 'interpret-as': as, format = '' } = attributes;
  if (name === 'sub' && alias !== undefined) return { kind: 'alias', text: alias };
  if (name === 'say-as' && as) return { kind: 'say-as', as: as.toLowerCase(), format: format.toLowerCase() };
  const ipa = ph && alphabet.toLowerCase() === 'ipa' ? normalizeIpa(ph) : undefined;
  if (name === 'phoneme' && ipa !== undefined) return { kind: 'phonemes', ipa };
  report(name);
  return undefined;
}

/** The style inside the element. */
export function readStyle(element: Element, style: RunStyle, report: ReportIgnored): RunStyle {
  const { name, attributes, at } = element;
  const tag = attributes['xml:lang'];
  if (name !== 'voice' && name !== 'prosody' && name !== 'lang' && tag === undefined) return style;
  const changed = { ...style };
  if (name === 'voice') {
    const wanted = attributes.name?.trim() ?? '';
    if (wanted === '') report('voice');
    else {
      // A name may contain spaces, but SSML 1.1 also allows a list of names, so both readings are tried.
      changed.voice = { names: [...new Set([wanted, ...wanted.split(/\s+/)])], at };
      changed.isOwnLanguage = false;
    }
  }
  if (name === 'prosody') Object.assign(changed, readProsody(element, style, report));
  const languageCode = tag === undefined ? undefined : toLanguageCode(tag);
  if (languageCode !== undefined) Object.assign(changed, { languageCode, isOwnLanguage: true });
  else if (tag !== undefined || name === 'lang') report(`${name}.xml:lang`);
  return changed;
}

function readProsody({ attributes }: Element, style: RunStyle, report: ReportIgnored): Partial<RunStyle> {
  const read = (name: string, reader: (value: string) => number | undefined): number | undefined => {
    const value = attributes[name];
    const found = value === undefined ? undefined : reader(value);
    if (value !== undefined && found === undefined) report(`prosody.${name}`);
    return found;
  };
  return {
    rate: style.rate * (read('rate', readRate) ?? 1),
    gainDb: style.gainDb + (read('volume', readVolume) ?? 0),
    pitch: style.pitch * (read('pitch', readPitch) ?? 1),
  };
}

/** The level of emphasis; undefined if there is no emphasis. */
export function readEmphasis({ attributes: { level = 'moderate' } }: Element, report: ReportIgnored) {
  if (level === 'strong' || level === 'moderate' || level === 'reduced') return level satisfies Emphasis;
  if (level !== 'none') report('emphasis.level');
  return undefined;
}

const mediumBreakMs = 500;
/** Duration of breaks in milliseconds. */
const breakMs: Readonly<Record<string, number>> = {
  none: 0,
  'x-weak': 100,
  weak: 250,
  medium: mediumBreakMs,
  strong: 750,
  'x-strong': 1000,
};
const rates: Readonly<Record<string, number>> = {
  'x-slow': 0.5,
  slow: 0.75,
  medium: 1,
  default: 1,
  fast: 1.4,
  'x-fast': 2,
};
/** Gain in decibels of named volumes. */
const volumes: Readonly<Record<string, number>> = {
  silent: -Infinity,
  'x-soft': -12,
  soft: -6,
  medium: 0,
  default: 0,
  loud: 4,
  'x-loud': 8,
};
const pitches: Readonly<Record<string, number>> = {
  'x-low': 0.75,
  low: 0.87,
  medium: 1,
  default: 1,
  high: 1.15,
  'x-high': 1.33,
};

const numberSource = String.raw`(\d{1,6}(?:\.\d{0,6})?|\.\d{1,6})`;
const timePattern = new RegExp(String.raw`^\+?${numberSource}(ms|s)$`);
const ratePattern = new RegExp(`^([+-]?)${numberSource}(%?)$`);
const volumePattern = new RegExp(`^([+-]?)${numberSource}dB$`, 'i');
const pitchPattern = new RegExp(`^([+-])${numberSource}(%|st)$`);

const own = (table: Readonly<Record<string, number>>, label: string): number | undefined =>
  Object.hasOwn(table, label) ? table[label] : undefined;

/** Parses a time into milliseconds. */
function readTime(value: string): number | undefined {
  const [, number, unit] = timePattern.exec(value.trim()) ?? [];
  return number === undefined ? undefined : Number(number) * (unit === 's' ? 1000 : 1);
}

/** Parses a rate into a factor: "200%", "2" and "+100%" are twice as fast. */
function readRate(value: string): number | undefined {
  const label = own(rates, value.trim());
  const [, sign, number, percent] = ratePattern.exec(value.trim()) ?? [];
  if (label !== undefined || number === undefined) return label;
  const change = Number(number) / (percent ? 100 : 1);
  const rate = sign === '' ? change : sign === '+' ? 1 + change : 1 - change;
  return rate > 0 ? rate : undefined;
}

/** Parses a volume into decibels. */
function readVolume(value: string): number | undefined {
  const label = own(volumes, value.trim());
  const [, sign, number] = volumePattern.exec(value.trim()) ?? [];
  if (label !== undefined || number === undefined) return label;
  return sign === '-' ? -Number(number) : Number(number);
}

/** Parses a pitch such as "+10%" or "-2st" into a factor. */
function readPitch(value: string): number | undefined {
  const label = own(pitches, value.trim());
  const [, sign, number, unit] = pitchPattern.exec(value.trim()) ?? [];
  if (label !== undefined || number === undefined) return label;
  const change = Number(`${sign}${number}`);
  const pitch = unit === 'st' ? 2 ** (change / 12) : 1 + change / 100;
  return pitch > 0 ? pitch : undefined;
}
