// The words of a text with the phonemes that eSpeak NG gives them, for voices that learned its phonemes; and the words
// of a text as they are written, for voices that learned letters.
import type { GivenPhonemes, PhonemeWord } from '../phonemes/english.ts';

type Token = PhonemeWord & { isGiven?: boolean };

const tokenPattern = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*['’]?|[;:,.!?…—،、。？！]|(?<=\s)–(?=\s)/gu;
const marks: Readonly<Record<string, string>> = {
  '…': '.',
  '—': ',',
  '–': ',',
  '،': ',',
  '、': ',',
  '。': '.',
  '？': '?',
  '！': '!',
};

/** Words and marks of pauses; other characters are not spoken. */
function readTokens(text: string, given: readonly GivenPhonemes[]): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const read = (to: number) => {
    for (const { 0: found, index } of text.slice(at, to).matchAll(tokenPattern))
      tokens.push({ start: at + index, end: at + index + found.length, phonemes: marks[found] ?? found });
  };
  for (const { from, to, phonemes } of given) {
    read(from);
    tokens.push({ start: from, end: to, phonemes, isGiven: true });
    at = to;
  }
  read(text.length);
  return tokens;
}

const isMark = ({ phonemes, isGiven }: Token): boolean => !isGiven && /^[;:,.!?]$/.test(phonemes);

export const toLetterWords = (text: string, given: readonly GivenPhonemes[] = []): PhonemeWord[] =>
  readTokens(text, given).map(({ start, end, phonemes }) => ({ start, end, phonemes: phonemes.normalize('NFD') }));

/** `toIpa` converts words between two pauses, because the words before and after one change it. */
export function toEspeakWords(
  text: string,
  given: readonly GivenPhonemes[] = [],
  toIpa: (text: string) => string,
): PhonemeWord[] {
  const words: PhonemeWord[] = [];
  let phrase: Token[] = [];
  const speakPhrase = () => {
    if (phrase.length === 0) return;
    const ipa = toIpa(phrase.map(({ phonemes }) => phonemes).join(' '));
    // A word of another language is between the names of both.
    const spoken = ipa
      .replace(/\([^()]*\)/g, '')
      .normalize('NFD')
      .split(/\s+/)
      .filter((each) => each !== '');
    words.push(...pair(phrase, spoken));
    phrase = [];
  };
  for (const token of readTokens(text, given)) {
    const isSpoken = token.isGiven || isMark(token);
    if (isSpoken) speakPhrase();
    if (isSpoken) words.push(token);
    else phrase.push(token);
  }
  speakPhrase();
  return words;
}

/** Pairs written words with spoken ones. If their numbers differ, neighbours are taken together, by their lengths. */
function pair(written: readonly Token[], spoken: readonly string[]): PhonemeWord[] {
  const count = Math.min(written.length, spoken.length);
  const writtenGroups = group(written, count, ({ start, end }) => end - start);
  const spokenGroups = group(spoken, count, (each) => each.length);
  return writtenGroups.map((each, n) => ({
    start: each[0]!.start,
    end: each.at(-1)!.end,
    phonemes: spokenGroups[n]!.join(' '),
  }));
}

/** Splits a list into groups of about the same size, none of which is empty. */
function group<T>(list: readonly T[], count: number, sizeOf: (item: T) => number): T[][] {
  const groups: T[][] = [];
  const total = list.reduce((sum, item) => sum + sizeOf(item), 0);
  let at = 0;
  let done = 0;
  for (let n = 1; n <= count; n++) {
    const from = at;
    do done += sizeOf(list[at++]!);
    while (list.length - at > count - n && (n === count || done + sizeOf(list[at]!) / 2 <= (total * n) / count));
    groups.push(list.slice(from, at));
  }
  return groups;
}
