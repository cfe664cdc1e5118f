// Reads clean text by the rules of a language, in one pass from left to right: at each place the rules for that kind of
// character are tried in order, and the first match decides how much text is consumed. Each source token becomes one spoken
// token; several become one where they are read together ("$3 billion").
import type { Place, Rule } from './rule.ts';
import type { SignReading } from './signs.ts';
import { breakStrength, type SpokenToken } from './spoken-token.ts';
import type { Token } from './tokenize.ts';
import { Verbalization } from './verbalization.ts';

type RulesFor = (char: string) => readonly Rule[];

/** Rules by the first character of the text. The order matters: more specific rules come first. */
export interface RuleSet {
  digitStart: RulesFor;
  pointStart: RulesFor;
  letterStart: RulesFor;
  signStart: RulesFor;
  readSign(place: Place): SignReading;
  /** Fast path for most tokens: the end of a plain word, without a comma or the like after it; 0 for anything else. */
  easyWordEnd(text: string, token: Token): number;
}

const letterPattern = /[\p{L}\p{M}]/u;

/** Verbalizes `text`; its tokens already have their breaks. */
export function readByRules(text: string, tokens: readonly Token[], rules: RuleSet, dayFirst: boolean): SpokenToken[] {
  const spokenTokens: SpokenToken[] = [];
  for (let t = 0; t < tokens.length; t++) {
    const spoken = new Verbalization();
    let at = tokens[t]!.from;
    while (at < tokens[t]!.to) {
      const place: Place = { text, at, dayFirst };
      at += readAt(place, spoken, tokens[t]!, rules);
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
function readAt(place: Place, spoken: Verbalization, token: Token, rules: RuleSet): number {
  const { text, at } = place;
  const char = String.fromCodePoint(text.codePointAt(at)!);
  if (letterPattern.test(char)) {
    const easy = at === token.from ? rules.easyWordEnd(text, token) : 0;
    if (easy > 0) {
      spoken.word(text.slice(at, easy), at, easy);
      return easy - at;
    }
    return readRules(rules.letterStart(char), place, spoken) ?? 1;
  }
  if (char >= '0' && char <= '9') return readRules(rules.digitStart(char), place, spoken) ?? 1;
  if (char === '.' && /[0-9]/.test(text[at + 1] ?? '') && !/[\p{L}\d]/u.test(text[at - 1] ?? ' ')) {
    return readRules(rules.pointStart(char), place, spoken) ?? 1;
  }
  const length = readRules(rules.signStart(char), place, spoken);
  if (length !== undefined) return length;
  const sign = rules.readSign(place);
  spoken[sign.kind](sign.say, at, at + sign.length);
  return sign.length;
}

function readRules(rules: readonly Rule[], place: Place, spoken: Verbalization): number | undefined {
  for (const rule of rules) {
    const reading = rule(place);
    if (!reading) continue;
    spoken[reading.kind ?? 'word'](reading.say, place.at, place.at + reading.length);
    return reading.length;
  }
  return undefined;
}
