// Rules of a table: a pattern of the written text, conditions on neighbouring words, and the spoken text. Numbers have
// rules of their own, because the words beside them determine their form: ordinals, years and the names of rulers.
import type { WrittenRule } from './language-table.ts';
import { charBefore, matchAt, type Place, type Rule, sticky, textBefore, wordAfter, wordBefore } from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';

type Condition = (match: RegExpExecArray, place: Place) => boolean;

/** Creates a rule from a row of a table. */
export function toRule(row: WrittenRule, formOf: (name: string) => Form): Rule {
  const pattern = sticky(row.written);
  const say = toTemplate(row.say, formOf);
  const sayDayFirst = row.say_day_first === undefined ? say : toTemplate(row.say_day_first, formOf);
  const conditions = toConditions(row);
  return (place) => {
    if (row.day_first !== undefined && row.day_first !== place.dayFirst) return undefined;
    const match = matchAt(pattern, place.text, place.at);
    if (!match || !conditions.every((isMet) => isMet(match, place))) return undefined;
    const template: Template = place.dayFirst ? sayDayFirst : say;
    const said = template(match);
    return said === undefined ? undefined : { say: said, length: match[0].length, kind: row.kind };
  };
}

function toConditions(row: WrittenRule): Condition[] {
  const conditions: Condition[] = (row.where ?? []).map(toComparison);
  const whole = (source: string) => new RegExp(`^(?:${source})$`, 'su');
  if (row.word_before !== undefined) {
    const before = whole(row.word_before);
    conditions.push((_, place) => before.test(wordBefore(place)));
  }
  if (row.word_after !== undefined) {
    const after = whole(row.word_after);
    conditions.push((match, { text, at }) => after.test(wordAfter(text, at + match[0].length)));
  }
  return conditions;
}

/** Parses a condition such as "1 < 2" (numbers of groups) or "1 >= 1100" (a group and a value). */
function toComparison(source: string): Condition {
  const [, left = '', sign, right = ''] = /^(\w+) ([<>]=?) (\w+)$/.exec(source)!;
  const sizeOf = (match: RegExpExecArray, name: string) =>
    Number(/^\d{2,}$/.test(name) ? name : /^\d$/.test(name) ? match[Number(name)] : match.groups?.[name]);
  return (match) => {
    const [a, b] = [sizeOf(match, left), sizeOf(match, right)];
    return sign === '<' ? a < b : sign === '<=' ? a <= b : sign === '>' ? a > b : a >= b;
  };
}

/** Converts written text to its spoken form; undefined if the form does not apply to the text. */
export type Form = (written: string) => string | undefined;

/** Returns the spoken text for a match. */
type Template = (match: RegExpExecArray) => string | undefined;

type Part = (group: (name: string) => string) => string | undefined;

const partPattern = /\[([^\]]*)\]|\{(\w+)(?:\/([^/]*)\/(\w+)|((?::\w+)*))\}|[^[{]+/g;

export function toTemplate(source: string, formOf: (name: string) => Form): Template {
  const parts = toParts(source, formOf);
  return (match) => sayParts(parts, (name) => (/^\d/.test(name) ? match[Number(name)] : match.groups?.[name]) ?? '');
}

function toParts(source: string, formOf: (name: string) => Form): Part[] {
  return [...source.matchAll(partPattern)].map(([text, option, group, joiner, form, forms]): Part => {
    if (option !== undefined) return toOption(option, formOf);
    if (group === undefined) return () => text;
    if (joiner !== undefined) {
      const say = formOf(form!);
      return (groupOf) => sayRuns(groupOf(group), joiner, say);
    }
    const chain = forms!.split(':').slice(1).map(formOf);
    return (groupOf) =>
      chain.reduce<string | undefined>((said, say) => (said === undefined ? said : say(said)), groupOf(group));
  });
}

function toOption(source: string, formOf: (name: string) => Form): Part {
  const parts = toParts(source, formOf);
  const groups = [...source.matchAll(/\{(\w+)/g)].map(([, name]) => name!);
  return (groupOf) => (groups.every((name) => groupOf(name) !== '') ? sayParts(parts, groupOf) : '');
}

function sayParts(parts: readonly Part[], groupOf: (name: string) => string): string | undefined {
  let said = '';
  for (const part of parts) {
    const words = part(groupOf);
    if (words === undefined) return undefined;
    said += words;
  }
  return said;
}

function sayRuns(written: string, joiner: string, say: Form): string | undefined {
  const runs = (written.match(/\d+/g) ?? []).map(say);
  return runs.includes(undefined) ? undefined : runs.join(joiner);
}

/** Maximum number of beginnings of numbers whose rows are cached. */
const keysMax = 2000;

/** The start of a pattern if it is simple: a group, and the character behind it. */
const startPattern = /^\((?!\?)(?:[^()]|\(\?:[^()]*\))+\)(?:(?:\\?[ .,:/"'-]|\[[^\]^]+\])(?![?*{]))?/;
/** A group in a pattern, with at most two levels of groups inside it. */
const groupPattern = /\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g;

/** Rule for numbers beside certain words. The numbers are digits, or Roman numerals if `isRoman` is true. */
export function contextRule(v: Verbalizer, isRoman: boolean): Rule {
  const ordinal = isRoman ? '([IVXL]{2,7}|[VX]|(?<=\\p{Ll} |(?<!\\p{L})[WZ] )I)' : String.raw`(\d{1,4})\.`;
  const rows = (v.table.numbers.contexts ?? [])
    .filter(({ written = '' }) => written === 'ordinal' || /\[IVX|\([IVX]+\)/.test(written) === isRoman)
    .map(({ before = '', written = String.raw`(\d{1,4})(?![\d,.:/-]?\d)`, after = '', form, say = '{n}' }) => {
      const source = written === 'ordinal' ? ordinal : written;
      // The text behind the number decides too, unless it has alternatives outside of groups.
      const end = after.replace(groupPattern, '').includes('|') ? '' : after;
      const start = startPattern.exec(source.replace(String.raw`(?![\d,.:/-]?\d)`, '') + end)?.[0] ?? '';
      return {
        isPossible: new RegExp(`^${isRoman && written === 'ordinal' ? '[IVXL]+(?!\\p{Ll})' : start}`, 'u'),
        pattern: sticky(`${source}(?=${after})`),
        isAfter: sticky(`(?<=${before})`),
        sayValue: (value: string | number, rest = '') =>
          say.replace('{n}', form === 'digits' ? v.digits(`${value}`) : v.number(value, form)).replace('{rest}', rest),
      };
    });
  // Most rows fail by the number and the character behind it alone.
  const rowsOf = new Map<string, typeof rows>();
  const beginning = sticky('[\\dIVXLCDM]{1,6}[^]?');
  const read: Rule = (place) => {
    const { text, at } = place;
    if (/[\p{L}\d]/u.test(charBefore(place))) return undefined;
    const key = matchAt(beginning, text, at)![0];
    const own = rowsOf.get(key) ?? rows.filter(({ isPossible }) => isPossible.test(key));
    if (rowsOf.size < keysMax) rowsOf.set(key, own);
    for (const { pattern, isAfter, sayValue } of own) {
      const match = matchAt(pattern, text, at);
      const head = match ? textBefore(place, 60) : '';
      const value = match && matchAt(isAfter, head, head.length) ? v.valueOf(match[1]!) : undefined;
      if (value !== undefined) return { say: sayValue(value, match![2]), length: match![0].length };
    }
    return undefined;
  };
  return Object.assign(read, { first: isRoman ? /[IVXLCDM]/ : /\d/ });
}
