// Rules of a table: a pattern of the written text, conditions on neighbouring words, and the spoken text.
import type { WrittenRule } from './language-table.ts';
import { matchAt, type Place, type Rule, sticky, wordAfter, wordBefore } from './rule.ts';

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
