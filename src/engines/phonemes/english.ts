// Converts English text to phonemes in the notation of Misaki, which Kokoro and Hibari were trained on: two lexicons
// by part of speech, inflected forms, function words by their neighbours, the CMU dictionary for further names, and a
// small network for unknown words. The text has no numbers or abbreviations; Sonant has spelled them out.

import { join } from 'node:path';
import anyAscii from 'any-ascii';
import { toRows } from '../../platform/keyed-rows.ts';
import type { PhonemeRange } from '../../text.ts';
import {
  type Accent,
  balance,
  createLexicon,
  type EnglishLexicon,
  stressLast,
  weaken,
  withS,
} from './english-lexicon.ts';
import { type EnglishFile, englishFiles } from './english-tables.ts';
import { createTagger, type Tagger } from './part-of-speech.ts';
import { openTable, type Table } from './sorted-table.ts';
import { openSpellingNet, type SpellingNet } from './spelling-net.ts';
import { type PhonemeWord, readTokens, type Token } from './tokens.ts';

// Converts ARPAbet symbols, in which the CMU Pronouncing Dictionary is written, to phonemes in Misaki's notation.

const consonants: Readonly<Record<string, string>> = Object.fromEntries(
  toRows(`
    B = b; CH = ʧ; D = d; DH = ð; F = f; G = ɡ; HH = h; JH = ʤ; K = k; L = l; M = m; N = n; NG = ŋ; P = p; R = ɹ; S = s
    SH = ʃ; T = t; TH = θ; V = v; W = w; Y = j; Z = z; ZH = ʒ
  `),
);
const vowels: Readonly<Record<string, string>> = Object.fromEntries(
  toRows(`
    AA = ɑ; AE = æ; AH = ʌ; AO = ɔ; AW = W; AY = I; EH = ɛ; ER = ɜɹ; EY = A; IH = ɪ; IY = i; OW = O; OY = Y; UH = ʊ; UW = u
  `),
);
/** Vowels that are reduced in a syllable without stress. */
const reduced: Readonly<Record<string, string>> = { AH: 'ə', ER: 'əɹ' };
const marks = ['', 'ˈ', 'ˌ'];

/** Converts symbols such as "HH AH0 L OW1". */
export function fromArpabet(symbols: string): string {
  const sounds = symbols.split(' ').map((symbol) => {
    const [, name, digit] = /^([A-Z]+)([012])?$/.exec(symbol) ?? [];
    if (digit === undefined) return consonants[name ?? ''] ?? '';
    const vowel = (digit === '0' && reduced[name!]) || vowels[name!];
    return vowel === undefined ? '' : marks[Number(digit)] + vowel;
  });
  return (
    sounds
      .join('')
      // T and D between vowels are tapped in American English, and L forms a syllable of its own.
      .replace(/([AIOWYiuæɑɔəɛɪɹʊʌ])t(?=[iəɪO]|ᵻ)/g, '$1ɾ')
      .replace(/([bdfkpstvzɡʃʒʤʧθɾ])əl(?![AIOWYiuæɑəɛɪʊʌˈˌ])/g, '$1ᵊl')
  );
}

export type EnglishPhonemes = (text: string, given?: readonly PhonemeRange[]) => PhonemeWord[];

const letters = String.raw`\p{L}\p{M}*`;
const tokenPattern = new RegExp(
  [
    String.raw`(?:${letters}\.){2,}`,
    String.raw`(?:${letters}|(?<=\p{L}\p{M}*)[-'’](?=\p{L})|['’](?=(?:cause|em|til|tis|twas)\b))+(?:['’](?=\s|$|[,.;:!?]))?`,
    String.raw`\p{N}`,
    '[^\\s]',
  ].join('|'),
  'giu',
);
/** Punctuation marks, and the marks that stand for them among phonemes. */
const spokenMarks: Readonly<Record<string, string>> = Object.fromEntries(
  [...';:,.!?…—–-()[]“”«»„'].map((mark, n) => [mark, [...';:,.!?…———()()“”“”“'][n]!]),
);
const spokenSigns: Readonly<Record<string, string>> = {
  '&': 'and',
  '@': 'at',
  '%': 'percent',
  '+': 'plus',
  '=': 'equals',
  '/': 'slash',
  '#': 'number',
};
const digits = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const contraction = /^(.+?)(n['’]t|['’](?:s|re|ve|ll|d|m))$/i;
const unknownKeptMax = 2_000;

