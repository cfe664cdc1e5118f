// What the elements of SSML mean, one function for each kind: a pause, something said in place of what is written, a
// change of voice, language or prosody. Attributes and values that are not understood are reported and have no effect.
import { toLanguageCode } from './language-code.ts';
import type { Emphasis, RunStyle, Said } from './marked-text.ts';
import { breakMsDefault, readBreakStrength, readPitch, readRate, readTime, readVolume } from './ssml-values.ts';
import { toIpa } from './x-sampa.ts';

export interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** Where its tag begins in the document. */
  at: number;
}

/** Takes the name of something that has no effect, such as "prosody.contour". */
export type ReportIgnored = (what: string) => void;

/** Elements, and their attributes that are understood. */
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
/** Attributes of any element that are understood, or change nothing. */
const anyAttributePattern = /^(?:xml:lang|xml:id|xml:base|xml:space|id|xmlns:.*|xsi:.*|onlangfailure)$/;
/** Elements whose text is not for the ear. */
const unspoken = new Set(['metadata', 'desc']);

export const isUnspoken = (name: string): boolean => unspoken.has(name);

/** Reports what of the element is not known. */
export function checkKnown({ name, attributes }: Element, report: ReportIgnored): void {
  const known = Object.hasOwn(elements, name) ? elements[name] : undefined;
  if (!known) report(name);
  if (name === 'speak' && !/^\s*1\.[01]\s*$/.test(attributes.version ?? '1.1')) report('speak.version');
  for (const [attribute, value] of known ? Object.entries(attributes) : []) {
    const isOther = attribute === 'xmlns' ? value !== ssmlNamespace : !anyAttributePattern.test(attribute);
    if (isOther && !known!.includes(attribute)) report(`${name}.${attribute}`);
  }
}

/** How long a break is, in milliseconds. */
export function readBreak({ attributes: { time, strength } }: Element, report: ReportIgnored): number {
  const strong = strength === undefined ? breakMsDefault : readBreakStrength(strength);
  if (strong === undefined) report('break.strength');
  const ms = time === undefined ? undefined : readTime(time);
  if (time !== undefined && ms === undefined) report('break.time');
  return ms ?? strong ?? breakMsDefault;
}

/** What is said in place of the text of the element; undefined where the text itself is. */
export function readSaid({ name, attributes }: Element, report: ReportIgnored): Said | undefined {
  const { alias, ph, alphabet = 'ipa', 'interpret-as': as, format = '' } = attributes;
  if (name === 'sub' && alias !== undefined) return { kind: 'alias', text: alias };
  if (name === 'say-as' && as) return { kind: 'say-as', as: as.toLowerCase(), format: format.toLowerCase() };
  const ipa = ph?.trim() ? toIpa(ph.trim(), alphabet) : undefined;
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
      // One name may have spaces in it; SSML 1.1 has a list of names.
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

/** Undefined for none. */
export function readEmphasis({ attributes: { level = 'moderate' } }: Element, report: ReportIgnored) {
  if (level === 'strong' || level === 'moderate' || level === 'reduced') return level satisfies Emphasis;
  if (level !== 'none') report('emphasis.level');
  return undefined;
}
