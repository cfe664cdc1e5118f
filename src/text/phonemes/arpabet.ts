// Looks up words in the CMU Pronouncing Dictionary, which has many names that the lexicons lack, and converts its
// ARPAbet symbols to phonemes in Misaki's notation.
import { toRows } from '../language-table.ts';

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

/** Returns the phonemes of a word in lower case; undefined if the dictionary lacks the word. */
export type DictionaryLookup = (word: string) => string | undefined;

/** The dictionary is a text with one entry per line, such as `  "word": "W ER1 D",`. It is searched, not parsed. */
export function openArpabet(dictionary: string): DictionaryLookup {
  return (word) => {
    if (!/^[a-z'.-]+$/.test(word)) return undefined;
    for (const key of [`\n  "${word}": "`, `\n  ${word}: "`]) {
      const at = dictionary.indexOf(key);
      if (at < 0) continue;
      const from = at + key.length;
      return fromArpabet(dictionary.slice(from, dictionary.indexOf('"', from)));
    }
    return undefined;
  };
}

/** Converts symbols such as "HH AH0 L OW1". */
function fromArpabet(symbols: string): string {
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
