// The rules of a language whose table states them (written-rules.ts), and rules that are not patterns, which the table
// only names: addresses, sums of money, measures, abbreviations with a stop, and words.
import { addressRulesFor, sayNamePart } from './addresses.ts';
import { CapitalWords } from './capital-words.ts';
import { formsOf } from './forms.ts';
import { type RuleRow, toRows } from './language-table.ts';
import { Measures, sumRulesFor } from './measures.ts';
import { stoppedRuleFor } from './phrasing.ts';
import { type Rule, rule } from './rule.ts';
import type { Verbalizer } from './verbalizer.ts';
import { type Form, toRule } from './written-rules.ts';

export interface TableRules {
  /** The rules for a first character, by the kind of that character. */
  rulesFor: Readonly<Record<'digit' | 'point' | 'letter' | 'sign', (char: string) => readonly Rule[]>>;
  words: CapitalWords;
}

interface ListedRule {
  first: string | undefined;
  rule: Rule;
}

/** Undefined if the table states no rules. */
export function tableRulesOf(v: Verbalizer): TableRules | undefined {
  const { rules } = v.table;
  if (!rules) return undefined;
  const words = new CapitalWords(v.table);
  const sayWord = (word: string) => words.say(word, { text: word, at: 0, dayFirst: false });
  const signNames = new Map(toRows(v.table.signs.address));
  const name: Form = (written) => sayName(written, v, signNames, sayWord);
  const tag: Form = (written) => name(written.replaceAll('_', ' '));
  // #100DaysOfCode, #2024goals
  const topic: Form = (written) => tag(written.replace(/(?<!\d)\d{3,4}(?!\d)/g, (digits) => ` ${numberIn(digits)} `));
  const measures = new Measures(v);
  const measure: Form = (written) => measures.rule({ text: written.replace(' ', ''), at: 0, dayFirst: false })?.say;
  const formOf = formsOf(v, { name, tag, topic, measure });
  const numberIn = formOf('topic_number');
  const sums = sumRulesFor(v);
  const codes: Readonly<Record<string, readonly Rule[]>> = {
    address: addressRulesFor(v, sayWord),
    sum_first: [sums.sum_first],
    sum_last: [sums.sum_last],
    measure: [measures.rule],
    stopped: [stoppedRuleFor(v.table)],
    word: [rule(String.raw`[\p{L}\p{M}]+(?:'[\p{L}\p{M}]+)*`, ([word], place) => words.say(word, place))],
  };
  const toListed = (row: RuleRow): ListedRule[] => {
    if ('code' in row) return codes[row.code]!.map((known) => ({ first: row.first, rule: known }));
    const written = toRule(row, v.table, formOf);
    return [{ first: row.first, rule: row.measured ? measures.measured(written, row.measured) : written }];
  };
  const listOf = (rows: readonly RuleRow[]) => byFirst(rows.flatMap(toListed));
  const { digit, point, letter, sign } = rules;
  return {
    rulesFor: { digit: listOf(digit), point: listOf(point), letter: listOf(letter), sign: listOf(sign) },
    words,
  };
}

/** The rules that may apply to a first character. Lists for ASCII characters are cached. */
function byFirst(rules: readonly ListedRule[]): (char: string) => readonly Rule[] {
  const lists = new Map<string, readonly Rule[]>();
  return (char) => {
    let list = lists.get(char);
    if (!list) {
      list = rules.filter(({ first }) => first === undefined || first.includes(char)).map((listed) => listed.rule);
      if (char < '\u0080') lists.set(char, list);
    }
    return list;
  };
}

/** Speaks the name in a tag or a handle, whose words begin with capitals. */
function sayName(
  written: string,
  v: Verbalizer,
  signNames: ReadonlyMap<string, string>,
  sayWord: (word: string) => string,
): string {
  const divided = written
    .replace(/([\p{Ll}\d])(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1$2 ')
    .replace(/(\p{L})(?=\d)|(\d)(?=\p{L})/gu, '$1$2 ');
  return divided
    .split(/(_|-|\.)|\s+/)
    .filter((part) => part)
    .map((part) => signNames.get(part) ?? sayNamePart(part, v, sayWord))
    .join(' ');
}
