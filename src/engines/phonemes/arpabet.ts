// Converts ARPAbet symbols, in which the CMU Pronouncing Dictionary is written, to phonemes in Misaki's notation.
import { toRows } from '../../platform/keyed-rows.ts';

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
