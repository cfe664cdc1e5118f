// Converts IPA to the letters in which Kokoro and hibari write English: one letter stands for a diphthong (A for eɪ) or
// an affricate (ʧ for tʃ). Sounds that English lacks cannot be converted.

import { splitIpa } from '../../platform/ipa.ts';
import { toRows } from '../../platform/keyed-rows.ts';

/** Letters of both accents. */
const common = toRows(`
  eɪ = A; ei = A; aɪ = I; ai = I; ɔɪ = Y; oɪ = Y; aʊ = W; au = W; tʃ = ʧ; dʒ = ʤ; ʧ = ʧ; ʤ = ʤ; ᵻ = ɪ; ɨ = ɪ; ʉː = u
  ʉ = u; l̩ = ᵊl; n̩ = ᵊn; m̩ = ᵊm; ʍ = w; p = p; b = b; t = t; d = d; k = k; ɡ = ɡ; f = f; v = v; θ = θ; ð = ð; s = s; z = z
  ʃ = ʃ; ʒ = ʒ; h = h; m = m; n = n; ŋ = ŋ; l = l; ɫ = l; ɹ = ɹ; r = ɹ; j = j; w = w; ʔ = ʔ; ɪ = ɪ; ʊ = ʊ; ʌ = ʌ; ə = ə
  ɐ = ə; ɛ = ɛ; e = ɛ
`);
const american = toRows(`
  oʊ = O; əʊ = O; ou = O; oː = O; o = O; iː = i; i = i; uː = u; u = u; ɑː = ɑ; ɑ = ɑ; ɒ = ɑ; aː = ɑ; a = ɑ; ɔː = ɔ; ɔ = ɔ
  æ = æ; ɜːr = ɜɹ; ɜːɹ = ɜɹ; ɜː = ɜɹ; ɜ = ɜ; ɝː = ɜɹ; ɝ = ɜɹ; ɚ = əɹ; ɾ = T; ɛː = ɛ; eː = A
`);
const british = toRows(`
  oʊ = Q; əʊ = Q; ou = Q; oː = ɔː; o = ɒ; iː = iː; i = i; uː = uː; u = u; ɑː = ɑː; ɑ = ɑː; ɒ = ɒ; aː = ɑː; a = a; ɔː = ɔː
  ɔ = ɔː; æ = a; ɜːr = ɜː; ɜːɹ = ɜː; ɜː = ɜː; ɜ = ɜː; ɝː = ɜː; ɝ = ɜː; ɚ = ə; ɾ = t; ɛː = ɛː; eː = A
`);

/** The letters for eSpeak NG's phonemes of other languages; all its other phonemes are letters already. */
const foreign = toRows(`
  aɪ = I; aʊ = W; eɪ = A; oʊ = O; əʊ = Q; ɔɪ = Y; dz = ʣ; dʒ = ʤ; ts = ʦ; tʃ = ʧ
`);

export const toForeignLetters = (ipa: string): string =>
  foreign.reduce((text, [sound, letter]) => text.replaceAll(sound, letter), ipa);

const accents = { US: new Map([...american, ...common]), GB: new Map([...british, ...common]) };

export type Accent = keyof typeof accents;

export const accentOf = (languageCode: string): Accent => (languageCode === 'en-GB' ? 'GB' : 'US');

const firstVowel = /[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵊ]/u;
/** IPA has the stress before the syllable, and these letters have it before the vowel. */
const stressed = /([ˈˌ])([^ˈˌAIOQWYaiuæɑɒɔəɛɜɪʊʌᵊ]*)(?=[AIOQWYaiuæɑɒɔəɛɜɪʊʌᵊ])/gu;

/** Converts IPA; undefined if English lacks one of the sounds. */
export function toKokoroLetters(written: string, accent: Accent): string | undefined {
  let letters = '';
  for (const [sound, letter] of splitIpa(written, accents[accent])) {
    if (letter === undefined && !/[ .ˈˌː]/.test(sound)) return undefined;
    letters += letter ?? (/[.ː]/.test(sound) ? '' : sound);
  }
  // In a word without a stress mark, the first vowel is stressed.
  return letters.includes('ˈ') ? letters.replace(stressed, '$2$1') : letters.replace(firstVowel, 'ˈ$&');
}
