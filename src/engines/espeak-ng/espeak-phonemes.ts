// Converts IPA to the names of eSpeak NG's phonemes, as reported by `espeak-ng --ipa` (version 1.51). Consonants are
// the same in all languages; vowels depend on the language.

import { splitIpa } from '../../platform/ipa.ts';
import { toRows } from '../../platform/keyed-rows.ts';
import { languageOf } from '../../platform/language-code.ts';

const table = (rows: string): Map<string, string> =>
  new Map(toRows(rows).map(([ipa, name]) => [ipa.normalize('NFD'), name]));

const common = table(`
  tʃ = tS; dʒ = dZ; ts = ts; dz = dz; p = p; b = b; t = t; d = d; k = k; ɡ = g; f = f; v = v; θ = T; ð = D; s = s
  z = z; ʃ = S; ʒ = Z; x = x; χ = X; h = h; m = m; n = n; ŋ = N; ɲ = n^; l = l; ʎ = l^; ɬ = l#; ɫ = L; r = R; ʀ = r"
  ɹ = r; ɾ = *; j = j; w = w; ʔ = ?; ʐ = z.; ç = C; ɣ = Q; β = B; ɟ = J; c = c; ʝ = J^; ʋ = v#
  ɳ = n.; ɭ = l.; a = a; e = e; i = i; o = o; u = u; ə = @; ɛ = E; ɔ = O; ː = :; ˈ = '; ˌ = ,
`)
  .set('ʂ', 's;')
  .set('ɕ', 'S;')
  .set('ʑ', 'z;')
  .set('.', '')
  .set(' ', ']] [[');

const withVowels = (rows: string) => new Map([...common, ...table(rows)]);

/** The phonemes of a language: the common ones, and its vowels. */
const phonemesOf: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  en: withVowels(`
    ɪ = I; ʊ = U; ʌ = V; ɐ = V; æ = a; ɑː = A:; ɑ = A:; ɒ = 0; ɜː = 3:; ɜ = 3:; ɝ = 3:; ɝː = 3:; ɚ = 3; ɔː = O:; eɪ = eI
    aɪ = aI; ɔɪ = OI; aʊ = aU; oʊ = oU; ei = eI; ai = aI; ɔi = OI; au = aU; ou = oU; əʊ = oU; ɪə = i@; eə = e@; ʊə = U@
    iː = i:; uː = u:; r = r
  `),
  de: withVowels(`
    ɪ = I; ʊ = U; ʏ = y; y = y; ø = Y:; øː = Y:; œ = W; ɐ = 3; ɑ = A; ʁ = r; aɪ = aI; aʊ = aU; ɔʏ = OY; ɔɪ = OI; ɔ̃ = O~
    ɑ̃ = A~; œ̃ = W~
  `),
  fr: withVowels('y = y; ø = Y; œ = W; ɪ = I; ɥ = y; ʁ = r; ɛ̃ = E~; ɔ̃ = O~; œ̃ = W~; ɑ̃ = A~'),
  es: withVowels('ɪ = i; ʊ = U'),
  it: withVowels('ɪ = I; ʊ = U'),
  pt: withVowels('ɪ = I; ʊ = U; ɐ = &; ẽ = e~; ĩ = i~; õ = o~; ũ = u~; ʁ = x'),
  nl: withVowels('ɪ = I; ɑ = A; ʏ = 8; ɵ = 8; y = y; ø = Y:; øː = Y:'),
  pl: withVowels('ɨ = y; ɪ = i; ɛ̃ = E~; ɔ̃ = O~'),
  sv: withVowels('ɪ = I; ʊ = U; y = y; ʏ = y; ø = Y:; øː = Y:; œ = W; ɵ = 8; æ = &; ɑ = A:; ɑː = A:; ʉ = u'),
};

/** Converts IPA; undefined if eSpeak NG has no name for one of the sounds in this language. */
export function toEspeakPhonemes(written: string, languageCode: string): string | undefined {
  const names = phonemesOf[languageOf(languageCode)];
  const phonemes = names && splitIpa(written, names).map(([, name]) => name);
  return phonemes && !phonemes.includes(undefined) ? `[[${phonemes.join('')}]]` : undefined;
}
