// Verbalizes clean English text: every number, symbol and abbreviation becomes the words that a newsreader would say.
// Here are the rules of English and their order.

import { type RuleSet, readByRules } from '../read-rules.ts';
import type { Rule } from '../rule.ts';
import type { SpokenToken } from '../spoken-token.ts';
import type { Token } from '../tokenize.ts';
import { abbreviationRules } from './abbreviation-rules.ts';
import { addressRules, handleRule, hashtagRule, versionRule } from './addresses.ts';
import { calendarNameRule, dateRules, shortYearRule, yearRule } from './dates.ts';
import { digitRules, hyphenatedRule, modelRule, phoneRules } from './digits.ts';
import { moneyRules, signedMoneyRule } from './money.ts';
import { readSign } from './punctuation.ts';
import { numberRule, powerRule, quantityRules, vulgarRule } from './quantities.ts';
import { angleRules, measureRules, perRule } from './units.ts';
import { elidedAndRule, isSpecialWord, romanRule, wordRule } from './words.ts';

/** Rules by the first character of the text. The order matters: more specific rules come first. */
const digitStart: readonly Rule[] = [
  modelRule,
  ...addressRules,
  ...dateRules,
  ...digitRules,
  hyphenatedRule,
  ...moneyRules,
  ...angleRules,
  ...quantityRules,
  ...measureRules,
  yearRule,
  numberRule,
];
const pointStart: readonly Rule[] = [...moneyRules, ...quantityRules, ...measureRules, numberRule];
const letterStart: readonly Rule[] = [
  ...addressRules,
  signedMoneyRule,
  versionRule,
  calendarNameRule,
  ...abbreviationRules,
  romanRule,
  elidedAndRule,
  wordRule,
];
const signStart: readonly Rule[] = [
  ...phoneRules,
  signedMoneyRule,
  shortYearRule,
  elidedAndRule,
  vulgarRule,
  powerRule,
  handleRule,
  hashtagRule,
  perRule,
];

/** A word that no rule can match. */
const easyPattern = /^[A-Z]?[a-z]+(?:'[a-z]+)?$/;
const vowelPattern = /[aeiouyAEIOUY]/;

/** Fast path for most tokens: the end of a plain word, without a comma or the like after it; 0 for anything else. */
function easyWordEnd(text: string, { from, to }: Token): number {
  const end = /[,;:!?]/.test(text[to - 1]!) ? to - 1 : to;
  const word = text.slice(from, end);
  return easyPattern.test(word) &&
    vowelPattern.test(word) &&
    word.length > 2 &&
    !isSpecialWord(word) &&
    !/^[A-Z][a-z]{2,3}$/.test(word)
    ? end
    : 0;
}

const rules: RuleSet = { digitStart, pointStart, letterStart, signStart, readSign, easyWordEnd };

/** Verbalizes `text`; its tokens already have their breaks. */
export const readEnglish = (text: string, tokens: readonly Token[], languageCode: string): SpokenToken[] =>
  readByRules(text, tokens, rules, !/^en(?:-\w{4})?(?:-US)?$/i.test(languageCode));
