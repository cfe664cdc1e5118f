// The words of a text with the phonemes that eSpeak NG gives them, for voices that learned its phonemes; and the words
// of a text as they are written, for voices that learned letters.
import type { PhonemeRange } from '../../text.ts';
import { type PhonemeWord, readTokens, type Token } from '../phonemes/tokens.ts';

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

const spokenOf = ({ text, given }: Token): string => given ?? marks[text] ?? text;

/** Words and marks of pauses; other characters are not spoken. */
export const toLetterWords = (text: string, given?: readonly PhonemeRange[]): PhonemeWord[] =>
  readTokens(text, tokenPattern, given).map((token) => ({
    start: token.start,
    end: token.end,
    phonemes: spokenOf(token).normalize('NFD'),
  }));

/** `toIpa` converts words between two pauses, because the words before and after one change it. */
export function toEspeakWords(
  text: string,
  given: readonly PhonemeRange[] | undefined,
  toIpa: (text: string) => string,
): PhonemeWord[] {
  const words: PhonemeWord[] = [];
  let phrase: Token[] = [];
  const speakPhrase = () => {
    if (phrase.length === 0) return;
    const ipa = toIpa(phrase.map(spokenOf).join(' '));
    // A word of another language is between the names of both.
    const spoken = ipa
      .replace(/\([^()]*\)/g, '')
      .normalize('NFD')
      .split(/\s+/)
      .filter((each) => each !== '');
    words.push(...pair(phrase, spoken));
    phrase = [];
  };
  for (const token of readTokens(text, tokenPattern, given)) {
    const phonemes = spokenOf(token);
    if (token.given === undefined && !/^[;:,.!?]$/.test(phonemes)) phrase.push(token);
    else {
      speakPhrase();
      words.push({ start: token.start, end: token.end, phonemes });
    }
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
