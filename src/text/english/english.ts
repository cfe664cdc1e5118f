// Verbalizes clean English text: every number, symbol and abbreviation becomes the words that a newsreader would say.
// One pass from left to right; at each place the rules for that kind of character are tried in order, and the first match
// decides how much text is consumed. Each source token becomes one spoken token; several become one where they are read
// together ("$3 billion").

import type { Place, Rule } from '../rule.ts';
import { breakStrength, type SpokenToken } from '../spoken-token.ts';
import type { Token } from '../tokenize.ts';
import { Verbalization } from '../verbalization.ts';
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

const letterPattern = /[\p{L}\p{M}]/u;
/** A word that no rule can match. */
const easyPattern = /^[A-Z]?[a-z]+(?:'[a-z]+)?$/;
const vowelPattern = /[aeiouyAEIOUY]/;

/** Verbalizes `text`; its tokens already have their breaks. */
export function readEnglish(text: string, tokens: readonly Token[], languageCode: string): SpokenToken[] {
  const dayFirst = !/^en(?:-\w{4})?(?:-US)?$/i.test(languageCode);
  const spokenTokens: SpokenToken[] = [];
  for (let t = 0; t < tokens.length; t++) {
    const spoken = new Verbalization();
    let at = tokens[t]!.from;
    while (at < tokens[t]!.to) {
      const place: Place = { text, at, dayFirst };
      at += readAt(place, spoken, tokens[t]!);
      while (at > tokens[t]!.to && t < tokens.length - 1) t++;
      // The full stop of an abbreviation may also end the sentence.
      const { breakAfter: after, to } = tokens[t]!;
      if (spoken.to === at && text[at - 1] === '.' && after >= breakStrength.sentence && endsHere(text, at, to))
        spoken.mark('.');
    }
    // A token without a word keeps its own range.
    const { from, to } = spoken.from < 0 ? tokens[t]! : spoken;
    const numbered = t === 0 && tokens.length > 1 && /^\d{1,3}\.$/.test(text.slice(tokens[0]!.from, tokens[0]!.to));
    const say = numbered ? spoken.say.replace('.', ',') : spoken.say;
    spokenTokens.push({ say, from, to, glued: false, breakAfter: tokens[t]!.breakAfter });
  }
  return spokenTokens;
}

/** Whether nothing but closing punctuation follows in the token. */
const endsHere = (text: string, at: number, to: number): boolean =>
  to - at < 4 && /^["')\]]*$/.test(text.slice(at, to));

/** Appends what begins at the place to `spoken`; returns the length that was read. */
function readAt(place: Place, spoken: Verbalization, token: Token): number {
  const { text, at } = place;
  const char = String.fromCodePoint(text.codePointAt(at)!);
  if (letterPattern.test(char)) {
    const easy = at === token.from ? easyWordEnd(text, token) : 0;
    if (easy > 0) {
      spoken.word(text.slice(at, easy), at, easy);
      return easy - at;
    }
    return readRules(letterStart, place, spoken) ?? 1;
  }
  if (char >= '0' && char <= '9') return readRules(digitStart, place, spoken) ?? 1;
  if (char === '.' && /[0-9]/.test(text[at + 1] ?? '') && !/[\p{L}\d]/u.test(text[at - 1] ?? ' ')) {
    return readRules(pointStart, place, spoken) ?? 1;
  }
  const length = readRules(signStart, place, spoken);
  if (length !== undefined) return length;
  const sign = readSign(place);
  spoken[sign.kind](sign.say, at, at + sign.length);
  return sign.length;
}

function readRules(rules: readonly Rule[], place: Place, spoken: Verbalization): number | undefined {
  for (const rule of rules) {
    const reading = rule(place);
    if (!reading) continue;
    spoken.word(reading.say, place.at, place.at + reading.length);
    return reading.length;
  }
  return undefined;
}

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