/** Opens the files of a folder (english-tables.ts). */
export function openEnglish(folder: string, accent: Accent): EnglishPhonemes {
  const pathOf = (is: EnglishFile['is']) => join(folder, englishFiles(accent).find((file) => file.is === is)!.as);
  const lexicon = createLexicon(openTable(pathOf('gold')), openTable(pathOf('silver')), accent);
  const tag = createTagger(openTable(pathOf('tagger')));
  const pronounceUnknown = openUnknown(pathOf, lexicon, accent);

  /** The phonemes of a word without spaces. Parts of a compound are read alone if the lexicon lacks the whole. */
  function pronounce(word: string, tag: string, isBeforeVowel: boolean | undefined, isBeforeTo: boolean): string {
    const whole = lexicon.read({ word, tag, isBeforeVowel, isBeforeTo });
    if (whole !== undefined) return whole;
    const parts = word.split(/[-.]+|(?<=\p{Ll})(?=\p{Lu})/u).filter((part) => part !== '');
    if (parts.length < 2) return pronounceUnknown(word);
    if (parts.every((part) => part.length === 1))
      return stressLast(parts.map((part) => lexicon.nameOf(part) ?? '')).join('');
    const read = parts.map(
      (part) => (part.length === 1 && lexicon.nameOf(part)) || pronounce(part, tag, isBeforeVowel, isBeforeTo),
    );
    if (read.length === 2 && parts[0]!.length === 1) return read[0] + weaken(read[1]!);
    return balance(read).join('');
  }

  return (text, given) => {
    const tokens = readTokens(text, tokenPattern, given);
    const tags = tagsOf(tokens, tag);
    const words: PhonemeWord[] = [];
    let isBeforeVowel: boolean | undefined;
    let isBeforeTo = false;
    for (const [i, { start, end, text: word, given }] of [...tokens.entries()].reverse()) {
      const tag = tags[i]!;
      const run = letterRun(tokens, i);
      let phonemes: string;
      if (given !== undefined) phonemes = given;
      else if (run) phonemes = run.isLast ? pronounceUnknown(plain(word)) : weaken(lexicon.nameOf(word)!);
      else if (/\p{L}/u.test(word)) phonemes = pronounce(plain(word), tag, isBeforeVowel, isBeforeTo);
      else if (/\p{N}/u.test(word)) phonemes = readDigit(word);
      else if (spokenSigns[word]) phonemes = pronounce(spokenSigns[word], 'NN', isBeforeVowel, isBeforeTo);
      else phonemes = markOf(tokens, i, text);
      if (phonemes !== '') words.push({ start, end, phonemes: phonemes.replaceAll('ɾ', 'T').replaceAll('ʔ', 't') });
      isBeforeVowel = beginsWithVowel(phonemes) ?? (/[;:,.!?—…]/.test(phonemes) ? undefined : isBeforeVowel);
      isBeforeTo = word.toLowerCase() === 'to';
    }
    return words.reverse();
  };

  function readDigit(word: string): string {
    const digit = digits[Number(word.normalize('NFKC'))];
    return digit ? pronounce(digit, 'CD', false, false) : '';
  }
}

const plain = (word: string): string => word.normalize('NFKC').replaceAll('’', "'");

/** Tags the tokens as the tagger was trained: contractions and compounds are several words for it. */
function tagsOf(tokens: readonly Token[], tagger: Tagger): string[] {
  const pieces: string[] = [];
  const places = tokens.map(({ text }) => {
    const place = pieces.length;
    const [, stem, ending] = contraction.exec(text) ?? [];
    if (stem) pieces.push(stem, ending!.replace('’', "'"));
    else if (/\p{L}-\p{L}/u.test(text)) pieces.push(...text.split(/(-)/).filter((piece) => piece !== ''));
    else pieces.push(text);
    return place;
  });
  const tags = tagger(pieces);
  return places.map((place) => tags[place]!);
}

/** Whether the token is one of several single capital letters: "F B I". Letters of a longer list are stressed alike. */
function letterRun(tokens: readonly Token[], i: number): { isLast: boolean } | undefined {
  const isLetter = (at: number, form = /^[A-Z]$/) =>
    form.test(tokens[at]?.text ?? '') && tokens[at]!.given === undefined;
  const isNear = (at: number) => tokens[at + 1]!.start - tokens[at]!.end <= 1;
  // The last letter may have an ending: "I B M's".
  const lastLetter = /^[A-Z](?:['’]?s)?$/;
  if (!isLetter(i, lastLetter)) return undefined;
  let [from, to] = [i, i];
  while (isLetter(from - 1) && isNear(from - 1)) from--;
  while (isLetter(to) && isLetter(to + 1, lastLetter) && isNear(to)) to++;
  if (from === to) return undefined;
  return { isLast: i === to || to - from >= 4 };
}

/** The phoneme of a punctuation mark. The stop after an initial is silent: "J. Smith". */
function markOf(tokens: readonly Token[], i: number, text: string): string {
  const { text: mark, start, end } = tokens[i]!;
  if (mark === '"') return start === 0 || /[\s(]/.test(text[start - 1]!) ? '“' : '”';
  const isInitial = mark === '.' && /^\p{Lu}$/u.test(tokens[i - 1]?.text ?? '') && /^\s\p{Lu}/u.test(text.slice(end));
  if (isInitial) return '';
  const isHyphen = mark === '-' && !/\s/.test(text[end] ?? ' ');
  return isHyphen ? '' : (spokenMarks[mark] ?? '');
}

function beginsWithVowel(phonemes: string): boolean | undefined {
  const [first] = /[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻɐbdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ;:,.!?—…]/.exec(phonemes) ?? [];
  if (first === undefined || /[;:,.!?—…]/.test(first)) return undefined;
  return /[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻɐ]/.test(first);
}

/** Pronounces words that the lexicon lacks. Letters of other scripts are transliterated. */
function openUnknown(pathOf: (is: EnglishFile['is']) => string, lexicon: EnglishLexicon, accent: Accent) {
  let dictionary: Table | undefined;
  let net: SpellingNet | undefined;
  const known = new Map<string, string>();

  function look(word: string): string | undefined {
    dictionary ??= openTable(pathOf('dictionary'));
    const found = dictionary(word);
    if (found !== undefined) return fromArpabet(found);
    const stem = /^(.{2,})(?:'s|s)$/.exec(word)?.[1];
    const ofStem = stem && dictionary(stem);
    return ofStem && withS(fromArpabet(ofStem), accent);
  }

  function spell(word: string): string {
    net ??= openSpellingNet(pathOf('net'));
    return net(word);
  }

  function pronounce(word: string): string {
    const [, stem, ending = ''] = /^(\p{L})('s|s)$/u.exec(word) ?? ['', word];
    const name = stem!.length === 1 ? lexicon.nameOf(stem!) : undefined;
    if (name !== undefined) return ending ? withS(name, accent) : name;
    const latin = anyAscii(word).replace(/[^A-Za-z'-]/g, '');
    if (latin === '') return '';
    if (latin !== word) {
      const found = lexicon.read({ word: latin, tag: 'NNP', isBeforeVowel: false, isBeforeTo: false });
      if (found !== undefined) return found;
    }
    const isInitials = /^[A-Z]{2,5}$/.test(latin);
    const american =
      look(latin.toLowerCase()) ??
      (isInitials ? stressLast([...latin].map((letter) => lexicon.nameOf(letter)!)).join('') : spell(latin));
    return accent === 'US' ? american : toBritish(american);
  }

  return (word: string): string => {
    const before = known.get(word);
    if (before !== undefined) return before;
    const phonemes = pronounce(word);
    if (known.size >= unknownKeptMax) known.clear();
    known.set(word, phonemes);
    return phonemes;
  };
}

/** American sounds and what replaces them in British pronunciation, in order. R is spoken only before vowels. */
const british = [
  ['ɾ', 't'],
  ['([ɑɔɛ])ɹ(?!V)', '$1ː'],
  ['ɜɹ', 'ɜː'],
  ['əɹ(?!V)', 'ə'],
  ['ɪɹ(?!V)', 'ɪə'],
  ['ɑ(?!ː)', 'ɒ'],
  ['O', 'Q'],
  ['æ', 'a'],
  ['(?<=[ˈˌ])i(?!ː)', 'iː'],
  ['[ˈˌ]u(?!ː)', '$&ː'],
  ['ᵻ', 'ɪ'],
].map(([from, to]) => [new RegExp(from!.replace('V', '[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻˈˌ]'), 'g'), to!] as const);
const toBritish = (phonemes: string): string =>
  british.reduce((changed, [from, to]) => changed.replace(from, to), phonemes);
